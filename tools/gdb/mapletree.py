# SPDX-License-Identifier: MIT
"""Shows maple trees, cursors and address spaces in gdb.

"print tree" lists a tree's ranges and entries, "print mas" says where a cursor stands, "print *space"
lists the areas of a vmspace (which needs the debug information of libvmspace), and
"print $mtree_load(&tree, index)" looks up. Memory is only read: it works on core files, too. A tree that a
thread was just changing may show the range in work old or new.

gdb loads this by itself with the libraries, where they are installed below /usr; otherwise "source" it.
"""
import gdb
import gdb.printing

NODE_BYTES = 256
LEAF, INNER, GAPS = range(3)
MAX_LEVELS = 31
FLAG_NAMES = {0x01: 'gaps', 0x02: 'RCU', 0x300: 'external lock'}
LOCK_MASK = 0x300


class Words:
    """The words of the program's memory."""

    def __init__(self):
        self.bytes = gdb.lookup_type('unsigned long').sizeof
        self.max = (1 << 8 * self.bytes) - 1
        self.order = 'big' if 'big' in gdb.execute('show endian', to_string=True) else 'little'

    def read(self, address, count):
        data = bytes(gdb.selected_inferior().read_memory(address, count * self.bytes))
        return [int.from_bytes(data[i:i + self.bytes], self.order) for i in range(0, len(data), self.bytes)]


class Node:
    """What one node holds: its kind, and its slots with the indexes that they cover."""

    def __init__(self, words, tagged, first, last):
        slots = {8: (16, 10), 4: (30, 21)}[words.bytes]
        self.kind = tagged >> 2 & 3
        if tagged & 3 != 2 or self.kind > GAPS:
            raise gdb.MemoryError(f'{tagged:#x} is no node')
        count = slots[self.kind == GAPS]
        content = words.read(tagged & ~(NODE_BYTES - 1), NODE_BYTES // words.bytes)
        end = content[count - 1] & 0x7f
        if end >= count:
            raise gdb.MemoryError(f'{tagged:#x} is no node: its end is {end}')
        pivots = content[:end] + [last]
        self.slots = []
        for pivot, slot in zip(pivots, content[count:]):
            self.slots.append((first, min(pivot, last), slot))
            first = pivot + 1


def walk(words, tagged, first, last, level=0):
    """Yields (first, last, entry) for each entry below a node, from the lowest on."""
    if level > MAX_LEVELS:
        raise gdb.MemoryError('nodes below nodes without end')
    node = Node(words, tagged, first, last)
    for low, high, slot in node.slots:
        if node.kind != LEAF:
            yield from walk(words, slot, low, high, level + 1)
        elif slot:
            yield low, high, slot


def entries(tree):
    """Yields (first, last, entry) for each entry of a struct maple_tree."""
    words = Words()
    root = int(tree['ma_root'])
    if root & 3 == 2:
        yield from walk(words, root, 0, words.max)
    elif root:
        yield 0, 0, root


def load(tree, index):
    """The entry at the index, or 0."""
    words = Words()
    slot, first, last, kind = int(tree['ma_root']), 0, words.max, INNER
    if slot & 3 != 2:
        return slot if index == 0 else 0
    for _ in range(MAX_LEVELS):
        node = Node(words, slot, first, last)
        kind = node.kind
        first, last, slot = next(found for found in node.slots if found[1] >= index)
        if kind == LEAF:
            return slot
    raise gdb.MemoryError('nodes below nodes without end')


def entry_text(entry):
    if entry & 1:
        return f'value {entry >> 1}'
    if entry == 0x406:
        return 'zero entry'
    return f'{entry:#x}'


class TreePrinter:
    def __init__(self, tree):
        self.tree = tree

    def to_string(self):
        flags = int(self.tree['ma_flags'])
        names = [name for bits, name in FLAG_NAMES.items()
                 if flags & (LOCK_MASK if bits & LOCK_MASK else bits) == bits]
        return f'maple tree of height {flags >> 2 & 31}' + ''.join(f', {name}' for name in names)

    def children(self):
        try:
            for first, last, entry in entries(self.tree):
                yield f'[{first:#x}, {last:#x}]', entry_text(entry)
        except gdb.MemoryError as error:
            yield 'unreadable', str(error)


class CursorPrinter:
    def __init__(self, mas):
        self.mas = mas

    def to_string(self):
        status = str(self.mas['status']).removeprefix('ma_')
        text = (f'cursor at [{int(self.mas["index"]):#x}, {int(self.mas["last"]):#x}], {status}, '
                f'of tree {int(self.mas["tree"]):#x}')
        if status == 'active':
            text += f', slot {int(self.mas["offset"])} of node {int(self.mas["node"]):#x}'
        elif status == 'error':
            error = int(self.mas['node']) >> 2
            bits = 8 * self.mas['node'].type.sizeof - 2
            text += f' {error - (1 << bits) if error >> bits - 1 else error}'
        if int(self.mas['reserve_count']):
            text += f', {int(self.mas["reserve_count"])} nodes in reserve'
        return text


class SpacePrinter:
    """Of a struct vmspace; the library's debug information says what is in it."""

    def __init__(self, space):
        self.space = space

    def to_string(self):
        return (f'address space, {int(self.space["areas"])} areas, {int(self.space["total_vm"])} pages, '
                f'break {int(self.space["image"]["brk"]):#x}')

    def children(self):
        area = gdb.lookup_type('struct vma').pointer()
        for first, last, entry in entries(self.space['tree']):
            flags = int(gdb.Value(entry).cast(area)['flags'])
            rights = ''.join(name if flags & bit else '-' for bit, name in zip((1, 2, 4), 'rwx'))
            yield f'{first:x}-{last + 1:x}', rights + ('s' if flags & 8 else 'p')


class Load(gdb.Function):
    """$mtree_load(TREE, INDEX) - the entry at INDEX of the struct maple_tree at the address TREE."""

    def __init__(self):
        super().__init__('mtree_load')

    def invoke(self, tree, index):
        entry = load(tree.dereference(), int(index))
        return gdb.Value(entry).cast(gdb.lookup_type('void').pointer())


def printers():
    found = gdb.printing.RegexpCollectionPrettyPrinter('mapletree')
    found.add_printer('tree', '^maple_tree$', TreePrinter)
    found.add_printer('cursor', '^ma_state$', CursorPrinter)
    found.add_printer('space', '^vmspace$', SpacePrinter)
    return found


gdb.printing.register_pretty_printer(gdb.current_objfile(), printers(), replace=True)
Load()
