#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What decides how a guest's run is judged, without a guest: no failure may go unseen."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
import cpio  # noqa: E402
import debian  # noqa: E402
import machine  # noqa: E402
import modules  # noqa: E402
import report  # noqa: E402
import root  # noqa: E402
from arch import ARCHS  # noqa: E402
from jobs import Job, named  # noqa: E402
from variants import VARIANTS  # noqa: E402

JOBS = [Job("oracle", "first", [], "/", 10), Job("check", "second", [], "/", 10)]


def parse(text):
    return report.parse(text.splitlines(), JOBS)


def counts(result):
    return result.passed, len(result.failed), len(result.skipped)


class Parsing(unittest.TestCase):
    def judged(self, output, status="0"):
        lines = ["@begin 0"] + ["| " + line for line in output] + [f"@end 0 {status} 1.5"]
        return parse("\n".join(lines))[0]

    def test_one_that_passes(self):
        results = parse("@guest 6.1\n@begin 0\n| fine\n@end 0 0 1\n"
                        "@begin 1\n@alive\n@end 1 0 2\n@done\n")
        self.assertEqual([counts(result) for result in results], [(1, 0, 0), (1, 0, 0)])

    def test_a_guest_that_panics_fails_what_ran_and_what_had_not(self):
        results = parse("@guest 6.1\n@begin 0\n| half a li")
        self.assertEqual([counts(result) for result in results], [(0, 1, 0)] * 3)
        self.assertIn("ended during it", results[0].failed[0])
        self.assertEqual(results[0].output, ["half a li"])
        self.assertEqual((results[2].suite, results[2].failed), ("guest", ["it ended too early"]))

    def test_a_guest_that_never_spoke(self):
        self.assertEqual([counts(result) for result in parse("")], [(0, 1, 0)] * 3)

    def test_a_machine_that_fails_after_the_jobs(self):
        sent = "@begin 0\n@end 0 0 1\n@begin 1\n@end 1 0 2\n"
        for text, problem in ((sent, None), (sent + "@done\n", "it hangs")):
            results = report.parse(text.splitlines(), JOBS, problem)
            self.assertEqual([counts(result) for result in results],
                             [(1, 0, 0), (1, 0, 0), (0, 1, 0)])

    def test_a_refused_setting_has_failed(self):
        results = parse("@guest 6.1\n@refused vm.x=1: No such file\n@begin 0\n@end 0 0 1\n"
                        "@begin 1\n@end 1 0 1\n@done\n")
        self.assertEqual([counts(result) for result in results], [(1, 0, 0), (1, 0, 0), (0, 1, 0)])
        self.assertEqual(results[2].failed, ["refused vm.x=1: No such file"])

    def test_an_end_cut_off_is_no_end(self):
        results = parse("@begin 0\n@end 0 0")
        self.assertEqual(counts(results[0]), (0, 1, 0))

    def test_output_that_looks_like_an_end(self):
        results = parse("@begin 0\n| @end 0 0 1\n@end 0 3 1")
        self.assertEqual(results[0].failed, ["status 3"])

    def test_subtests(self):
        result = self.judged(["1..3", "ok 1 - one", "not ok 2 - two", "ok 3 - three"], "1")
        self.assertEqual(counts(result), (2, 1, 0))
        self.assertEqual(result.failed, ["two"])

    def test_a_program_that_dies_after_its_subtests(self):
        result = self.judged(["ok 1 - one"], "signal11")
        self.assertEqual(result.failed, ["status signal11"])

    def test_a_limit_of_time(self):
        self.assertEqual(self.judged([], "time").failed, ["over its limit of 10 s"])

    def test_skipped_whole(self):
        result = self.judged(["SKIP: it needs Linux 6.17 or later"], "77")
        self.assertEqual(counts(result), (0, 0, 1))
        self.assertEqual(result.skipped, ["it needs Linux 6.17 or later"])

    def test_skipped_in_part(self):
        result = self.judged(["SKIP in part: no mseal", "not ok 1 # SKIP seals", "ok 2 - maps"])
        self.assertEqual(counts(result), (1, 0, 1))
        self.assertEqual(result.skipped, ["seals: no mseal"])

    def test_a_script_skipped_in_part(self):
        for status, expected in (("0", (1, 0, 1)), ("1", (0, 1, 1))):
            result = self.judged(["SKIP in part: no compiler here"], status)
            self.assertEqual(counts(result), expected)
            self.assertEqual(result.skipped, ["a part of first: no compiler here"])

    def test_differences_are_counted(self):
        result = self.judged(["vmscope: seed 1, mix all: 3 differences"], "1")
        self.assertEqual(result.differences, 3)
        self.assertEqual(counts(result), (0, 1, 0))

    def test_a_table(self):
        results = parse("@begin 0\n@end 0 0 1\n@begin 1\n| 2 differences\n@end 1 1 1\n@done")
        lines = report.table([("6.1.0-1", "root", results), ("9.9", "", "none such")],
                             ["oracle", "check"])
        self.assertEqual(lines[2:], [
            "| 6.1.0-1 | root | 1 passed | 0 passed, 1 failed, 2 differences |",
            "| 9.9 |  | skipped: none such | |"])


