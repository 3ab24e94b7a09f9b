# SPDX-License-Identifier: MIT
"""results.py - a run's rows with their medians and spreads, as a file of JSON."""

import json
import statistics
import sys

FORMAT = 1


def summarize(row):
    """Adds to a row of samples its median and its spread: the median distance from the median,
    relative to it."""
    samples = row["samples"]
    median = statistics.median(samples)
    distance = statistics.median(abs(sample - median) for sample in samples)
    row["median"] = median
    row["spread"] = distance / median if median else 0.0
    return row


class Results:
    """Rows of one run, found by (work, n, engine)."""

    def __init__(self, machine, mode, rows):
        self.machine = machine
        self.mode = mode
        self.rows = [summarize(row) for row in rows]
        self.index = {(row["work"], row["n"], row["engine"]): row for row in self.rows}

    def get(self, work, n, engine):
        return self.index.get((work, n, engine))

    def median(self, work, n, engine):
        row = self.get(work, n, engine)
        return row["median"] if row else None

    def works(self):
        """Names of works in the order of measuring."""
        return list(dict.fromkeys(row["work"] for row in self.rows))

    def sizes(self, work):
        return sorted({row["n"] for row in self.rows if row["work"] == work})

    def engines(self, work):
        return list(dict.fromkeys(row["engine"] for row in self.rows if row["work"] == work))

    def save(self, path):
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"format": FORMAT, "machine": self.machine, "mode": self.mode,
                       "rows": self.rows}, file, indent=1)
            file.write("\n")


def load(path):
    """Results from a file, or ends the program with a message that says what is wrong."""
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
        if content["format"] != FORMAT:
            sys.exit(f"{path}: results of format {content['format']}, expected {FORMAT}")
        return Results(content["machine"], content["mode"], content["rows"])
    except OSError as error:
        sys.exit(f"{path}: {error.strerror}")
    except (ValueError, KeyError, TypeError) as error:
        sys.exit(f"{path}: not a file of benchmark results ({error!r})")
