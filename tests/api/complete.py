#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""complete.py HEADER PROGRAM - every public name of HEADER is used in PROGRAM."""
import re
import sys


def public_names(text):
    """Functions, macros, enumerators, types and members that the header declares."""
    text = re.sub(r'/\*.*?\*/', ' ', text, flags=re.S)
    names = set(re.findall(r'^#define (\w+)', text, flags=re.M))
    body = re.sub(r'^#.*?(?<!\\)$', '', text, flags=re.M | re.S)
    names |= set(re.findall(r'(\w+)\((?=[^()]*\)\s*[;{])', body))
    for kind, name, inside in re.findall(r'^(struct|enum) (\w+) \{(.*?)^\}', body, flags=re.M | re.S):
        names.add(name)
        if kind == 'enum':
            names |= set(re.findall(r'(\w+)\s*(?:,|$)', inside.strip()))
    for inside in re.findall(r'^enum \w+ \{ (.*?) \}', body, flags=re.M):
        names |= set(re.findall(r'\w+', inside))
    names |= set(re.findall(r'^typedef .*?(\w+);', body, flags=re.M))
    return names


# Not for users: the include guard, the linkage, and what the header itself needs.
PRIVATE = {'MAPLETREE_MAPLE_TREE_H', 'MT_PUBLIC'}

header, program = (open(path, encoding='utf-8').read() for path in sys.argv[1:3])
names = {n for n in public_names(header) - PRIVATE if re.match(r'_*(mt|mas?|mtree|maple|xa|gfp|enum)_|[A-Z_]+$', n)
         or n in ('mt_rcu', 'ma_state')}
missing = sorted(n for n in names if not re.search(r'\b%s\b' % n, program))
if len(names) < 120:
    sys.exit(f'only {len(names)} names found in {sys.argv[1]}: has its form changed?')
if missing:
    sys.exit('not used in ' + sys.argv[2] + ': ' + ' '.join(missing))
print(f'all {len(names)} public names are used')
