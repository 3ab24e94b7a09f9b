#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Includes point downwards in the tables of docs/architecture.md, and every source file is in one.

A table whose column "files" names modules in backticks lists a source folder's layers from the top
down; which folder that is, the section says (SECTIONS). A module is a file's name, with or without
its suffix. It may include what stands behind it in its row and what is in the rows below; in a row
marked "(a group)" the files may include each other. Where a table has a column "folder", a
subfolder is a group; an empty cell goes on with the one above. Where the first column holds
numbers, these are the layers: folders of one number know nothing of each other.

Fails if a file includes one of a higher layer, is in no layer or in two, or if a module of a table
does not exist. Usage: check.py SOURCE_ROOT [FOLDER...], of SECTIONS; without: all of them.
"""
import pathlib
import re
import sys

SECTIONS = {'libmapletree': 'src/mapletree', 'libvmspace': 'src/vmspace',
            'vmscope': 'tools/vmscope'}
GROUP = ' (a group)'
SOURCES = ('.c', '.h', '.py')

# Known violations, of which none may be added: (file, header that it includes).
KNOWN = set()


def cells_of(line):
    return [cell.strip() for cell in line.strip().strip('|').split('|')]


def tables(text):
    """The rows of each table with a column "files": {source folder: [{column: cell}]}."""
    found, folder, header = {}, None, None
    for line in text.splitlines():
        if line.startswith('## '):
            folder = SECTIONS.get(line[3:].strip())
        if not line.startswith('|'):
            header = None
        elif header is None:
            header = [name or 'layer' for name in cells_of(line)]
        elif folder and 'files' in header and not re.match(r'[|\s:-]+$', line):
            found.setdefault(folder, []).append(dict(zip(header, cells_of(line))))
    return found


class Group:
    """Files that may include each other: one module, a row marked so, or a subfolder."""

    def __init__(self, name, subfolder, rank, modules):
        self.name, self.subfolder, self.rank, self.modules = name, subfolder, rank, modules


def groups_of(rows):
    """The groups from the top down: the higher one has the lower rank."""
    groups = []
    for row in rows:
        layer = row['layer'].strip('`')
        modules = re.findall(r'`([^`]+)`', row['files'])
        rank = groups[-1].rank + 1 if groups else 0
        if 'folder' in row:
            subfolder = row['folder'].strip('`').rstrip('/')
            if not subfolder and groups:
                groups[-1].modules += modules
                continue
            if layer.isdigit():
                rank = int(layer)
            groups.append(Group(subfolder, subfolder, rank, modules))
        elif layer.endswith(GROUP):
            groups.append(Group(layer.removesuffix(GROUP), '', rank, modules))
        else:
            groups += [Group(layer, '', rank + i, [module]) for i, module in enumerate(modules)]
    return groups


def is_module(path, module):
    return module in (path.name, path.stem)


class Folder:
    """A source folder, its files and their groups."""

    def __init__(self, root, name, rows):
        self.root, self.base = root, root / name
        self.groups = groups_of(rows)
        self.files = sorted(path for path in self.base.rglob('*') if path.suffix in SOURCES)
        self.problems = []
        self.group = {path: self.find_group(path) for path in self.files}
        for group in self.groups:
            for module in group.modules:
                if not any(self.holds(group, path, module) for path in self.files):
                    self.problems.append(f'{name}: the layer "{group.name}" names `{module}`, '
                                         'which does not exist')

    def holds(self, group, path, module):
        return is_module(path, module) and path.parent == self.base / group.subfolder

    def find_group(self, path):
        groups = [group for group in self.groups
                  if any(self.holds(group, path, module) for module in group.modules)]
        shown = path.relative_to(self.root)
        if not groups:
            self.problems.append(f'{shown}: in no layer')
        if len(groups) > 1:
            self.problems.append(f'{shown}: in several layers: '
                                 + ', '.join(group.name for group in groups))
        return groups[0] if groups else None

    def included(self, path):
        """(line number, file of this folder) for each quoted include."""
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if not match:
                continue
            places = [(place / match[1]).resolve() for place in (path.parent, self.base)]
            places = [place for place in places if place in self.group]
            if places:
                yield number, places[0]
            else:
                self.problems.append(f'{path.relative_to(self.root)}:{number}: includes '
                                     f'"{match[1]}", which is no file of this part')

    def check(self):
        for path in self.files:
            for number, target in self.included(path):
                above, below = self.group[path], self.group[target]
                if above is None or below is None or above is below or above.rank < below.rank:
                    continue
                pair = (str(path.relative_to(self.root)), str(target.relative_to(self.root)))
                if pair in KNOWN:
                    KNOWN.discard(pair)
                    continue
                self.problems.append(f'{pair[0]}:{number}: "{above.name}" includes {target.name} of '
                                     f'"{below.name}", which is no lower')
        return self.problems


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    found = tables((root / 'docs/architecture.md').read_text())
    problems = []
    for name in sys.argv[2:] or SECTIONS.values():
        if name not in found:
            problems.append(f'docs/architecture.md has no table of the layers of {name}')
            continue
        problems += Folder(root, name, found[name]).check()
    problems += [f'{path} does not include {header} against the order: no known violation'
                 for path, header in sorted(KNOWN)]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
