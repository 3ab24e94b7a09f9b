/* SPDX-License-Identifier: MIT */
/*
 * tree_guards.hpp - for C++ programs that use the C interface of the tree: locks and read-side
 * sections that end with their scope, and loops over entries with their type. C++17.
 */
#ifndef MAPLETREE_TREE_GUARDS_HPP
#define MAPLETREE_TREE_GUARDS_HPP

#include <mapletree/range_map_iterator.hpp>

namespace mapletree {

/*
 * class tree_mutex - the lock of a tree that brings its own, as a Lockable of std: for
 * std::unique_lock and std::scoped_lock, which takes several without a deadlock. The tree outlives
 * it. What mtree_lock() says holds: not recursive, and not for calls that take the lock themselves.
 */
class tree_mutex {
public:
	explicit tree_mutex(struct maple_tree &tree) noexcept : tree_(&tree)
	{
	}

	void lock() noexcept
	{
		mtree_lock(tree_);
	}

	bool try_lock() noexcept
	{
		return mtree_trylock(tree_);
	}

	void unlock() noexcept
	{
		mtree_unlock(tree_);
	}

private:
	struct maple_tree *tree_;
};

/* class tree_lock - holds the lock of a tree as long as it lives. */
class [[nodiscard]] tree_lock {
public:
	explicit tree_lock(struct maple_tree &tree) noexcept : mutex_(tree)
	{
		mutex_.lock();
	}

	tree_lock(const tree_lock &) = delete;
	tree_lock &operator=(const tree_lock &) = delete;

	~tree_lock()
	{
		mutex_.unlock();
	}

private:
	tree_mutex mutex_;
};

/*
 * class read_section - a read-side section of the calling thread, as long as it lives, for trees of
 * the default flavour of RCU. It ends in the thread in which it began. Sections may be nested.
 */
class [[nodiscard]] read_section {
public:
	read_section() noexcept
	{
		mt_read_lock();
	}

	read_section(const read_section &) = delete;
	read_section &operator=(const read_section &) = delete;

	~read_section()
	{
		mt_read_unlock();
	}
};

/*
 * entries - the ranges of @tree that have an index in @within, whole, with their entries as
 * pointers to T: for (auto [range, thing] : entries<thing>(tree)). Zero entries are among them, as
 * with mas_find(). Lock or read side, as long as the iterators are used. A loop
 * ends where @within does, whatever it, or a writer beside it, changes.
 */
template <class T>
iterator_range<range_iterator<T *>> entries(struct maple_tree &tree,
					    interval within = interval::all()) noexcept
{
	using iterator = range_iterator<T *>;
	detail::in_tree in = {&tree};

	return {iterator(in, within), iterator(in, within.last())};
}

} // namespace mapletree

#endif
