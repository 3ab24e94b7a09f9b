#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""build.py SOURCE_ROOT OUTPUT - the documentation as a site: static HTML that needs no network.

Every Markdown file for users becomes a page in the same place (README.md the first one), every manual page
man/NAME.SECTION.html; what pages show or refer to beside those is copied. Needs markdown-it-py and mandoc;
with the system's Python, since another one may come first in PATH that lacks the former.
"""
import html
import os
import pathlib
import posixpath
import re
import shutil
import subprocess
import sys

try:
    from markdown_it import MarkdownIt
except ImportError:
    sys.exit('build.py: there is no markdown-it for /usr/bin/python3 (on Debian: apt-get install '
             'python3-markdown-it)')

# What the list of pages begins with; the others follow in the order of their names.
FIRST = ['docs/architecture.md', 'docs/bindings.md', 'docs/benchmarks.md', 'docs/kernels.md', 'docs/testing.md']
MANUAL = 'man/index.html'
MARKDOWN = ['*.md', 'docs/*.md', 'docs/guides/*.md', 'bench/README.md', 'bindings/python/README.md']

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="stylesheet" href="{up}style.css">
</head>
<body>
<nav>
{links}
</nav>
<main>
{body}
</main>
</body>
</html>
"""


class BrokenLink(Exception):
    pass


def slug(heading, taken):
    """What a heading is called in links, as where the sources are shown."""
    name = re.sub(r'[^\w\- ]', '', heading.lower()).replace(' ', '-')
    number = taken.get(name, -1) + 1
    taken[name] = number
    return f'{name}-{number}' if number else name


class Manual:
    """The manual pages, and the names that each is found by."""

    def __init__(self, root):
        self.files = sorted((root / 'man').glob('*.[1-9]'))
        self.pages = {}
        self.about = {}
        for path in self.files:
            section = path.suffix[1:]
            head = path.read_text(encoding='utf-8').split('.Sh SYNOPSIS')[0]
            # What the page is about, in mdoc and in man macros.
            self.about[path.name] = re.search(r'^(?:\.Nd |\w+ \\- )(.*)$', head, re.M).group(1)
            for name in [path.stem] + re.findall(r'^\.Nm (\S+)', head, re.M):
                self.pages.setdefault(f'{name}.{section}', f'man/{path.name}.html')

    def convert(self, path):
        """The page's HTML; references to pages of others are text."""
        text = subprocess.run(['mandoc', '-Thtml', '-O', 'fragment,man=%N.%S', str(path)],
                              stdout=subprocess.PIPE, check=True, text=True).stdout

        def reference(match):
            page = self.pages.get(match.group(1))
            return (f'<a class="Xr" href="{posixpath.basename(page)}">{match.group(2)}</a>' if page
                    else match.group(2))

        text = re.sub(r'<a class="Xr" href="([^"]*)">(.*?)</a>', reference, text, flags=re.S)
        text = re.sub(r'<b>(\w+)</b>\((\d)\)', self.named, text)
        # One heading of the first level a page: the sections are below the page's name.
        text = re.sub(r'<(/?)h([12])\b', lambda match: f'<{match[1]}h{int(match[2]) + 1}', text)
        return f'<h1>{path.stem}({path.suffix[1:]})</h1>\n{text}'

    def named(self, match):
        page = self.pages.get(f'{match[1]}.{match[2]}')
        return f'<a href="{posixpath.basename(page)}">{match[0]}</a>' if page else match[0]

    def index(self):
        rows = [f'<tr><td><a href="{path.name}.html">{path.stem}({path.suffix[1:]})</a></td>'
                f'<td>{html.escape(self.about[path.name])}</td></tr>' for path in self.files]
        return '<h1>Manual</h1>\n<table>\n' + '\n'.join(rows) + '\n</table>\n'


