#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every source file of the libraries and tools is found in architecture.md, by its name or without suffix.
# Usage: check.sh SOURCE_ROOT
cd "$1" || exit 1
missing=0
for file in src/*/*.[ch] tools/*/*/*.[ch] tools/*/*/*.py; do
	name=${file##*/}
	grep -qF -e "\`$name\`" -e "\`${name%.*}\`" docs/architecture.md && continue
	echo "docs/architecture.md does not tell what $file is responsible for"
	missing=1
done
exit $missing
