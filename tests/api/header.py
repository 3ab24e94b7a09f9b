# SPDX-License-Identifier: MIT
"""header.py - what the public header declares."""
import re

# For the headers themselves: their guards, and what inline functions and loops are made of.
PRIVATE = re.compile(r'MAPLETREE_\w+_H$|MT_PUBLIC$|VMSPACE_PUBLIC$|mt_mutex_(wait|wake)$|'
                     r'mas_batch_|MAS_BATCH_|MAS_FOR_EACH_|mt_loop_|MT_LOOP_|MT_FOR_EACH_')


def words(text):
    return ' '.join(text.split())


class Header:
    """functions: name -> (type, arguments); macros: name -> arguments, None for a constant."""

    def __init__(self, path):
        text = re.sub(r'/\*.*?\*/', '', open(path, encoding='utf-8').read(), flags=re.S)
        self.macros = {}
        for name, arguments in re.findall(r'^#define (\w+(?:(\([^)]*\)))?)', text, flags=re.M):
            name = name.split('(')[0]
            if not PRIVATE.match(name):
                self.macros[name] = ([words(a) for a in arguments[1:-1].split(',')]
                                     if arguments else None)
        code = re.sub(r'^#.*$', '', text.replace('\\\n', ' '), flags=re.M)
        self.functions = {
            name: (words(kind), [words(a) for a in re.split(r',(?![^(]*\))', arguments)])
            for kind, name, arguments in re.findall(
                r'(?:MT_PUBLIC|VMSPACE_PUBLIC|static inline)\s+([\w\s]*?[\w*]\s*\**)\b(\w+)'
                r'\(((?:[^()]|\([^()]*\))*)\)\s*[;{]', code)
            if not PRIVATE.match(name)}
        self.types = set(re.findall(r'^(?:struct|enum) (\w+) \{', code, flags=re.M))
        self.types |= set(re.findall(r'^typedef .*?(\w+);', code, flags=re.M))
        self.constants = {name for name, value in self.macros.items() if value is None}
        for inside in re.findall(r'^enum \w+ \{(.*?)\}', code, flags=re.M | re.S):
            self.constants |= set(re.findall(r'\w+', inside))

    def add(self, other):
        self.functions |= other.functions
        self.macros |= other.macros
        self.types |= other.types
        self.constants |= other.constants

    def calls(self):
        return set(self.functions) | {n for n, value in self.macros.items() if value is not None}
