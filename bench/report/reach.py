# SPDX-License-Identifier: MIT
"""reach.py - the ratios this project wants to reach, each marked met or not.

A goal bounds a row of ours by a factor of a peer's row of the same run (or of the best of several
peers), or by an absolute number. "must" and "aim" are two bounds of the same kind.
"""

from . import table

PLAIN, GAPS, RCU, MM = "mapletree", "mapletree gaps", "mapletree rcu", "mapletree mm"
OWN, MM_OWN = "mapletree own lock", "mapletree mm own lock"
ABSL, LLVM, STD, RUST = "absl::btree_map", "LLVM IntervalMap", "std::map", "Rust BTreeMap"
KERNELS = ["kernel", "kernel73"]
TRIO, SORTED, LIMIT = "trio", "sorted array", "static B-tree"
JOINED = "red-black joined"
OTHERS = [ABSL, LLVM, RUST]
SHARERS = ["imbl::OrdMap", "rpds", "concread"]
# Not the sharers: what their copies share is copied when one is changed.
COPIERS = [ABSL, LLVM, STD, RUST, TRIO, *KERNELS, "JudyL", "boost ICL"]


def kernels_of(engine):
    """That mode of both versions: a goal is against the quicker one."""
    return [engine.replace("mapletree", kernel) for kernel in KERNELS]


class Goal:
    """Ours over the best of @peers for (@work, @n) is to be at most @factor. Without peers
    @factor is absolute. Without @n it is for the only one that the work has. @reference: the
    peers' work, if it is another."""

    def __init__(self, level, work, n, ours, peers, factor, reference=None, at_least=False,
                 reference_n=None):
        self.level, self.work, self.n, self.ours = level, work, n, ours
        self.peers, self.factor, self.at_least = peers, factor, at_least
        self.reference = reference or work
        self.reference_n = reference_n or n

    def evaluate(self, results):
        """(figure, name of the peer, met), or None if a row is missing."""
        if not self.n:
            self.n = self.reference_n = next(iter(results.sizes(self.work)), None)
        ours = results.median(self.work, self.n, self.ours)
        if ours is None:
            return None
        if not self.peers:
            name, figure = "-", ours
        else:
            rows = [(results.median(self.reference, self.reference_n, peer), peer)
                    for peer in self.peers]
            rows = [row for row in rows if row[0]]
            if not rows:
                return None
            best, name = min(rows)
            figure = ours / best
            if self.reference != self.work:
                name = self.reference
            elif self.reference_n != self.n:
                name = f"itself at {table.count(self.reference_n)}"
        met = figure >= self.factor if self.at_least else figure <= self.factor
        return figure, name, met

    def bound(self):
        return f"{'>=' if self.at_least else '<='} {self.factor:g}"


def lookup_goals():
    for work, factors, aim in (("lookup random", {100: 0.3, 10000: 0.3, 1000000: 0.45}, 1.5),
                               ("lookup chained", {100: 0.75, 10000: 0.75, 1000000: 1.0}, 1.3)):
        for n, factor in factors.items():
            for mode in (PLAIN, MM):
                yield Goal("must", work, n, mode, kernels_of(mode), factor)
            yield Goal("must", work, n, PLAIN, OTHERS, 1)
            yield Goal("aim", work, n, PLAIN, [LIMIT], aim)
    for mode in (PLAIN, MM):
        yield Goal("must", "lookup batch of 16", 1000000, mode, kernels_of(mode), 0.25,
                   "lookup random")
    yield Goal("aim", "lookup batch of 16", 1000000, PLAIN, [LIMIT], 1, "lookup random")


