#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""complete.py HEADER[,HEADER...] PROGRAM... - every public name of the headers is used in one of the
PROGRAMs."""
import re
import sys

from header import Header

first, *others = sys.argv[1].split(',')
header = Header(first)
for path in others:
    header.add(Header(path))
text = '\n'.join(open(path, encoding='utf-8').read() for path in sys.argv[2:])
names = header.calls() | header.constants | header.types
missing = sorted(name for name in names if not re.search(r'\b%s\b' % name, text))
if missing:
    sys.exit('used in no program: ' + ' '.join(missing))
if len(names) < 120:
    sys.exit(f'only {len(names)} names found in {sys.argv[1]}: has its form changed?')
print(f'all {len(names)} public names are used')
