/* SPDX-License-Identifier: MIT */
/*
 * owners.cc - the C++ map: who owns which part of a guest's memory. Ranges overwrite each other,
 * gaps are found, a copy keeps a moment, and parts that become equal join.
 */
#include <iostream>
#include <string>

#include <mapletree/range_map.hpp>

using mapletree::gap_options;
using mapletree::half_open;
using mapletree::interval;
using owners = mapletree::range_map<std::string>;

static void print(const char *title, const owners &map)
{
	std::cout << title << ":\n" << std::hex;
	for (auto [range, owner] : map)
		std::cout << "  " << range.first() << " - " << range.last() << ' ' << owner << '\n';
	std::cout << std::dec;
}

int main()
{
	const interval memory(0, 0xffff);
	owners map{{{0x0, 0xfff}, "firmware"}, {{0x1000, 0x7fff}, "ram"}};

	map.assign(half_open(0x4000, 0x5000), "framebuffer"); /* cuts the ram in two */
	print("at first", map);

	const owners before = map; /* shares everything that stays as it is */
	gap_options aligned;

	aligned.within = memory;
	aligned.align = 0x1000;
	aligned.which = mapletree::fit::highest;
	if (auto place = map.allocate(0x1800, "device", aligned))
		std::cout << "device at " << std::hex << place->first() << std::dec << '\n';
	map.update(memory, [](const std::string *owner, interval) -> std::optional<std::string> {
		if (!owner)
			return std::nullopt;
		return *owner == "framebuffer" ? "ram" : *owner;
	});
	print("now", map);
	print("before", before);

	std::cout << "free:";
	for (interval gap : map.gaps(memory))
		std::cout << ' ' << gap.size();
	std::cout << "\n0x4567 is " << *map.lookup(0x4567) << ", was " << before.at(0x4567) << '\n';
	return map.lookup(0x8000) ? 1 : 0;
}
