/* SPDX-License-Identifier: MIT */
/*
 * range_map.hpp - a map from ranges of unsigned long to values, for C++17 and later; header-only
 * over the maple tree.
 *
 *	mapletree::range_map<std::string> names;
 *	names.assign({10, 19}, "ten");
 *	names.assign(mapletree::half_open(15, 30), "fifteen");
 *	for (auto [range, value] : names)
 *		std::cout << range.first() << " to " << range.last() << ": " << value << '\n';
 *
 * Every index 0 .. ULONG_MAX has a value or none. A store makes its range one of its own and cuts
 * what it overlaps; neighbours with equal values stay two ranges unless a call says that it joins.
 * Any T that can be moved will do; range_map<T *> holds pointers, any of them, and owns none of
 * what they point to.
 *
 * Values cannot be changed where they are: both parts of a range that was cut are one value. So
 * nothing here copies a T unless it returns one, and copying a map takes the same few nanoseconds
 * whatever is in it. To change values, assign() them, let update() compute them, or store pointers.
 *
 * A call that throws has changed nothing. What it throws, unless its comment says more, is
 * std::bad_alloc, and what moving, comparing or copying a T throws.
 *
 * Threads: as with containers of std. Several may call const functions at a time; who calls another
 * is alone. Two maps are two objects even if one is a copy of the other; then their memory resource
 * must be one for several threads. For readers beside writers there is the tree itself, in RCU
 * mode, with tree_guards.hpp.
 * The destructor of a T may be called inside any function that is not const; it must not use the
 * map.
 */
#ifndef MAPLETREE_RANGE_MAP_HPP
#define MAPLETREE_RANGE_MAP_HPP

#include <algorithm>
#include <cerrno>
#include <initializer_list>
#include <vector>

#include <mapletree/interval.hpp>
#include <mapletree/range_map_iterator.hpp>
#include <mapletree/range_map_value.hpp>