def write_goals():
    for n in (10000, 1000000):
        for mode in (PLAIN, MM):
            yield Goal("must", "iterate", n, mode, kernels_of(mode), 0.3)
        yield Goal("aim", "iterate", n, PLAIN, [ABSL, TRIO], 1)
        for mode in (PLAIN, GAPS, RCU, MM):
            yield Goal("must", "append", n, mode, kernels_of(mode), 0.3)
        yield Goal("must", "append", n, PLAIN, [TRIO], 1)
        yield Goal("aim", "append", n, PLAIN, [ABSL], 1)
        for work in ("insert random", "erase random"):
            for mode in (PLAIN, MM):
                yield Goal("must", work, n, mode, kernels_of(mode), 0.5)
                yield Goal("must", work, n, mode, [TRIO], 1)
            yield Goal("aim", work, n, PLAIN, [ABSL], 1)
    for work in ("overwrite 4", "overwrite 64"):
        for mode in (PLAIN, MM):
            yield Goal("must", work, 10000, mode, kernels_of(mode), 0.5)
        yield Goal("aim", work, 10000, PLAIN, [ABSL], 1)


def small_goals():
    """What most maps are: as quick as the ordered maps that people use now."""
    best = [TRIO, *OTHERS]
    for n in (16, 30, 100, 300):
        for work in ("insert random", "erase random", "append", "overwrite 1", "overwrite 4",
                     "put 4 back"):
            for mode, must, aim in ((PLAIN, 1.5, 1), (MM, 2.5, 1.5)):
                yield Goal("must", work, n, mode, best, must)
                yield Goal("aim", work, n, mode, best, aim)


def anywhere_goals():
    for work in ("brk1 in the middle", "brk2 in the middle"):
        for n in (30, 1000):
            yield Goal("must", work, n, MM, kernels_of(MM), 0.3)
            yield Goal("aim", work, n, MM, [TRIO], 1)
    for work in ("brk1 at the worst place", "brk2 at the worst place"):
        for n in (30, 100, 1000):
            for mode in (PLAIN, MM):
                yield Goal("must", work, n, mode, [], 3)
                yield Goal("aim", work, n, mode, [], 2)


def loop_goals():
    for n in (10000, 1000000):
        for mode in (PLAIN, MM):
            yield Goal("must", "iterate backwards", n, mode, kernels_of(mode), 0.3)
        # beside readers only a tree with a lock of its own knows that nobody writes
        for own, mode in ((PLAIN, PLAIN), (MM_OWN, MM)):
            yield Goal("must", "mt_for_each", n, own, kernels_of(mode), 0.3)
        yield Goal("aim", "mt_for_each", n, PLAIN, [ABSL], 1.3, "iterate")
        yield Goal("aim", "iterate backwards", n, PLAIN, [ABSL], 1.3)


def space_goals():
    for work, sizes in (("brk1", [30]), ("brk2", [30]), ("malloc1", [30, 1000]),
                        ("gap search", [30, 1000])):
        for n in sizes:
            yield Goal("must", work, n, MM, kernels_of(MM), 0.3)
            yield Goal("aim", work, n, MM, [TRIO], 1)


TRACES = ("cc", "python3", "numpy", "threads", "node")


def trace_goals():
    """Whole programs."""
    for name in TRACES:
        yield Goal("must", f"trace {name}", None, MM, kernels_of(MM), 0.3)
        yield Goal("must", f"trace {name}", None, MM, [TRIO], 1.2)
        yield Goal("aim", f"trace {name}", None, MM, [TRIO], 1)


def guest_goals():
    """What an emulator keeps of a program's pages, beside the tree that one uses for it."""
    for name in TRACES:
        yield Goal("must", f"guest {name}", None, PLAIN, [JOINED], 1)
        for mode in (RCU, MM):
            yield Goal("must", f"guest {name}", None, mode, [JOINED], 1.5)


def copy_goals():
    for n in (16, 134, 1000, 10000, 100000, 1000000):
        for mode in (PLAIN, MM):
            yield Goal("must", "duplicate", n, mode, [mode], 1.3, "memcpy of nodes")
            yield Goal("aim", "duplicate", n, mode, [mode], 1.1, "memcpy of nodes")
        yield Goal("must", "duplicate", n, PLAIN, COPIERS, 1)
    yield Goal("must", "fork", 1600000, "libvmspace", ["libvmspace"], 0.9, at_least=True,
               reference_n=6421)
    for n in (6421, 1600000):
        yield Goal("must", "tree copy node by node over entry by entry", n, MM, [], 3,
                   at_least=True)


