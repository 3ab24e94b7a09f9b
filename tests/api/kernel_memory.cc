// SPDX-License-Identifier: MIT
// kernel_memory.cc - kernel_memory.c, as C++.
#include "kernel_memory.c"
