# SPDX-License-Identifier: MIT
"""Finds the places in C source where one thing can be broken, and breaks it.

Works on text with comments and strings blanked out. Assertions are left alone: they check the
code, and with them broken no behaviour differs.
"""

import re

COMPARISONS = {'<': '<=', '<=': '<', '>': '>=', '>=': '>', '==': '!=', '!=': '=='}
BINARY = {'&&': '||', '||': '&&', '+': '-', '-': '+', '&': '|', '|': '&', '<<': '>>', '>>': '<<',
          '+=': '-=', '-=': '+=', '|=': '&=', '&=': '|=', **COMPARISONS}
WORDS = {'true': 'false', 'false': 'true', 'ULONG_MAX': '(ULONG_MAX - 1)', 'continue': 'break',
         'KIND_LEAF': 'KIND_GAPS', 'MT_FIT_LOWEST': 'MT_FIT_HIGHEST',
         'SIBLING_LEFT': 'SIBLING_RIGHT', 'SIBLING_RIGHT': 'SIBLING_LEFT'}

OPERATOR = re.compile(r' (&&|\|\||<<|>>|<=|>=|==|!=|\+=|-=|\|=|&=|[<>+\-&|]) ')
NUMBER = re.compile(r'(?<![\w.])(0x[0-9a-fA-F]+|\d+)(?=[uUlL]*\b)')
CONDITION = re.compile(r'\b(?:if|while) \(')
STEP = re.compile(r'\+\+|--')
NOT = re.compile(r'(?<![\w)])!(?=[\w(])')
FUNCTION = re.compile(r'^\w[^\n;(]*?(?:LOOKUP\()?(\w+)\)?\([^;]*?\)\n\{', re.M)
STATEMENT = re.compile(r'^\t+(?!return\b|break\b|goto\b|static\b|const\b|struct\b|enum\b|unsigned\b|'
                       r'void\b|bool\b|int\b|long\b|else\b|do\b|for\b|if\b|while\b|switch\b|case\b|'
                       r'default\b|MA_STATE\b|va_list\b|#)[^;{}]*;$')


class Mutant:
    """One change: @start to @end of the file's text become @new.

    Its key names it as long as the function around it stays: the places where the same line is
    changed in the same way are numbered within a function.
    """

    def __init__(self, file, function, text, start, end, new):
        self.file, self.function = file, function
        self.start, self.end, self.new = start, end, new
        self.line = text.count('\n', 0, start) + 1
        before = text[text.rfind('\n', 0, start) + 1:start].lstrip()
        until = text.find('\n', end)
        behind = text[end:until if until >= 0 else len(text)]
        self.old_line = ' '.join((before + text[start:end] + behind).split())
        self.new_line = ' '.join((before + new + behind).split())
        self.key = f'{file}: {function}: {self.old_line}  ->  {self.new_line}'

    def apply(self, text):
        return text[:self.start] + self.new + text[self.end:]

    def __str__(self):
        return f'{self.file}:{self.line}: {self.old_line}  ->  {self.new_line}'


def number_repeated(found):
    """Makes the keys of one file's mutants differ."""
    seen = {}
    for mutant in sorted(found, key=lambda m: m.start):
        seen[mutant.key] = seen.get(mutant.key, 0) + 1
        if seen[mutant.key] > 1:
            mutant.key += f'  #{seen[mutant.key]}'


def blank(text):
    """The text, as long as before, without comments, strings, directives, assertions, counters
    and __attribute__."""
    def spaces(match):
        return re.sub(r'[^\n]', '~', match.group())

    text = re.sub(r'/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'', spaces, text, flags=re.S)
    text = re.sub(r'^#(?:if|elif) defined\(SEARCH_VECTORS\)(?:.*?)(?=^#e)', spaces, text,
                  flags=re.S | re.M)
    text = re.sub(r'^[ \t]*#(?:[^\n\\]|\\.|\\\n)*', spaces, text, flags=re.M)
    text = re.sub(r'\b(?:(?:static_)?assert|WORK|TRACE_[A-Z]+)\(.*?\);', spaces, text, flags=re.S)
    return re.sub(r'__attribute__\(\(.*?\)\)(?=[ ;])|__builtin_prefetch\(.*?\);|__ATOMIC_\w+',
                  spaces, text, flags=re.S)


def closing(text, opening):
    """Where the parenthesis at @opening is closed."""
    depth = 0
    for i in range(opening, len(text)):
        depth += (text[i] == '(') - (text[i] == ')')
        if depth == 0:
            return i
    raise ValueError('unbalanced parentheses')


def statements(code):
    """Statements of a line or more that something simple, a ';', can stand for."""
    position = 0
    pending = None
    for line in code.splitlines(keepends=True):
        stripped = line.rstrip('\n')
        if pending is None and re.match(r'^\t+[\w*(+-]', stripped) and '{' not in stripped:
            pending = position
        if pending is not None and re.search(r'[;{}:]\s*$', stripped):
            text = code[pending:position + len(stripped)]
            if STATEMENT.match(text.replace('\n', ' ')) and '~' not in text:
                first = pending + len(text) - len(text.lstrip())
                yield first, position + len(stripped)
            pending = None
        elif not stripped.strip():
            pending = None
        position += len(line)


def find(file, text):
    """All mutants of a file."""
    code = blank(text)
    functions = [(m.start(), m.group(1)) for m in FUNCTION.finditer(code)]

    def make(start, end, new):
        around = [name for begin, name in functions if begin <= start]
        return Mutant(file, around[-1] if around else '', text, start, end, new)

    found = []
    for m in OPERATOR.finditer(code):
        found.append(make(m.start(1), m.end(1), BINARY[m.group(1)]))
    for m in NUMBER.finditer(code):
        value = int(m.group(1), 0)
        found.append(make(m.start(1), m.end(1), str(value + 1)))
        if value:
            found.append(make(m.start(1), m.end(1), str(value - 1)))
    for m in CONDITION.finditer(code):
        opening = m.end() - 1
        end = closing(code, opening) + 1
        found.append(make(opening, end, '(!' + text[opening:end] + ')'))
    for m in STEP.finditer(code):
        found.append(make(m.start(), m.end(), '--' if m.group() == '++' else '++'))
    for m in NOT.finditer(code):
        found.append(make(m.start(), m.end(), ''))
    for word, other in WORDS.items():
        for m in re.finditer(rf'\b{word}\b', code):
            found.append(make(m.start(), m.end(), other))
    for start, end in statements(code):
        found.append(make(start, end, ';' + '\n' * text.count('\n', start, end)))
    number_repeated(found)
    return found