def snapshot_goals():
    for mode in (PLAIN, MM):
        yield Goal("must", "snapshot", 10000000, mode, [mode], 1.5, reference_n=16)
        yield Goal("must", "snapshot, 10 writes", 100000, mode, [mode], 0.05, "copy, 10 writes")
        yield Goal("must", "snapshot, 10 writes", 100000, mode, SHARERS, 1)
    for work in ("snapshot, 1 write", "snapshot, 1000 writes"):
        yield Goal("aim", work, 100000, PLAIN, SHARERS, 1)


def other_goals():
    for mode in (RCU, MM):
        yield Goal("must", "2 readers over 1", 1000, mode, [], 1.95, at_least=True)
        yield Goal("aim", "2 readers over 1", 1000, mode, [], 2.0, at_least=True)
        yield Goal("must", "reader beside writer", 1000, mode, [], 0.85, at_least=True)
        yield Goal("aim", "reader beside writer", 1000, mode, [], 0.95, at_least=True)
    for engine in (OWN, MM_OWN):
        for n in (2, 4, 8):
            yield Goal("must", "map and unmap by threads", n, engine, [engine], 0.9,
                       at_least=True, reference_n=1)
            yield Goal("aim", "map and unmap by threads", n, engine, [engine], 1.5,
                       at_least=True, reference_n=1)
    for n in (100000, 1000000):
        yield Goal("must", "nodes, appended", n, PLAIN, [], 22)
        yield Goal("aim", "nodes, appended", n, PLAIN, [], 18)
        yield Goal("must", "nodes, random", n, PLAIN, [], 30)
        yield Goal("aim", "nodes, random", n, PLAIN, [], 26)
    for n in (8, 16, 32):
        yield Goal("must", "lookup random", n, PLAIN, [SORTED], 1)
        yield Goal("must", "overwrite 1", n, PLAIN, [SORTED], 1)


def goals():
    for group in (lookup_goals, write_goals, small_goals, space_goals, anywhere_goals, loop_goals,
                  trace_goals, guest_goals, copy_goals, snapshot_goals, other_goals):
        yield from group()


def evaluate(results, quick):
    """(rows, a line of totals per level). A quick run shows only what it has measured."""
    rows = [["goal", "work", "n", "ours", "against", "figure", "bound", ""]]
    counts = {}
    for goal in goals():
        outcome = goal.evaluate(results)
        if outcome is None:
            if quick:
                continue
            peers = ", ".join(goal.peers) or "-"
            figure, name, mark = None, peers, "not measured"
        else:
            figure, name, met = outcome
            mark = "met" if met else "NOT MET"
        counts[goal.level, mark] = counts.get((goal.level, mark), 0) + 1
        n = table.count(goal.n) if goal.n else "-"
        rows.append([goal.level, goal.work, n, goal.ours, name,
                     table.number(figure), goal.bound(), mark])
    totals = []
    for level in ("must", "aim"):
        sums = ", ".join(f"{total} {mark}" for (of, mark), total in counts.items() if of == level)
        totals.append(f"{level}: {sums or 'nothing measured'}")
    return rows, totals


CAPTION = "Goals: ours over the peer's, lower is better; >= where higher is better"
NUMBERS = {2, 5}  # columns


def render(results, quick):
    rows, totals = evaluate(results, quick)
    return "\n".join([CAPTION, "", *table.layout(rows, NUMBERS), *totals])


def render_markdown(results, quick):
    rows, totals = evaluate(results, quick)
    return "\n".join([CAPTION + ".", "", *table.markdown(rows, NUMBERS), "", "; ".join(totals) + "."])
