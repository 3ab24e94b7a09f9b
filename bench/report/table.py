# SPDX-License-Identifier: MIT
"""table.py - results as text: one table per work, engines down, numbers of ranges across."""


def number(value):
    """Three significant digits, without an exponent."""
    if value is None:
        return "-"
    magnitude = abs(value)
    if magnitude >= 100:
        return f"{value:.0f}"
    if magnitude >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if magnitude >= 0.1 else f"{value:.2g}"


def count(n):
    """10000 as 10k."""
    for unit, letter in ((1000000, "M"), (1000, "k")):
        if n >= unit and n % (unit // 10) == 0:
            return f"{n / unit:g}{letter}"
    return str(n)


def layout(rows, right=None):
    """Lines of a table; the columns numbered in @right (all but the first) to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    if right is None:
        right = range(1, len(widths))
    return ["  ".join(cell.rjust(width) if i in right else cell.ljust(width)
                      for i, (cell, width) in enumerate(zip(row, widths))).rstrip()
            for row in rows]


def unit_of(results, work):
    units = {"us": "µs", "per us": "per µs", "areas per us": "areas × forks per µs", "bytes": "bytes per range"}
    unit = next(row["unit"] for row in results.rows if row["work"] == work)
    return units.get(unit, unit)


def markdown(rows, right=None):
    """The same as a table of Markdown."""
    if right is None:
        right = range(1, len(rows[0]))
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    rule = "|" + "|".join("---:" if i in right else "---" for i in range(len(rows[0]))) + "|"
    return [lines[0], rule, *lines[1:]]


def work_rows(results, work):
    sizes = results.sizes(work)
    rows = [[f"{work}, {unit_of(results, work)}"] + [count(n) for n in sizes]]
    for engine in results.engines(work):
        cells = [engine]
        for n in sizes:
            row = results.get(work, n, engine)
            cells.append(f"{number(row['median'])} ±{row['spread'] * 100:2.0f}%" if row else "-")
        rows.append(cells)
    return rows


def machine_lines(machine):
    return [f"{machine['processor']}, {machine['cpus']} processors, {machine['system']}",
            f"{machine['date']}, load {machine['load']}, compiler {machine['compiler']}, "
            f"allocator of all peers: {machine['allocator']}, "
            f"instructions: {machine.get('isa', 'auto')}"]


def render(results):
    lines = [f"mapletree benchmarks, {results.mode}: median ± median distance from it"]
    lines += machine_lines(results.machine)
    for work in results.works():
        lines.append("")
        lines += layout(work_rows(results, work))
    return "\n".join(lines)


def render_markdown(results):
    """All works as tables of Markdown, behind a line that says where and when."""
    place, moment = machine_lines(results.machine)
    lines = [f"Measured on {place}; {moment}. Each figure is a median ± the median distance from "
             "it, of at least five samples of one run."]
    for work in results.works():
        lines += ["", *markdown(work_rows(results, work))]
    return "\n".join(lines)
