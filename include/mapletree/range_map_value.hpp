/* SPDX-License-Identifier: MIT */
/*
 * range_map_value.hpp - how a value of a C++ range map is an entry of a tree. Private to
 * range_map.hpp: nothing of namespace mapletree::detail is for users.
 *
 * Three ways, chosen by the type T:
 *   T *              the pointer itself. The tree reserves NULL and a thousand values below 4096;
 *                    those are told by pointers into a table instead, so that a user may store
 *                    whatever fits into a pointer.
 *   small and plain  trivially copyable, copyable at all, and smaller than a pointer: the bytes
 *                    themselves, shifted to make room for the bit that says so (xa_mk_value()).
 *                    No memory.
 *   any other        a block on the heap that counts who refers to it: each tree, for each range.
 *                    A range that is cut is two ranges of one block; so no value is ever copied by
 *                    the map, and a value cannot be changed in its place.
 */
#ifndef MAPLETREE_RANGE_MAP_VALUE_HPP
#define MAPLETREE_RANGE_MAP_VALUE_HPP

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <memory_resource>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include <mapletree/maple_tree.h>

namespace mapletree {
namespace detail {

/* get_block, give_block - memory of @resource, or of operator new if it is nullptr. */
inline void *get_block(std::pmr::memory_resource *resource, std::size_t size, std::size_t align)
{
	return resource ? resource->allocate(size, align) :
			  ::operator new(size, std::align_val_t(align));
}

inline void give_block(std::pmr::memory_resource *resource, void *block, std::size_t size,
		       std::size_t align) noexcept
{
	if (resource)
		resource->deallocate(block, size, align);
	else
		::operator delete(block, std::align_val_t(align));
}

/* What can only move is not copied out of an entry, though its bytes could be. */
template <class T>
inline constexpr bool is_inline_value = std::is_trivially_copyable_v<T> &&
					std::is_copy_constructible_v<T> &&
					sizeof(T) < sizeof(void *) &&
					alignof(T) <= alignof(void *);

/* Stands in for the pointers below its size; one for the whole program, so it is never hidden. */
constexpr std::uintptr_t reserved_values = 4096;
__attribute__((visibility("default"))) inline constexpr char reserved_table[reserved_values] = {};

/* ---- in a block on the heap ------------------------------------------------------------- */

template <class T> struct value_box {
	template <class... Args>
	explicit value_box(std::pmr::memory_resource *from, Args &&...args)
		: users(1), resource(from), value(std::forward<Args>(args)...)
	{
	}

	std::atomic<std::size_t> users;
	std::pmr::memory_resource *resource;
	T value;
};

template <class T, class = void> struct value_codec {
	using box = value_box<T>;
	using access = const T &; /* what an element has as its value */
	using found = const T *;  /* what a lookup returns */

	static void *make(std::pmr::memory_resource *resource, T &&value)
	{
		void *block = get_block(resource, sizeof(box), alignof(box));

		try {
			return ::new (block) box(resource, std::move(value));
		} catch (...) {
			give_block(resource, block, sizeof(box), alignof(box));
			throw;
		}
	}

	static void get(void *entry) noexcept
	{
		static_cast<box *>(entry)->users.fetch_add(1, std::memory_order_relaxed);
	}

	static void put(void *entry) noexcept
	{
		box *gone = static_cast<box *>(entry);

		if (gone->users.fetch_sub(1, std::memory_order_acq_rel) != 1)
			return;
		std::pmr::memory_resource *resource = gone->resource;

		gone->~box();
		give_block(resource, gone, sizeof(box), alignof(box));
	}

	static const struct mt_entry_ops *ops() noexcept
	{
		return &counted;
	}

	static access value(void *entry) noexcept
	{
		return static_cast<box *>(entry)->value;
	}

	static found find(void *entry) noexcept
	{
		return entry ? &static_cast<box *>(entry)->value : nullptr;
	}

private:
	static constexpr struct mt_entry_ops counted = {get, put};
};

/* ---- in the entry itself ------------------------------------------------------------------ */

/* What the codecs of values without a block have in common. */
struct uncounted_codec {
	static void get(void *) noexcept
	{
	}

	static void put(void *) noexcept
	{
	}

