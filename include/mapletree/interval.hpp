/* SPDX-License-Identifier: MIT */
/*
 * interval.hpp - ranges of indexes for C++: closed ones, which can be all of 0 .. ULONG_MAX, and
 * half-open ones, which can be empty. Included by range_map.hpp. C++17.
 */
#ifndef MAPLETREE_INTERVAL_HPP
#define MAPLETREE_INTERVAL_HPP

#include <limits.h>
#include <stdexcept>

namespace mapletree {

/*
 * class interval - the indexes first() .. last(), both inclusive; never empty.
 * The constructor throws std::invalid_argument if first > last.
 */
class interval {
public:
	constexpr interval(unsigned long first, unsigned long last) : first_(first), last_(last)
	{
		if (first > last)
			throw std::invalid_argument("interval: first is above last");
	}

	/* at - only @index. */
	static constexpr interval at(unsigned long index)
	{
		return {index, index};
	}

	/* all - every index there is, 0 .. ULONG_MAX. */
	static constexpr interval all()
	{
		return {0, ULONG_MAX};
	}

	/* from - @first .. ULONG_MAX. */
	static constexpr interval from(unsigned long first)
	{
		return {first, ULONG_MAX};
	}

	/*
	 * sized - @size indexes, @first the lowest. Throws std::invalid_argument if @size is 0,
	 * std::overflow_error if they would go beyond ULONG_MAX.
	 */
	static constexpr interval sized(unsigned long first, unsigned long size)
	{
		if (size == 0)
			throw std::invalid_argument("interval: an interval is never empty");
		if (size - 1 > ULONG_MAX - first)
			throw std::overflow_error("interval: it ends beyond ULONG_MAX");
		return {first, first + (size - 1)};
	}

	constexpr unsigned long first() const noexcept
	{
		return first_;
	}

	constexpr unsigned long last() const noexcept
	{
		return last_;
	}

	/*
	 * size - the number of indexes. Throws std::overflow_error for all(), which has one more
	 * than an unsigned long can tell; last() - first() is always right, and one less.
	 */
	constexpr unsigned long size() const
	{
		if (last_ - first_ == ULONG_MAX)
			throw std::overflow_error("interval: its size is ULONG_MAX + 1");
		return last_ - first_ + 1;
	}

	constexpr bool contains(unsigned long index) const noexcept
	{
		return first_ <= index && index <= last_;
	}

	constexpr bool contains(const interval &other) const noexcept
	{
		return first_ <= other.first_ && other.last_ <= last_;
	}

	constexpr bool overlaps(const interval &other) const noexcept
	{
		return first_ <= other.last_ && other.first_ <= last_;
	}

	friend constexpr bool operator==(const interval &a, const interval &b) noexcept
	{
		return a.first_ == b.first_ && a.last_ == b.last_;
	}

	friend constexpr bool operator!=(const interval &a, const interval &b) noexcept
	{
		return !(a == b);
	}

private:
	unsigned long first_;
	unsigned long last_;
};

/*
 * class half_open - the indexes start() .. end() - 1; empty if both are equal. It can't reach
 * ULONG_MAX: that takes an interval. The constructor throws std::invalid_argument if start > end.
 * What takes an interval to change or to visit takes a half_open as well; an empty one changes and
 * visits nothing.
 */
class half_open {
public:
	constexpr half_open(unsigned long start, unsigned long end) : start_(start), end_(end)
	{
		if (start > end)
			throw std::invalid_argument("half_open: start is above end");
	}

	/* The same indexes; throws std::overflow_error if @closed reaches ULONG_MAX. */
	explicit constexpr half_open(const interval &closed)
		: start_(closed.first()), end_(closed.last() + 1)
	{
		if (closed.last() == ULONG_MAX)
			throw std::overflow_error("half_open: it would end at ULONG_MAX + 1");
	}

	constexpr unsigned long start() const noexcept
	{
		return start_;
	}

	constexpr unsigned long end() const noexcept
	{
		return end_;
	}

	constexpr unsigned long size() const noexcept
	{
		return end_ - start_;
	}

	constexpr bool empty() const noexcept
	{
		return start_ == end_;
	}

	/* closed - the same indexes; throws std::invalid_argument if there are none. */
	constexpr interval closed() const
	{
		if (empty())
			throw std::invalid_argument("half_open: an interval is never empty");
		return {start_, end_ - 1};
	}

	friend constexpr bool operator==(const half_open &a, const half_open &b) noexcept
	{
		return a.start_ == b.start_ && a.end_ == b.end_;
	}

	friend constexpr bool operator!=(const half_open &a, const half_open &b) noexcept
	{
		return !(a == b);
	}

private:
	unsigned long start_;
	unsigned long end_;
};

} // namespace mapletree

#endif
