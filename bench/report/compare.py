# SPDX-License-Identifier: MIT
"""compare.py - two runs side by side: what became faster, what slower."""

from . import table


def ratio_of(old, new):
    """Above 1: worse. Rates are turned round."""
    if not old["median"] or not new["median"]:
        return None
    ratio = new["median"] / old["median"]
    return 1 / ratio if new["better"] == "high" else ratio


def verdict(old, new, ratio, threshold):
    """A change counts if it exceeds the threshold and the samples of the two do not overlap."""
    overlap = min(new["samples"]) <= max(old["samples"]) and \
        min(old["samples"]) <= max(new["samples"])
    if abs(ratio - 1) <= threshold or (overlap and len(new["samples"]) > 1):
        return ""
    return "WORSE" if ratio > 1 else "better"


def render(old, new, engine_filter, threshold):
    """(text, number of rows that became worse)."""
    rows = [["work", "n", "engine", "before", "after", "ratio", ""]]
    worse = 0
    for row in new.rows:
        before = old.get(row["work"], row["n"], row["engine"])
        if not before or (engine_filter and engine_filter not in row["engine"]):
            continue
        ratio = ratio_of(before, row)
        if ratio is None:
            continue
        mark = verdict(before, row, ratio, threshold)
        worse += mark == "WORSE"
        rows.append([row["work"], table.count(row["n"]), row["engine"],
                     table.number(before["median"]), table.number(row["median"]),
                     f"{ratio:.2f}", mark])
    lines = ["ratio: time after over before (rates: before over after); above 1 is worse"]
    if len(rows) == 1:
        lines.append("the two runs have no row in common")
    else:
        lines += table.layout(rows, right={1, 3, 4, 5})
    lines.append(f"{worse} of {len(rows) - 1} rows became worse by more than "
                 f"{threshold * 100:g}% with samples that do not overlap")
    return "\n".join(lines), worse
