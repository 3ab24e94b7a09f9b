# SPDX-License-Identifier: MIT
# Puts the page of "vmscope report" into a C string: page_embed.py HTML CSS JS... OUTPUT
import sys

html, css, *scripts, out = sys.argv[1:]


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


text = read(html).replace("@STYLE@", read(css).strip())
text = text.replace("@SCRIPT@", "\n".join(read(path).strip() for path in scripts))
for name in ("TITLE", "SUMMARY", "DATA"):
    assert f"@{name}@" in text, f"the page has no place for @{name}@"
with open(out, "w") as file:
    file.write("/* Made by report/page_embed.py. */\n#include \"report/page.h\"\n\nconst char page_text[] = {\n")
    data = text.encode() + b"\0"
    for at in range(0, len(data), 20):
        file.write("\t" + " ".join(f"{'-' if b > 127 else ''}{256 - b if b > 127 else b},"
                                   for b in data[at:at + 20]) + "\n")
    file.write("};\n")