	static const struct mt_entry_ops *ops() noexcept
	{
		return nullptr;
	}
};

template <class T>
struct value_codec<T, std::enable_if_t<is_inline_value<T> && !std::is_pointer_v<T>>>
	: uncounted_codec {
	using access = T;
	using found = std::optional<T>;

	static void *make(std::pmr::memory_resource *, T &&value) noexcept
	{
		unsigned long bits = 0;

		std::memcpy(low_bytes(bits), std::addressof(value), sizeof(T));
		return xa_mk_value(bits);
	}

	static access value(void *entry) noexcept
	{
		unsigned long bits = xa_to_value(entry);
		alignas(T) unsigned char room[sizeof(T)];

		std::memcpy(room, low_bytes(bits), sizeof(T));
		return *std::launder(reinterpret_cast<T *>(room));
	}

	static found find(void *entry) noexcept
	{
		return entry ? found(value(entry)) : found();
	}

private:
	/* The bytes that a shift to the left, by one, does not lose. */
	static unsigned char *low_bytes(unsigned long &bits) noexcept
	{
		unsigned char *bytes = reinterpret_cast<unsigned char *>(&bits);

		if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
			bytes += sizeof(bits) - sizeof(T);
		return bytes;
	}
};

template <class T> struct value_codec<T, std::enable_if_t<std::is_pointer_v<T>>> : uncounted_codec {
	using access = T;
	using found = std::optional<T>;

	static void *make(std::pmr::memory_resource *, T &&pointer) noexcept
	{
		std::uintptr_t bits = reinterpret_cast<std::uintptr_t>(pointer);

		if (bits < reserved_values)
			bits += table();
		return reinterpret_cast<void *>(bits);
	}

	static access value(void *entry) noexcept
	{
		std::uintptr_t bits = reinterpret_cast<std::uintptr_t>(entry);

		if (bits - table() < reserved_values)
			bits -= table();
		return reinterpret_cast<T>(bits);
	}

	static found find(void *entry) noexcept
	{
		return entry ? found(value(entry)) : found();
	}

private:
	static std::uintptr_t table() noexcept
	{
		return reinterpret_cast<std::uintptr_t>(&reserved_table[0]);
	}
};

/* ---- references and errors -------------------------------------------------------------- */

/* A reference to an entry that is ours, until it is dropped. */
template <class T> class entry_ref {
	using codec = value_codec<T>;

public:
	entry_ref() = default;

	explicit entry_ref(void *owned) noexcept : entry_(owned)
	{
	}

	entry_ref(entry_ref &&other) noexcept : entry_(std::exchange(other.entry_, nullptr))
	{
	}

	entry_ref &operator=(entry_ref &&other) noexcept
	{
		std::swap(entry_, other.entry_);
		return *this;
	}

	~entry_ref()
	{
		if (entry_)
			codec::put(entry_);
	}

	/* share - one more reference to @entry, which somebody holds. */
	static entry_ref share(void *entry) noexcept
	{
		if (entry)
			codec::get(entry);
		return entry_ref(entry);
	}

	void *get() const noexcept
	{
		return entry_;
	}

private:
	void *entry_ = nullptr;
};

/* Throws for the errno @error of a call that can only have lacked memory. */
inline void throw_if_failed(int error)
{
	if (error)
		throw std::bad_alloc();
}

/* ---- the memory of a tree ----------------------------------------------------------------- */

/*
 * A memory resource as the node allocator of trees: maps that share nodes share this, too, and it
 * lives as long as one of them.
 */
class node_memory {
public:
	/* create - a new one with one user, or nullptr for a @resource of nullptr. */
	static node_memory *create(std::pmr::memory_resource *resource)
	{
		if (!resource)
			return nullptr;
		return ::new (resource->allocate(sizeof(node_memory), alignof(node_memory)))
			node_memory(resource);
	}

	static node_memory *share(node_memory *memory) noexcept
	{
		if (memory)
			memory->users_.fetch_add(1, std::memory_order_relaxed);
		return memory;
	}

	static void drop(node_memory *memory) noexcept
	{
		if (!memory || memory->users_.fetch_sub(1, std::memory_order_acq_rel) != 1)
			return;
		std::pmr::memory_resource *resource = memory->resource_;

		memory->~node_memory();
		resource->deallocate(memory, sizeof(node_memory), alignof(node_memory));
	}

	static const struct mt_allocator *hooks(const node_memory *memory) noexcept
	{
		return memory ? &memory->hooks_ : nullptr;
	}

	static std::pmr::memory_resource *resource(const node_memory *memory) noexcept
	{
		return memory ? memory->resource_ : nullptr;
	}

private:
	explicit node_memory(std::pmr::memory_resource *resource) noexcept
		: users_(1), align_(0), resource_(resource), hooks_{take, give, this}
	{
	}

	/* Called by C, through which nothing may be thrown: the tree fails with -ENOMEM. */
	static void *take(void *ctx, std::size_t size, std::size_t align) noexcept
	{
		node_memory *memory = static_cast<node_memory *>(ctx);

		try {
			void *block = memory->resource_->allocate(size, align);

			memory->align_.store(align, std::memory_order_relaxed);
			return block;
		} catch (...) {
			return nullptr;
		}
	}

	static void give(void *ctx, void *block, std::size_t size) noexcept
	{
		node_memory *memory = static_cast<node_memory *>(ctx);

		memory->resource_->deallocate(block, size,
					      memory->align_.load(std::memory_order_relaxed));
	}

	std::atomic<std::size_t> users_;
	std::atomic<std::size_t> align_; /* of all blocks: they are of one size */
	std::pmr::memory_resource *resource_;
	struct mt_allocator hooks_;
};

} // namespace detail
} // namespace mapletree

#endif
