#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/kernels.md has a row for each rule of rules_table.h, and no other: name, versions and case.

Usage: kernels_doc.py RULES_TABLE KERNELS_MD
"""
import re
import sys


def rules_of(text):
    """Name, versions and case of each row of the table."""
    text = text.replace('OBSERVED', '"observed"').replace('\\\n', ' ')
    row = r'RULE\(\w+,\s*"([^"]+)",\s*"([^"]+)",\s*"[^"]+",\s*"([^"]+)"'
    return [match.groups() for match in re.finditer(row, text)]


def rows_of(text):
    """The same, of the tables of the document."""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip('|').split('|')]
        if line.startswith('| `') and len(cells) == 5:
            yield cells[0].strip('`'), cells[1], cells[4].strip('`')


def main():
    table, document = (open(path, encoding='utf-8').read() for path in sys.argv[1:3])
    rules, rows = set(rules_of(table)), list(rows_of(document))
    if not rules or len(rules) != len(re.findall(r'RULE\([A-Z0-9_]+, "', table)):
        print('the table cannot be read')
        return 1
    for rule in sorted(rules - set(rows)):
        print('not in the document:', *rule)
    for row in sorted(set(rows) - rules):
        print('not in the table:', *row)
    if len(rows) != len(set(rows)):
        print('a rule has two rows')
    return int(rules != set(rows) or len(rows) != len(set(rows)))


sys.exit(main())
