/* SPDX-License-Identifier: MIT */
/*
 * range_map_iterator.hpp - what goes over the ranges and the gaps of a C++ range map. Part of
 * range_map.hpp.
 */
#ifndef MAPLETREE_RANGE_MAP_ITERATOR_HPP
#define MAPLETREE_RANGE_MAP_ITERATOR_HPP

#include <cstddef>
#include <iterator>
#include <optional>

#include <mapletree/interval.hpp>
#include <mapletree/range_map_value.hpp>

namespace mapletree {

namespace detail {

/* What maps make iterators of: no number and no list is one. */
struct in_tree {
	struct maple_tree *tree;
};

} // namespace detail

/*
 * struct range_element - what an iterator refers to; for "auto [range, value] : map".
 * @range: the whole range, both ends inclusive.
 * @value: const T & of a value in a block, which lives as long as a range of a map has it; T of a
 *         pointer, or of what is plain and smaller than one.
 */
template <class T> struct range_element {
	interval range;
	typename detail::value_codec<T>::access value;
};

/*
 * class range_iterator - forwards and backwards over ranges that have a value. Like a cursor of the
 * tree it may be moved after any change of the content, clear() included: it goes on from the range
 * that it stood on. After a move or swap() it belongs to the map that has the content now. It is of
 * no use, and must not be moved, once its content was replaced by assignment or its map destroyed.
 * What it refers to is there as long as that range. An end() of a map that never held anything, or
 * whose content was moved away, is not to be moved once the map has got its first range.
 *
 * One of a part of a map (overlapping(), entries()) goes upwards no further than to the last range
 * that begins in the part, whatever is behind that by then; from there it comes to the end. From the
 * end it goes back to that range. All ends of a map are equal, those of its parts, too. A loop
 * downwards ends at begin(), which is a range: if that may go in the loop, ask for begin() anew.
 */
template <class T> class range_iterator {
	using codec = detail::value_codec<T>;

public:
	using value_type = range_element<T>;
	using reference = range_element<T>;
	using difference_type = std::ptrdiff_t;
	/* References are made on the way, which is all that separates it from one. */
	using iterator_category = std::bidirectional_iterator_tag;

	/* An element that lives as long as the expression with ->. */
	class pointer {
	public:
		explicit pointer(const reference &element) : element_(element)
		{
		}

		const reference *operator->() const noexcept
		{
			return &element_;
		}

	private:
		reference element_;
	};

	range_iterator() noexcept : range_iterator(detail::in_tree{nullptr})
	{
	}

	/* Past the last range of @in that begins at or before @last. Made by maps. */
	explicit range_iterator(detail::in_tree in, unsigned long last = ULONG_MAX) noexcept
		: last_(last)
	{
		mas_init(&mas_, in.tree, 0);
	}

	/* The first range of @in that has an index in @within, and stays there. Made by maps. */
	range_iterator(detail::in_tree in, interval within) noexcept : last_(within.last())
	{
		mas_init(&mas_, in.tree, within.first());
		entry_ = in.tree ? mas_find(&mas_, last_) : nullptr;
	}

	reference operator*() const
	{
		return {interval(mas_.index, mas_.last), codec::value(entry_)};
	}

	pointer operator->() const
	{
		return pointer(**this);
	}

	range_iterator &operator++() noexcept
	{
		entry_ = mas_next(&mas_, last_);
		return *this;
	}

	range_iterator operator++(int) noexcept
	{
		range_iterator before = *this;

		++*this;
		return before;
	}

	range_iterator &operator--() noexcept
	{
		if (entry_) {
			entry_ = mas_prev(&mas_, 0);
		} else {
			mas_set(&mas_, last_);
			entry_ = mas_find_rev(&mas_, 0);
		}
		return *this;
	}

	range_iterator operator--(int) noexcept
	{
		range_iterator before = *this;

		--*this;
		return before;
	}

	/* Both of one map: whether they stand on the same range, or both at the end. */
	friend bool operator==(const range_iterator &a, const range_iterator &b) noexcept
	{
		return a.entry_ && b.entry_ ? a.mas_.index == b.mas_.index : a.entry_ == b.entry_;
	}

	friend bool operator!=(const range_iterator &a, const range_iterator &b) noexcept
	{
		return !(a == b);
	}

private:
	struct ma_state mas_;
	void *entry_ = nullptr;
	unsigned long last_; /* no further than to what begins here */
};

/*
 * class gap_iterator - over the free ranges inside an interval, cut to it, upwards. Not to be used
 * after the map was changed.
 */
class gap_iterator {
public:
	using value_type = interval;
	using reference = interval;
	using difference_type = std::ptrdiff_t;
	using pointer = const interval *;
	using iterator_category = std::forward_iterator_tag;

	gap_iterator() noexcept : tree_(nullptr), within_(interval::all())
	{
	}

	/* The first gap of @in inside @within. Made by maps. */
	gap_iterator(detail::in_tree in, interval within) noexcept
		: tree_(in.tree), within_(within)
	{
		find(within.first());
	}

	reference operator*() const noexcept
	{
		return *gap_;
	}

	pointer operator->() const noexcept
	{
		return &*gap_;
	}

	gap_iterator &operator++() noexcept
	{
		unsigned long last = gap_->last();

		gap_.reset();
		if (last < within_.last())
			find(last + 1);
		return *this;
	}

	gap_iterator operator++(int) noexcept
	{
		gap_iterator before = *this;

		++*this;
		return before;
	}

	friend bool operator==(const gap_iterator &a, const gap_iterator &b) noexcept
	{
		return a.gap_ == b.gap_;
	}

	friend bool operator!=(const gap_iterator &a, const gap_iterator &b) noexcept
	{
		return !(a == b);
	}

private:
	/* find - the first gap at or behind @from, which is inside @within_. */
	void find(unsigned long from) noexcept
	{
		if (!tree_) {
			gap_ = interval(from, within_.last());
			return;
		}
		MA_STATE(mas, tree_, from, from);

		for (void *entry = mas_walk(&mas); entry; entry = mas_next_range(&mas, ULONG_MAX)) {
			if (mas.last >= within_.last())
				return;
			from = mas.last + 1;
		}
		gap_ = interval(from, mas.last < within_.last() ? mas.last : within_.last());
	}

	struct maple_tree *tree_;
	interval within_;
	std::optional<interval> gap_; /* none: the end */
};

/* class iterator_range - a pair of iterators, for loops. */
template <class Iterator> class iterator_range {
public:
	iterator_range(Iterator first, Iterator last) : first_(first), last_(last)
	{
	}

	Iterator begin() const
	{
		return first_;
	}

	Iterator end() const
	{
		return last_;
	}

	bool empty() const
	{
		return first_ == last_;
	}

private:
	Iterator first_;
	Iterator last_;
};

} // namespace mapletree

#endif
