#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does check.py notice what it is there for? Small source trees, each with one thing wrong."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECK = pathlib.Path(__file__).parent / 'check.py'

ROWS = """
| layer | files | responsibility |
|---|---|---|
| top | `api` | calls |
| middle (a group) | `left` `right` | work on `words` |
| below | `second` `first` | in this order |
| bottom | `base.h` | words |
"""

FOLDERS = """
| | folder | files | responsibility |
|---|---|---|---|
| 1 | `cli` | `main` | the command |
| 2 | `one` | `a` | something |
| | | `b` | more of it |
| 2 | `two` | `c` | something else |
"""

TREE = {'api.c': 'left.h', 'left.h': 'right.h', 'left.c': 'left.h', 'right.h': 'left.h',
        'second.h': 'first.h', 'first.c': 'first.h', 'first.h': 'base.h', 'base.h': None}
SUBTREE = {'cli/main.c': 'one/a.h', 'one/a.h': 'b.h', 'one/b.h': 'one/a.h', 'two/c.h': None}


def problems(folder, section, table, files):
    """What check.py says of a tree with these files, each with the header it includes."""
    with tempfile.TemporaryDirectory() as root:
        docs = pathlib.Path(root, 'docs', 'architecture.md')
        docs.parent.mkdir()
        docs.write_text(f'# Architecture\n\n## {section}\n{table}', encoding='ascii')
        for name, header in files.items():
            path = pathlib.Path(root, folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f'#include "{header}"\n' if header else '', encoding='ascii')
        done = subprocess.run([sys.executable, CHECK, root, folder], stdout=subprocess.PIPE,
                              text=True, check=False)
        lines = done.stdout.splitlines()
        assert done.returncode == (1 if lines else 0), done.returncode
        return lines


class Check(unittest.TestCase):
    def rows(self, change, *expected):
        self.compare(problems('src/mapletree', 'libmapletree', ROWS, TREE | change), expected)

    def folders(self, change, *expected):
        self.compare(problems('tools/vmscope', 'vmscope', FOLDERS, SUBTREE | change), expected)

    def compare(self, found, expected):
        self.assertEqual(len(found), len(expected), found)
        for line, words in zip(found, expected):
            self.assertIn(words, line)

    def test_what_is_right(self):
        self.rows({})
        self.folders({})

    def test_an_include_upwards(self):
        self.rows({'base.h': 'right.h'}, 'base.h:1: "bottom" includes right.h of "middle"')
        self.folders({'one/a.h': 'cli/main.c'}, 'one/a.h:1: "one" includes main.c of "cli"')

    def test_an_include_of_what_stands_before_in_a_row(self):
        self.rows({'first.h': 'second.h'}, 'first.h:1: "below" includes second.h of "below"')

    def test_an_include_of_another_folder_of_the_same_number(self):
        self.folders({'one/b.h': 'two/c.h'}, '"one" includes c.h of "two"')

    def test_a_file_in_no_layer(self):
        self.rows({'words.h': None}, 'words.h: in no layer')
        self.folders({'one/c.h': None}, 'one/c.h: in no layer')

    def test_a_module_that_does_not_exist(self):
        files = {name: header for name, header in TREE.items() if name != 'api.c'}
        self.compare(problems('src/mapletree', 'libmapletree', ROWS, files),
                     ['"top" names `api`, which does not exist'])

    def test_a_file_in_two_layers(self):
        table = ROWS.replace('`api`', '`api` `left.c`')
        self.compare(problems('src/mapletree', 'libmapletree', table, TREE), ['in several layers'])

    def test_a_header_of_elsewhere(self):
        self.rows({'api.c': '../vmspace/vma.h'}, 'which is no file of this part')

    def test_a_table_that_is_missing(self):
        self.compare(problems('src/mapletree', 'libmapletree', '', {}), ['no table of the layers'])


if __name__ == '__main__':
    unittest.main()
