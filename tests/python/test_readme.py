# SPDX-License-Identifier: MIT
"""The program that the README shows."""
import pathlib
import runpy


def test_first_program(capsys):
    runpy.run_path(str(pathlib.Path(__file__).parents[2] / 'examples' / 'first.py'))
    assert capsys.readouterr().out.splitlines() == [
        '0x1000 0x1800 kernel',
        '0x1800 0x2800 driver',
        '[range(0, 4096), range(10240, 16384)]',
        'True',
    ]
