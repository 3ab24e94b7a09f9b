# SPDX-License-Identifier: MIT
"""plot.py - SVG plots of results, drawn by gnuplot: time against n, and rates against threads."""

import os
import re
import shutil
import subprocess

from . import table

# One colour and mark per family of engines; modes of a tree differ by the kind of line.
FAMILIES = ["mapletree", "kernel", "kernel73", "trio", "absl::btree_map", "LLVM IntervalMap",
            "std::map", "Rust BTreeMap", "imbl::OrdMap", "rangemap", "crossbeam-skiplist",
            "scc::TreeIndex", "boost ICL", "JudyL", "sorted array", "static B-tree",
            "pointer chase", "libvmspace"]
COLOURS = ["#d00000", "#202020", "#6a6a6a", "#1f77b4", "#2ca02c", "#9467bd", "#8c564b", "#e07b00",
           "#f0b060", "#bcbd22", "#17becf", "#e377c2", "#7f7f7f", "#98ab6a", "#5a9bd4", "#b8860b",
           "#d4c27f", "#d00000"]
DASHES = {"gaps": 2, "rcu": 3, "mm": 4}


def style(engine):
    words = engine.rsplit(" ", 1)
    mode = words[1] if len(words) == 2 and words[1] in DASHES else ""
    family = words[0] if mode else engine
    number = FAMILIES.index(family) if family in FAMILIES else len(FAMILIES) - 1
    width = 2.5 if family == "mapletree" else 1.5
    return f"lc rgb '{COLOURS[number]}' pt {number + 1} ps 0.6 lw {width} dt {DASHES.get(mode, 1)}"


def file_name(work):
    return re.sub(r"[^a-z0-9]+", "-", work.lower()).strip("-") + ".svg"


def blocks(results, work, engines):
    """gnuplot's inline data: n, median, lowest and highest sample."""
    lines = []
    for number, engine in enumerate(engines):
        lines.append(f"$data{number} << EOD")
        for n in results.sizes(work):
            row = results.get(work, n, engine)
            if row:
                lines.append(f"{n} {row['median']} {min(row['samples'])} {max(row['samples'])}")
        lines.append("EOD")
    return lines


# The plots that documentation shows, smaller; of each tree its plainest and its fullest mode.
DOCUMENTED = ["lookup random", "lookup chained", "iterate", "insert random", "erase random",
              "duplicate", "readers by threads", "readers beside writer by threads",
              "map and unmap by threads"]
LEFT_OUT = (" gaps", " rcu")
SIZE, SIZE_DOCUMENTED = (900, 560), (720, 420)


def script(results, work, path, documented=False):
    engines = results.engines(work)
    if documented:
        engines = [engine for engine in engines if not engine.endswith(LEFT_OUT)]
    width, height = SIZE_DOCUMENTED if documented else SIZE
    by_threads = "by threads" in work
    unit = table.unit_of(results, work)
    lines = [
        f"set terminal svg size {width},{height} font 'sans-serif,12' background 'white'",
        f"set output '{path}'",
        f"set title '{work}' noenhanced",
        f"set xlabel '{'threads' if by_threads else 'ranges'}'",
        f"set ylabel '{unit}'",
        "set key outside right noenhanced",
        "set grid",
    ]
    if by_threads:
        lines += ["set xtics 1", "set yrange [0:*]"]
    else:
        sizes = results.sizes(work)
        lines += ["set logscale xy", "set format x '10^{%L}'",
                  f"set xrange [{sizes[0] * 0.8}:{sizes[-1] * 1.25}]"]
    lines += blocks(results, work, engines)
    curves = []
    for number, engine in enumerate(engines):
        curves.append(f"$data{number} using 1:2 with linespoints {style(engine)} "
                      f"title '{engine}'")
        curves.append(f"$data{number} using 1:2:3:4 with yerrorbars {style(engine)} "
                      "notitle")
    lines.append("plot " + ", \\\n  ".join(curves))
    return "\n".join(lines) + "\n"


def draw(results, directory, documented=False):
    """Writes a plot for each work (@documented: of those alone) with at least two numbers of
    ranges. Returns the paths, or None without gnuplot."""
    if not shutil.which("gnuplot"):
        return None
    os.makedirs(directory, exist_ok=True)
    paths = []
    for work in results.works():
        if len(results.sizes(work)) < 2 or (documented and work not in DOCUMENTED):
            continue
        path = os.path.join(directory, file_name(work))
        subprocess.run(["gnuplot"], input=script(results, work, path, documented), text=True, check=True)
        paths.append(path)
    return paths