class Site:
    def __init__(self, root, output):
        self.root, self.output = root, output
        self.manual = Manual(root)
        self.sources = sorted({path.relative_to(root).as_posix()
                               for pattern in MARKDOWN for path in root.glob(pattern)})
        self.titles = {}
        self.copied = set()
        self.markdown = MarkdownIt('commonmark').enable('table')

    @staticmethod
    def place(source):
        """Where in the site the page of a Markdown file is."""
        return 'index.html' if source == 'README.md' else source[:-len('.md')] + '.html'

    def target(self, source, link):
        """The link of a page, as it is in the site."""
        if re.match(r'[a-z]+:', link) or link.startswith('#'):
            return link
        name, hash_sign, anchor = link.partition('#')
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), name))
        if path in self.sources:
            path = self.place(path)
        elif path.startswith('man/') and (self.root / path).is_file():
            path += '.html'
        elif not path.startswith('../') and (self.root / path).is_file():
            self.copied.add(path)
        else:
            raise BrokenLink(f'{source}: {link}: there is no such file')
        return posixpath.relpath(path, posixpath.dirname(source) or '.') + hash_sign + anchor

    def convert(self, source):
        tokens = self.markdown.parse((self.root / source).read_text(encoding='utf-8'))
        taken, kept, title = {}, [], None
        for number, token in enumerate(tokens):
            if token.type == 'html_block' and token.content.startswith('<!--'):
                continue
            kept.append(token)
            if token.type == 'heading_open':
                text = ''.join(child.content for child in tokens[number + 1].children)
                token.attrSet('id', slug(text, taken))
                title = title or text
            for child in token.children or []:
                for attribute in ('href', 'src'):
                    if child.attrGet(attribute) is not None:
                        child.attrSet(attribute, self.target(source, child.attrGet(attribute)))
        self.titles[source] = title
        body = self.markdown.renderer.render(kept, self.markdown.options, {})
        return re.sub(r'(?<!">)<code>(\w+)\((\d)\)</code>', lambda match: self.mention(source, match), body)

    def mention(self, source, match):
        """The name of a manual page in the text refers to it."""
        page = self.manual.pages.get(f'{match[1]}.{match[2]}')
        place = posixpath.relpath(page, posixpath.dirname(source) or '.') if page else ''
        return f'<a href="{place}">{match[0]}</a>' if page else match[0]

    def links(self, place):
        """The list of all pages, beside each of them."""
        guides = [source for source in self.sources if source.startswith('docs/guides/')]
        documents = FIRST + [source for source in self.sources
                             if source not in {*guides, *FIRST, 'README.md'}]
        groups = [('', [('index.html', 'mapletree'), (MANUAL, 'Manual')]),
                  ('Guides', [(self.place(source), self.titles[source]) for source in guides]),
                  ('Documents', [(self.place(source), self.titles[source]) for source in documents])]
        lines = []
        for name, pages in groups:
            lines += [f'<p>{name}</p>'] if name else []
            for page, title in pages:
                here = ' aria-current="page"' if page == place else ''
                path = posixpath.relpath(page, posixpath.dirname(place) or '.')
                lines.append(f'<a href="{path}"{here}>{html.escape(title)}</a>')
        return '\n'.join(lines)

    def write(self, place, title, body):
        path = self.output / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(PAGE.format(title=html.escape(title), up='../' * place.count('/'),
                                    links=self.links(place), body=body), encoding='utf-8')

    def build(self):
        bodies = {source: self.convert(source) for source in self.sources}
        for source, body in bodies.items():
            title = self.titles[source]
            self.write(self.place(source), title if source == 'README.md' else f'{title} - mapletree', body)
        self.write(MANUAL, 'Manual - mapletree', self.manual.index())
        for path in self.manual.files:
            self.write(f'man/{path.name}.html', f'{path.stem}({path.suffix[1:]})', self.manual.convert(path))
        for path in self.copied:
            (self.output / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.root / path, self.output / path)
        shutil.copyfile(pathlib.Path(__file__).with_name('style.css'), self.output / 'style.css')
        return len(bodies) + len(self.manual.files) + 1


def main():
    root, output = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    if not shutil.which('mandoc'):
        sys.exit('build.py: there is no mandoc (on Debian: apt-get install mandoc)')
    if output.exists():
        # What is no site of ours is not removed.
        if os.listdir(output) and not (output / 'style.css').exists():
            sys.exit(f'build.py: {output} has other files in it')
        shutil.rmtree(output)
    output.mkdir(parents=True)
    try:
        pages = Site(root, output).build()
    except BrokenLink as error:
        sys.exit(f'build.py: {error}')
    print(f'{pages} pages: {output}/index.html')


main()
