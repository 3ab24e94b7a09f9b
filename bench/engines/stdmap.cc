// SPDX-License-Identifier: MIT
//
// stdmap.cc - the engine of std::map.
//
#include "ordered.hh"

#include <map>

using StdMap = std::map<unsigned long, Tail>;

extern "C" const engine engine_stdmap;
ORDERED_ENGINE(engine_stdmap, "std::map", StdMap)
