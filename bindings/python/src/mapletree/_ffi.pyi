# SPDX-License-Identifier: MIT
# For type checkers: the module that cffi makes, whose names are those of _ffi.h. For this package alone.
from typing import Any

ffi: Any
lib: Any
