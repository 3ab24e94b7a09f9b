// SPDX-License-Identifier: MIT
//
// absl.cc - the engine of absl::btree_map.
//
#include "ordered.hh"

#include <absl/container/btree_map.h>

using AbslMap = absl::btree_map<unsigned long, Tail>;

extern "C" const engine engine_absl;
ORDERED_ENGINE(engine_absl, "absl::btree_map", AbslMap)