namespace mapletree {

namespace detail {

/* Calls that take a half_open are templates, so that {1, 9} can only mean an interval. */
template <class H> using if_half_open = std::enable_if_t<std::is_same_v<H, half_open>, int>;

} // namespace detail

/* Which of several places a search for a gap takes. */
enum class fit { lowest, highest };

/*
 * struct gap_options - where to look for a gap.
 * @within: inside these indexes.
 * @align:  the first index is a multiple of this power of two.
 * @which:  of several the lowest or the highest.
 */
struct gap_options {
	interval within = interval::all();
	unsigned long align = 1;
	fit which = fit::lowest;
};

template <class T> class range_map {
	static_assert(std::is_object_v<T> && !std::is_const_v<T> && !std::is_volatile_v<T>,
		      "range_map: T must be an object type without const and volatile");
	static_assert(std::is_nothrow_destructible_v<T>,
		      "range_map: the destructor of T must not throw");
	using codec = detail::value_codec<T>;
	using entry_ref = detail::entry_ref<T>;

public:
	using key_type = unsigned long;
	using mapped_type = T;
	using element = range_element<T>;
	using value_type = element;
	using iterator = range_iterator<T>;
	using const_iterator = iterator;
	using reverse_iterator = std::reverse_iterator<iterator>;
	using const_reverse_iterator = reverse_iterator;
	/* What lookup() returns: tests false if there is nothing, and * is the value. */
	using found = typename codec::found;

	/* ---- making, copying, moving ---------------------------------------------------- */

	range_map() noexcept = default;

	/*
	 * A map whose memory, of nodes and values, comes from @resource; nullptr: from the
	 * library's slab and operator new. It outlives the map and all its copies, which use it,
	 * too: it goes wherever the content goes.
	 */
	explicit range_map(std::pmr::memory_resource *resource) noexcept : resource_(resource)
	{
	}

	range_map(std::initializer_list<std::pair<interval, T>> ranges,
		  std::pmr::memory_resource *resource = nullptr)
		: range_map(resource)
	{
		for (const auto &[range, value] : ranges)
			assign(range, value);
	}

	/* A copy in constant time, which shares nodes and values until one of the two changes. */
	range_map(const range_map &other) : resource_(other.resource_)
	{
		if (!other.home_)
			return;
		home_ = new_home(detail::node_memory::share(other.home_->memory),
				 other.home_->tree.ma_entry_ops);
		int error = mtree_snapshot(&other.home_->tree, &home_->tree, GFP_KERNEL);

		if (error) {
			free_home();
			throw std::bad_alloc();
		}
	}

	/* A copy of every range and value that shares nothing, in the memory of @resource. */
	range_map(const range_map &other, std::pmr::memory_resource *resource) : range_map(resource)
	{
		for (const auto [range, value] : other)
			assign(range, value);
	}

	/* @other is empty afterwards, with the same resource. Iterators go with the content. */
	range_map(range_map &&other) noexcept
		: resource_(other.resource_), home_(std::exchange(other.home_, nullptr))
	{
	}

	/*
	 * Assignment ends the use of iterators of what this map had, as the destructor does; moving,
	 * like swap(), lets those of @other go with the content.
	 */
	range_map &operator=(const range_map &other)
	{
		if (this != &other)
			range_map(other).swap(*this);
		return *this;
	}

	range_map &operator=(range_map &&other) noexcept
	{
		if (this != &other)
			range_map(std::move(other)).swap(*this);
		return *this;
	}

	~range_map()
	{
		free_home();
	}

	/* Resources are exchanged, too. Iterators go with the content. */
	void swap(range_map &other) noexcept
	{
		std::swap(resource_, other.resource_);
		std::swap(home_, other.home_);
	}

	friend void swap(range_map &a, range_map &b) noexcept
	{
		a.swap(b);
	}

	/* get_resource - where the memory comes from, or nullptr. */
	std::pmr::memory_resource *get_resource() const noexcept
	{
		return resource_;
	}

	/* ---- reading ------------------------------------------------------------------------ */

	bool empty() const noexcept
	{
		return !home_ || mtree_empty(&home_->tree);
	}

	/* count_ranges - how many ranges have a value. Reads the whole map. */
	std::size_t count_ranges() const noexcept
	{
		return static_cast<std::size_t>(std::distance(begin(), end()));
	}

	/* lookup - the value at @index, or nothing. */
	found lookup(unsigned long index) const noexcept
	{
		return codec::find(home_ ? mtree_load(&home_->tree, index) : nullptr);
	}

	/*
	 * lookup_many - write to @out what lookup() returns for each of @count indexes, in their
	 * order. Much faster than one by one if the map is larger than the cache.
	 */
	template <class Output>
	void lookup_many(const unsigned long *indexes, std::size_t count, Output out) const
	{
		constexpr std::size_t most = 128;
		void *entries[most] = {};

		while (count) {
			std::size_t some = count < most ? count : most;

			if (home_)
				mtree_load_many(&home_->tree, indexes, entries, some);
			for (std::size_t i = 0; i < some; i++)
				*out++ = codec::find(entries[i]);
			indexes += some;
			count -= some;
		}
	}

	bool contains(unsigned long index) const noexcept
	{
		return home_ && mtree_load(&home_->tree, index);
	}

	/* at - the value at @index; throws std::out_of_range if there is none. */
	typename codec::access at(unsigned long index) const
	{
		void *entry = home_ ? mtree_load(&home_->tree, index) : nullptr;

		if (!entry)
			throw std::out_of_range("range_map: no value at this index");
		return codec::value(entry);
	}

	/* find - the range that holds @index, or end(). */
	iterator find(unsigned long index) const noexcept
	{
		iterator there = lower_bound(index);

		return there != end() && (*there).range.contains(index) ? there : end();
	}

	/* lower_bound - the first range that ends at or behind @index, or end(). */
	iterator lower_bound(unsigned long index) const noexcept
	{
		return iterator(detail::in_tree{tree()}, interval::from(index));
	}

	/* overlaps - whether any index of @range has a value. */
	bool overlaps(interval range) const noexcept
	{
		iterator first = lower_bound(range.first());

		return first != end() && (*first).range.overlaps(range);
	}

	template <class H, detail::if_half_open<H> = 0> bool overlaps(H range) const
	{
		return !range.empty() && overlaps(range.closed());
	}

	/*
	 * overlapping - the ranges that have an index in @range, whole, for a loop. The loop may
	 * change what it likes: it ends where @range does.
	 */
	iterator_range<iterator> overlapping(interval range) const noexcept
	{
		detail::in_tree in = {tree()};

		return {iterator(in, range), iterator(in, range.last())};
	}

	template <class H, detail::if_half_open<H> = 0>
	iterator_range<iterator> overlapping(H range) const
	{
		return range.empty() ? iterator_range<iterator>(end(), end()) :
				       overlapping(range.closed());
	}

	iterator begin() const noexcept
	{
		return iterator(detail::in_tree{tree()}, interval::all());
	}

	iterator end() const noexcept
	{
		return iterator(detail::in_tree{tree()});
	}

	iterator cbegin() const noexcept
	{
		return begin();
	}

	iterator cend() const noexcept
	{
		return end();
	}

	reverse_iterator rbegin() const noexcept
	{
		return reverse_iterator(end());
	}

	reverse_iterator rend() const noexcept
	{
		return reverse_iterator(begin());
	}

	/* Whether both have the same ranges with equal values, by ==. */
	friend bool operator==(const range_map &a, const range_map &b)
	{
		iterator i = a.begin(), j = b.begin();

		for (; i != a.end() && j != b.end(); ++i, ++j)
			if ((*i).range != (*j).range || !((*i).value == (*j).value))
				return false;
		return i == a.end() && j == b.end();
	}

	friend bool operator!=(const range_map &a, const range_map &b)
	{
		return !(a == b);
	}

	/* ---- gaps -------------------------------------------------------------------------- */

	/* gaps - the free ranges inside @within, cut to it, upwards, for a loop. */
	iterator_range<gap_iterator> gaps(interval within = interval::all()) const noexcept
	{
		return {gap_iterator(detail::in_tree{tree()}, within), gap_iterator()};
	}

	template <class H, detail::if_half_open<H> = 0>
	iterator_range<gap_iterator> gaps(H within) const
	{
		return within.empty() ? iterator_range<gap_iterator>({}, {}) : gaps(within.closed());
	}

	/* gap_around - the whole free range that holds @index, or nothing if it has a value. */
	std::optional<interval> gap_around(unsigned long index) const noexcept
	{
		unsigned long first = 0, last = ULONG_MAX;

		if (home_ && !mtree_gap_around(&home_->tree, index, &first, &last))
			return std::nullopt;
		return interval(first, last);
	}

	/*
	 * find_gap - @size free indexes as @options say, or nothing. Throws std::invalid_argument
	 * if @size is 0 or the alignment is no power of two.
	 */
	std::optional<interval> find_gap(unsigned long size, const gap_options &options = {}) const
	{
		struct mt_area area = area_of(size, options);
		struct maple_tree none = MTREE_INIT(none, MT_FLAGS_ALLOC_RANGE);
		MA_STATE(mas, home_ ? &home_->tree : &none, 0, 0);

		if (mas_find_area(&mas, &area))
			return std::nullopt; /* the arguments are right: there is no such gap */
		return interval::sized(area.start, size);
	}

	/* ---- changing ------------------------------------------------------------------------ */

	/* assign - @range has @value, whatever was there; what sticks out stays as it is. */
	void assign(interval range, T value)
	{
		entry_ref entry = make_entry(std::move(value));

		detail::throw_if_failed(mtree_store_range(&home_->tree, range.first(), range.last(),
							  entry.get(), GFP_KERNEL));
	}

	template <class H, detail::if_half_open<H> = 0> void assign(H range, T value)
	{
		if (!range.empty())
			assign(range.closed(), std::move(value));
	}

	/*
	 * assign_joined - the same, and if ranges directly beside it, or cut by it, have an equal
	 * value, by ==, all become one range. Returns it.
	 */
	interval assign_joined(interval range, T value)
	{
		range = joined(range, value);
		assign(range, std::move(value));
		return range;
	}

	/*
	 * insert_if_free - assign() if none of @range has a value; otherwise change nothing.
	 * Returns whether it did. An empty half_open is free.
	 */
	bool insert_if_free(interval range, T value)
	{
		if (overlaps(range))
			return false;
		assign(range, std::move(value));
		return true;
	}

	template <class H, detail::if_half_open<H> = 0> bool insert_if_free(H range, T value)
	{
		return range.empty() || insert_if_free(range.closed(), std::move(value));
	}

	/*
	 * allocate - give @value to @size free indexes as @options say. Returns them, or nothing if
	 * there is no such gap. Throws as find_gap(), too.
	 */
	std::optional<interval> allocate(unsigned long size, T value,
					 const gap_options &options = {})
	{
		struct mt_area area = area_of(size, options);
		entry_ref entry = make_entry(std::move(value));
		int error = mtree_alloc_area(&home_->tree, &area, entry.get(), GFP_KERNEL);

		if (error == -EBUSY || error == -EINVAL)
			return std::nullopt;
		detail::throw_if_failed(error);
		return interval::sized(area.start, size);
	}

	/*
	 * erase - no index of @range has a value afterwards; what sticks out stays. Returns from
	 * how many ranges something was taken. It needs memory if it cuts.
	 */
	std::size_t erase(interval range)
	{
		std::size_t count = 0;

		if (home_)
			detail::throw_if_failed(mtree_erase_range(&home_->tree, range.first(),
								  range.last(), count_one, &count,
								  GFP_KERNEL));
		return count;
	}

	template <class H, detail::if_half_open<H> = 0> std::size_t erase(H range)
	{
		return range.empty() ? 0 : erase(range.closed());
	}

	/*
	 * erase - the whole range at @place goes, which is not end(). Returns @place, moved to the next
	 * one.
	 */
	iterator erase(iterator place)
	{
		erase((*place).range);
		return ++place;
	}

	/* erase_at - the whole range that holds @index goes. Returns whether there was one. */
	bool erase_at(unsigned long index)
	{
		iterator place = find(index);

		return place != end() && erase((*place).range) > 0;
	}

	/*
	 * update - give each piece of @range, that is what one range or gap has in common with it,
	 * the value that @compute(found, interval) returns, a std::optional<T>; nothing: none. All
	 * pieces or, if something is thrown, none. Pieces with values that are equal, by ==, become
	 * one range, and so do the ranges directly beside @range. @compute must not change the map.
	 */
	template <class F> void update(interval range, F compute)
	{
		std::vector<entry_ref> results = computed(range, compute);
		std::vector<void *> entries;

		entries.reserve(results.size());
		for (const entry_ref &result : results)
			entries.push_back(result.get());
		store_pieces(range, entries);
	}

	template <class H, class F, detail::if_half_open<H> = 0>
	void update(H range, F compute)
	{
		if (!range.empty())
			update(range.closed(), std::move(compute));
	}

	/* clear - nothing has a value. The tree stays where it is: iterators may be moved on. */
	void clear() noexcept
	{
		if (home_)
			mtree_destroy(&home_->tree);
	}

	/*
	 * native_handle - the tree, for functions that only read, such as mt_get_statistics(), or
	 * nullptr if nothing was ever stored.
	 */
	struct maple_tree *native_handle() const noexcept
	{
		return tree();
	}

private:
	/* The tree with its node allocator, made with the first store. */
	struct home {
		struct maple_tree tree;
		detail::node_memory *memory;
	};
	static constexpr std::size_t home_align = 64; /* of struct maple_tree: see its ma_apart */

	struct maple_tree *tree() const noexcept
	{
		return home_ ? &home_->tree : nullptr;
	}

	/* new_home - an empty tree with nodes from @memory, of which it takes over a reference. */
	home *new_home(detail::node_memory *memory, const struct mt_entry_ops *ops) const
	{
		home *made;

		try {
			made = ::new (detail::get_block(resource_, sizeof(home), home_align)) home;
		} catch (...) {
			detail::node_memory::drop(memory);
			throw;
		}
		made->memory = memory;
		mt_init_flags(&made->tree, MT_FLAGS_ALLOC_RANGE);
		/* Neither fails: the tree is empty, and the operations are whole. */
		(void)mt_set_allocator(&made->tree, detail::node_memory::hooks(memory));
		(void)mt_set_entry_ops(&made->tree, ops);
		return made;
	}

	void free_home() noexcept
	{
		if (!home_)
			return;
		mtree_destroy(&home_->tree);
		detail::node_memory::drop(home_->memory);
		detail::give_block(resource_, std::exchange(home_, nullptr), sizeof(home),
				   home_align);
	}

	/* make_entry - @value as an entry that is ours; there is a tree to store it in afterwards. */
	entry_ref make_entry(T &&value)
	{
		if (!home_)
			home_ = new_home(detail::node_memory::create(resource_), codec::ops());
		return entry_ref(codec::make(resource_, std::move(value)));
	}

	static struct mt_area area_of(unsigned long size, const gap_options &options)
	{
		if (size == 0)
			throw std::invalid_argument("range_map: a gap of size 0 is none");
		if (options.align == 0 || (options.align & (options.align - 1)))
			throw std::invalid_argument(
				"range_map: the alignment of a gap must be a power of two");
		return {options.within.first(), options.within.last(), size, options.align,
			options.which == fit::lowest ? MT_FIT_LOWEST : MT_FIT_HIGHEST, 0};
	}

	/* joined - @range with the ranges beside it, or cut by it, whose value is equal. */
	interval joined(interval range, const T &value) const
	{
		unsigned long first = range.first(), last = range.last();

		for (unsigned long outside : {first, first ? first - 1 : first}) {
			iterator there = find(outside);

			if (there != end() && (*there).range.first() < first &&
			    (*there).value == value)
				first = (*there).range.first();
		}
		for (unsigned long outside : {last, last < ULONG_MAX ? last + 1 : last}) {
			iterator there = find(outside);

			if (there != end() && (*there).range.last() > last &&
			    (*there).value == value)
				last = (*there).range.last();
		}
		return {first, last};
	}

	/* equal - whether two entries are both nothing, or equal values. */
	static bool equal(void *a, void *b)
	{
		return a == b || (a && b && codec::value(a) == codec::value(b));
	}

	/*
	 * computed - what @compute makes of each piece of @range, in order. Of equal neighbours the
	 * later ones are the first one's entry, and those that are equal to what is there, that.
	 */
	template <class F> std::vector<entry_ref> computed(interval range, F &compute)
	{
		std::vector<entry_ref> results;

		if (!home_)
			home_ = new_home(detail::node_memory::create(resource_), codec::ops());
		void *before = range.first() ? mtree_load(&home_->tree, range.first() - 1) : nullptr;
		MA_STATE(mas, &home_->tree, range.first(), range.first());

		for (void *old = mas_walk(&mas);; old = mas_next_range(&mas, ULONG_MAX)) {
			interval whole(mas.index, mas.last);
			interval piece(std::max(whole.first(), range.first()),
				       std::min(whole.last(), range.last()));
			std::optional<T> value = compute(codec::find(old), piece);
			entry_ref result;

			if (value)
				result = entry_ref(codec::make(resource_, *std::move(value)));
			if (equal(result.get(), before))
				result = entry_ref::share(before);
			else if (equal(result.get(), old))
				result = entry_ref::share(old);
			before = result.get();
			results.push_back(std::move(result));
			if (piece.last() == range.last())
				break;
		}
		join_behind(range, results);
		return results;
	}

	/* join_behind - make the last results that equal what is behind @range its entry. */
	void join_behind(interval range, std::vector<entry_ref> &results) const
	{
		void *behind = range.last() < ULONG_MAX ?
				       mtree_load(&home_->tree, range.last() + 1) :
				       nullptr;
		void *same = results.back().get();

		if (!behind || !equal(same, behind))
			return;
		for (std::size_t i = results.size(); i > 0 && results[i - 1].get() == same; i--)
			results[i - 1] = entry_ref::share(behind);
	}

	/* store_pieces - one of @entries for each piece of @range. */
	void store_pieces(interval range, std::vector<void *> &entries)
	{
		void **next = entries.data();
		int error;

		/* Only a store can join what is on both sides, which are two entries. */
		if (std::equal(entries.begin() + 1, entries.end(), entries.begin())) {
			void *entry = entries.front();

			if (entry)
				range = joined(range, codec::value(entry));
			error = mtree_store_range(&home_->tree, range.first(), range.last(), entry,
						  GFP_KERNEL);
		} else {
			error = mtree_update_range(&home_->tree, range.first(), range.last(),
						   take_next, &next, nullptr, GFP_KERNEL);
		}
		detail::throw_if_failed(error);
	}

	static void count_one(void *, unsigned long, unsigned long, void *ctx) noexcept
	{
		++*static_cast<std::size_t *>(ctx);
	}

	static void *take_next(void *, unsigned long, unsigned long, void *ctx) noexcept
	{
		void **&next = *static_cast<void ***>(ctx);

		return *next++;
	}

	std::pmr::memory_resource *resource_ = nullptr;
	home *home_ = nullptr;
};

} // namespace mapletree

#endif
