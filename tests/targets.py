"""Prints what ninja has to build for some suites: targets.py BUILD_DIRECTORY SUITE...

That is libmapletree, the programs of the suites' tests, and what these depend on; libvmspace and vmscope are
for 64-bit machines only.
"""

import json
import os
import sys


def main():
    build = os.path.realpath(sys.argv[1])
    suites = set(sys.argv[2:])
    targets = set()
    files = {}

    def load(name):
        with open(f"{build}/meson-info/intro-{name}.json", encoding="utf-8") as file:
            return json.load(file)

    for target in load("targets"):
        files[target["id"]] = target["filename"]
        if os.path.dirname(target["defined_in"]).endswith("src/mapletree"):
            targets.update(target["filename"])
    for test in load("tests"):
        if suites & {suite.split(":")[-1] for suite in test["suite"]}:
            targets.update(test["cmd"])
            for target in test["depends"]:
                targets.update(files[target])
    for path in sorted(map(os.path.realpath, targets)):
        if path.startswith(build + "/"):
            print(os.path.relpath(path, build))


main()
