// SPDX-License-Identifier: MIT
// beyond_kernel.cc - beyond_kernel.c, as C++.
#include "beyond_kernel.c"
