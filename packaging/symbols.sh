#!/bin/sh
# SPDX-License-Identifier: MIT
# symbols.sh LIBRARY SYMBOLS VERSION - prints the symbols file of Debian's package for the shared library:
# its names, each with the version in which it came, which is what the file SYMBOLS has, or VERSION.
set -eu

library=$1
symbols=$2
version=$3
soname=$(readelf -d "$library" | sed -n 's/.*Library soname: \[\(.*\)\]/\1/p')
package=$(echo "$soname" | sed 's/\.so\./ /' | tr -d ' ')
echo "$soname $package #MINVER#"
nm -D --defined-only "$library" | awk '{ sub(/@@/, "@", $3); if ($2 == "A") $3 = $3 "@" $3; print $3 }' |
	LC_ALL=C sort | while read -r name; do
	came=$(sed -n "s/^ $name //p" "$symbols" 2>/dev/null || :)
	echo " $name ${came:-$version}"
done