class Choosing(unittest.TestCase):
    def test_jobs_by_name(self):
        self.assertEqual(named(JOBS, [], []), JOBS)
        self.assertEqual(named(JOBS, ["f*"], []), JOBS[:1])
        self.assertEqual(named(JOBS, [], ["f*"]), JOBS[1:])
        self.assertEqual(named(JOBS, ["third"], []), [])

    def test_the_newest_of_a_version(self):
        archive = debian.Archive("/nowhere", "amd64", "cloud-amd64")
        archive.offered = lambda: [
            ("linux-image-6.1.0-9-cloud-amd64", "6.1.27-1", ""),
            ("linux-image-6.1.0-50-cloud-amd64", "6.1.176-1", ""),
            ("linux-image-6.1.0-0.deb11.50-cloud-amd64", "6.1.176-1~deb11u1", ""),
            ("linux-image-6.12.94+deb13-cloud-amd64", "6.12.94-1", "")]
        self.assertEqual([name for name, _, _ in archive.candidates("6.1")], [
            "linux-image-6.1.0-50-cloud-amd64", "linux-image-6.1.0-0.deb11.50-cloud-amd64",
            "linux-image-6.1.0-9-cloud-amd64"])
        self.assertEqual(len(archive.candidates("6.1.27")), 1)
        with self.assertRaisesRegex(debian.Unavailable, "has no 5.10-cloud-amd64, but 6.1 6.12"):
            archive.fetch("5.10")


class Roots(unittest.TestCase):
    def test_an_archive_is_whole(self):
        with tempfile.TemporaryDirectory() as place:
            file = Path(place, "root")
            with cpio.Archive(file) as archive:
                archive.add_text("/a/b/odd", "12345")
                archive.add_link("/a/link", "b/odd")
                archive.add_directory("/a/b")
            data, found = file.read_bytes(), {}
        while data:
            self.assertEqual(data[:6], b"070701")
            fields = [int(data[6 + 8 * i:14 + 8 * i], 16) for i in range(13)]
            start = (110 + fields[11] + 3) & ~3
            name = data[110:110 + fields[11] - 1].decode()
            found[name] = data[start:start + fields[6]]
            data = data[(start + fields[6] + 3) & ~3:]
        self.assertEqual(found, {"a": b"", "a/b": b"", "a/b/odd": b"12345", "a/link": b"b/odd",
                                 "TRAILER!!!": b""})

    def test_what_is_added_is_there_or_missed(self):
        with tempfile.TemporaryDirectory() as place:
            below = Path(place, "below")
            (below / "share/deep").mkdir(parents=True)
            (below / "share/deep/file").write_text("1", encoding="ascii")
            (below / "share/script").write_text("2", encoding="ascii")
            with cpio.Archive(Path(place, "root")) as archive:
                filled = root.Root(archive, "none", str(below))
                filled.add_named("/share/deep")
                self.assertIn("/share/deep/file", archive.names)
                self.assertNotIn("/share/script", archive.names)
                filled.add_named("/share/script")
                self.assertIn("/share/script", archive.names)
                for missing in "/share/other", "no-such-program":
                    with self.assertRaisesRegex(root.Incomplete, missing):
                        filled.add_named(missing)

    def test_a_clock_of_instructions_is_one_processors(self):
        kernel = debian.Kernel("6.1", "6.1.0-1", "6.1", Path("image"), Path("modules"))
        words = machine.command(ARCHS["amd64"], kernel, "initrd", VARIANTS["counted"], "console", "port")
        self.assertEqual(words[words.index("-smp") + 1], "1")
        self.assertIn("-icount", words)
        words = machine.command(ARCHS["amd64"], kernel, "initrd", VARIANTS["root"], "console", "port")
        self.assertEqual(words[words.index("-smp") + 1], "2")
        self.assertNotIn("-icount", words)

    def test_modules_come_after_those_they_need(self):
        with tempfile.TemporaryDirectory() as place:
            for name, needs in (("over-lay", "base_fs"), ("base_fs", ""), ("other", "")):
                Path(place, name + ".ko").write_bytes(b"\0depends=" + needs.encode() + b"\0")
            loaded = modules.with_dependencies(Path(place), ["over-lay", "built_in"])
        self.assertEqual([name for name, _ in loaded], ["base_fs", "over_lay"])


if __name__ == "__main__":
    unittest.main()
