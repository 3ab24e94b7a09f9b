#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""links.py SITE - every link within the site leads to a file and an anchor that exist, no page loads
anything from elsewhere, and no anchor is twice on a page. Prints what does not hold; exit status 1 then.
"""
import collections
import html.parser
import pathlib
import re
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    """What a page links to, what it loads, and its anchors."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loads, self.anchors = [], [], collections.Counter()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == 'id':
                self.anchors[value] += 1
            elif name == 'src' or (name == 'href' and tag == 'link'):
                self.loads.append(value)
            elif name == 'href':
                self.links.append(value)


def complaints(site):
    pages = {path: Page(path.read_text(encoding='utf-8')) for path in sorted(site.rglob('*.html'))}
    if not pages:
        yield f'{site}: there is no page'
    for path, page in pages.items():
        name = path.relative_to(site)
        for anchor, times in page.anchors.items():
            if times > 1:
                yield f'{name}: {times} anchors are called {anchor}'
        for link in page.loads + page.links:
            if re.match(r'[a-z]+:|//', link):
                if link in page.loads or link.startswith('//'):
                    yield f'{name}: {link} would be loaded from elsewhere'
                continue
            place, _, anchor = urllib.parse.unquote(link).partition('#')
            target = (path.parent / place).resolve() if place else path
            if site not in target.parents or not target.is_file():
                yield f'{name}: {link}: there is no such file'
            elif anchor and target not in pages:
                yield f'{name}: {link}: not a page that has anchors'
            elif anchor and anchor not in pages[target].anchors:
                yield f'{name}: {link}: there is no such anchor'


def main():
    found = list(complaints(pathlib.Path(sys.argv[1]).resolve()))
    print(*found, sep='\n', end='\n' if found else '')
    return bool(found)


sys.exit(main())
