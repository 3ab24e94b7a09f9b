#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""run.py PACKAGE_DIR [SEED] - run the tests beside this file on the package as it was built.

Prints the seed of random tests. Nothing is written but below PACKAGE_DIR.
"""
import os
import pathlib
import random
import sys


def main():
    package = pathlib.Path(sys.argv[1]).resolve()
    seed = sys.argv[2] if len(sys.argv) > 2 else str(random.randrange(2 ** 32))
    tests = pathlib.Path(__file__).resolve().parent
    print(f'seed {seed}', flush=True)
    os.environ.update({
        'PYTHONPATH': str(package),
        'PYTHONDONTWRITEBYTECODE': '1',
        'HYPOTHESIS_STORAGE_DIRECTORY': str(package / 'hypothesis'),
    })
    os.chdir(package)
    os.execv(sys.executable, [
        sys.executable, '-B', '-m', 'pytest', '-q', '-p', 'no:cacheprovider', f'--rootdir={tests}',
        f'--hypothesis-seed={seed}', *map(str, sorted(tests.glob('test_*.py')))])


main()
