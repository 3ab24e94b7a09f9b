/* SPDX-License-Identifier: MIT */
/*
 * model.hpp - a range map that is obviously right: a std::map from the first index of each range to
 * its last and its value; and what the tests of C++ have in common.
 */
#ifndef MODEL_HPP
#define MODEL_HPP

#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include <mapletree/range_map.hpp>

#define CHECK(condition) \
	((condition) ? (void)0 : check_failed(#condition, __FILE__, __LINE__))

[[noreturn]] inline void check_failed(const char *condition, const char *file, int line)
{
	std::printf("Bail out! %s:%d: not true: %s\n", file, line, condition);
	std::fflush(stdout);
	std::abort();
}

template <class T> class model {
public:
	using interval = mapletree::interval;
	struct piece {
		unsigned long last;
		T value;
	};
	std::map<unsigned long, piece> ranges;

	/* split - let a range begin at @index, if one goes over it. */
	void split(unsigned long index)
	{
		auto next = ranges.upper_bound(index);

		if (next == ranges.begin())
			return;
		auto at = std::prev(next);

		if (at->first == index || at->second.last < index)
			return;
		ranges.emplace(index, piece{at->second.last, at->second.value});
		at->second.last = index - 1;
	}

	void isolate(interval range)
	{
		split(range.first());
		if (range.last() < ULONG_MAX)
			split(range.last() + 1);
	}

	/* erase - returns how many ranges it found, in pieces of those before. */
	std::size_t erase(interval range)
	{
		isolate(range);
		auto from = ranges.lower_bound(range.first());
		auto to = ranges.upper_bound(range.last());
		std::size_t count = static_cast<std::size_t>(std::distance(from, to));

		ranges.erase(from, to);
		return count;
	}

	void assign(interval range, const T &value)
	{
		erase(range);
		ranges.emplace(range.first(), piece{range.last(), value});
	}

	interval assign_joined(interval range, const T &value)
	{
		assign(range, value);
		return join(range.first());
	}

	/* join - the range that begins at @first with its equal neighbours. */
	interval join(unsigned long first)
	{
		auto at = ranges.find(first);

		if (at != ranges.begin()) {
			auto before = std::prev(at);

			if (before->second.last == at->first - 1 &&
			    before->second.value == at->second.value) {
				before->second.last = at->second.last;
				ranges.erase(at);
				at = before;
			}
		}
		auto behind = std::next(at);

		if (behind != ranges.end() && behind->first - 1 == at->second.last &&
		    behind->second.value == at->second.value) {
			at->second.last = behind->second.last;
			ranges.erase(behind);
		}
		return {at->first, at->second.last};
	}

	bool overlaps(interval range) const
	{
		auto next = ranges.upper_bound(range.last());

		return next != ranges.begin() && std::prev(next)->second.last >= range.first();
	}

	const T *lookup(unsigned long index) const
	{
		auto next = ranges.upper_bound(index);

		if (next == ranges.begin() || std::prev(next)->second.last < index)
			return nullptr;
		return &std::prev(next)->second.value;
	}

	std::vector<interval> gaps(interval within) const
	{
		std::vector<interval> found;
		unsigned long from = within.first();

		for (const auto &[first, piece] : ranges) {
			if (piece.last < from)
				continue;
			if (first > within.last())
				break;
			if (first > from)
				found.push_back({from, first - 1});
			if (piece.last >= within.last())
				return found;
			from = piece.last + 1;
		}
		found.push_back({from, within.last()});
		return found;
	}

	std::optional<interval> find_gap(unsigned long size,
					 const mapletree::gap_options &options) const
	{
		std::optional<interval> best;

		for (interval gap : gaps(options.within)) {
			unsigned long mask = options.align - 1;

			if (gap.last() - gap.first() < size - 1)
				continue;
			if (options.which == mapletree::fit::lowest) {
				unsigned long start = (gap.first() + mask) & ~mask;

				if (start >= gap.first() && start <= gap.last() - (size - 1))
					return interval::sized(start, size);
			} else {
				unsigned long start = (gap.last() - (size - 1)) & ~mask;

				if (start >= gap.first())
					best = interval::sized(start, size);
			}
		}
		return best;
	}

	/* update - as range_map::update(). */
	template <class F> void update(interval range, F compute)
	{
		std::vector<std::pair<interval, std::optional<T>>> results;

		isolate(range);
		for (auto at = ranges.lower_bound(range.first());
		     at != ranges.end() && at->first <= range.last(); ++at)
			results.push_back({{at->first, at->second.last},
					   compute(&at->second.value)});
		for (interval gap : gaps(range))
			results.push_back({gap, compute(static_cast<const T *>(nullptr))});
		erase(range);
		for (const auto &[piece, value] : results)
			if (value)
				ranges.emplace(piece.first(), piece_of(piece, *value));
		join_all(range);
	}

private:
	static piece piece_of(interval range, const T &value)
	{
		return {range.last(), value};
	}

	/* join_all - equal neighbours that meet inside @range or at an end of it. */
	void join_all(interval range)
	{
		auto at = ranges.upper_bound(range.first());

		for (int i = 0; i < 2 && at != ranges.begin(); i++)
			--at;
		while (at != ranges.end() && at->second.last <= range.last()) {
			auto next = std::next(at);

			if (next != ranges.end() && at->second.last + 1 == next->first &&
			    next->first >= range.first() &&
			    at->second.value == next->second.value) {
				at->second.last = next->second.last;
				ranges.erase(next);
			} else {
				at = next;
			}
		}
	}
};

/* same - whether @map has what @right has, read in both directions, and is sound. */
template <class T> void same(const mapletree::range_map<T> &map, const model<T> &right)
{
	auto at = right.ranges.begin();

	for (auto [range, value] : map) {
		CHECK(at != right.ranges.end());
		CHECK(range.first() == at->first && range.last() == at->second.last);
		CHECK(value == at->second.value);
		++at;
	}
	CHECK(at == right.ranges.end());
	for (auto it = map.rbegin(); it != map.rend(); ++it) {
		--at;
		CHECK((*it).range.first() == at->first && (*it).value == at->second.value);
	}
	CHECK(at == right.ranges.begin());
	CHECK(map.empty() == right.ranges.empty());
	CHECK(!map.native_handle() || mt_check(map.native_handle(), nullptr));
}

#endif
