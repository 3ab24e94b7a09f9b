// SPDX-License-Identifier: MIT
// kernel_style.cc - kernel_style.c, as C++.
#include "kernel_style.c"
