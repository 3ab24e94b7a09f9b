/* SPDX-License-Identifier: MIT */
/* before.cc - ranges in a red-black tree, std::map, by their first index. */
#include <map>

#include "ranges.h"

namespace {

struct piece {
	unsigned long last;
	void *value;
};

std::map<unsigned long, piece> pieces;

} /* namespace */

void ranges_erase(unsigned long first, unsigned long last)
{
	auto it = pieces.upper_bound(first);

	if (it != pieces.begin()) {
		auto before = std::prev(it);
		piece old = before->second;

		if (old.last >= first) {
			if (before->first == first)
				pieces.erase(before);
			else
				before->second.last = first - 1;
			if (old.last > last) {
				pieces.emplace(last + 1, old);
				return;
			}
		}
	}
	while (it != pieces.end() && it->first <= last) {
		piece old = it->second;

		it = pieces.erase(it);
		if (old.last > last) {
			pieces.emplace_hint(it, last + 1, old);
			return;
		}
	}
}

void ranges_store(unsigned long first, unsigned long last, void *value)
{
	ranges_erase(first, last);
	pieces.emplace(first, piece{last, value});
}

void *ranges_load(unsigned long index)
{
	auto it = pieces.upper_bound(index);

	if (it == pieces.begin())
		return nullptr;
	--it;
	return it->second.last >= index ? it->second.value : nullptr;
}

unsigned long ranges_find_free(unsigned long size, unsigned long from, unsigned long end)
{
	auto it = pieces.upper_bound(from);

	if (it != pieces.begin() && std::prev(it)->second.last >= from)
		from = std::prev(it)->second.last + 1;
	for (; it != pieces.end() && from < end; ++it) {
		if (it->first - from >= size)
			break;
		from = it->second.last + 1;
	}
	return from < end && end - from >= size ? from : end;
}

unsigned long ranges_sum(void)
{
	unsigned long sum = 0;

	for (auto &[first, piece] : pieces)
		sum += piece.last - first + 1;
	return sum;
}

void ranges_destroy(void)
{
	pieces.clear();
}
