/* SPDX-License-Identifier: MIT */
/* first.cc - the C++ lines of the README. */
#include <iostream>
#include <string>
#include <mapletree/range_map.hpp>

int main()
{
	mapletree::range_map<std::string> map{{{0x1000, 0x4fff}, "code"}};

	map.assign({0x3000, 0x8fff}, "data"); /* whatever was there */
	for (auto [range, name] : map)
		std::cout << std::hex << range.first() << '-' << range.last() << ' ' << name << '\n';
	std::cout << *map.lookup(0x3456) << '\n';
}
