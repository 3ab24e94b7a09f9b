/* SPDX-License-Identifier: MIT */
/*
 * exceptions.cc - every call that may throw is made to, at each allocation (of nodes, of values and
 * of what the call itself needs), each copy, each move and each comparison of a value in turn, until
 * it succeeds: after each failure the map has what it had, and nothing is lost. Prints TAP.
 */
#include <functional>
#include <new>

#include "model.hpp"

using mapletree::half_open;
using mapletree::interval;
using mapletree::range_map;

/* How many events may still happen; the next one fails. Negative: any number. */
static long left = -1;

static void event()
{
	if (left == 0) {
		left = -1; /* what cleans up is not hindered */
		throw std::bad_alloc();
	}
	if (left > 0)
		left--;
}

/* Memory for everything in the program that asks operator new. */
static long blocks;

void *operator new(std::size_t size)
{
	event();
	void *block = std::malloc(size);

	if (!block)
		throw std::bad_alloc();
	blocks++;
	return block;
}

void *operator new(std::size_t size, std::align_val_t align)
{
	std::size_t unit = static_cast<std::size_t>(align);

	event();
	void *block = std::aligned_alloc(unit, (size + unit - 1) / unit * unit);

	if (!block)
		throw std::bad_alloc();
	blocks++;
	return block;
}

void operator delete(void *block) noexcept
{
	blocks -= block != nullptr;
	std::free(block);
}

void operator delete(void *block, std::size_t) noexcept
{
	operator delete(block);
}

void operator delete(void *block, std::align_val_t) noexcept
{
	operator delete(block);
}

void operator delete(void *block, std::size_t, std::align_val_t) noexcept
{
	operator delete(block);
}

/* Brings the nodes of a map through operator new, too. */
class through_new : public std::pmr::memory_resource {
	void *do_allocate(std::size_t size, std::size_t align) override
	{
		return ::operator new(size, std::align_val_t(align));
	}

	void do_deallocate(void *block, std::size_t, std::size_t align) override
	{
		::operator delete(block, std::align_val_t(align));
	}

	bool do_is_equal(const memory_resource &other) const noexcept override
	{
		return this == &other;
	}
};

static through_new resource;

/* A value of which every copy, move and comparison may throw, and that counts itself. */
class fragile {
public:
	static long alive;

	explicit fragile(int number) : number_(number)
	{
		alive++;
	}

	fragile(const fragile &other) : number_(other.number_)
	{
		event();
		alive++;
	}

	fragile(fragile &&other) : number_(other.number_)
	{
		event();
		alive++;
	}

	fragile &operator=(const fragile &) = delete;

	~fragile()
	{
		alive--;
	}

	friend bool operator==(const fragile &a, const fragile &b)
	{
		event();
		return a.number_ == b.number_;
	}

private:
	int number_;
};

long fragile::alive;

using map_of_fragile = range_map<fragile>;

/* 60 ranges of 10 with 40 free indexes behind each: a tree of several levels. */
static map_of_fragile some_map()
{
	map_of_fragile map(&resource);

	for (unsigned long i = 0; i < 60; i++)
		map.assign(interval::sized(i * 50, 10), fragile(static_cast<int>(i)));
	return map;
}

static unsigned long tests;

/*
 * every_failure - @call on copies of @before (which share nodes with it or, if not @shared, do not)
 * until it succeeds; without a failure it changes the map, unless @reads.
 */
static void every_failure(const char *name, const map_of_fragile &before, bool shared, bool reads,
			  const std::function<void(map_of_fragile &)> &call)
{
	long allowed = 0;

	for (bool failed = true; failed; allowed++) {
		map_of_fragile map = shared ? before : map_of_fragile(before, &resource);
		long blocks_before = blocks, alive_before = fragile::alive;

		left = allowed;
		try {
			call(map);
			failed = false;
		} catch (const std::bad_alloc &) {
		}
		left = -1;
		CHECK((map == before) == (failed || reads));
		CHECK(!map.native_handle() || mt_check(map.native_handle(), nullptr));
		if (failed && map.native_handle()) {
			/* The tree of a map that had none may stay; nothing else does. */
			CHECK(fragile::alive == alive_before);
			CHECK(blocks == blocks_before || !before.native_handle());
		}
	}
	CHECK(allowed > 1);
	std::printf("ok %lu - %s%s: what fails changes nothing (%ld failures)\n", ++tests, name,
		    shared ? ", nodes shared" : "", allowed - 1);
}

static void every_call(const map_of_fragile &map, bool shared)
{
	every_failure("assign", map, shared, false,
		      [](auto &m) { m.assign({5, 1234}, fragile(7)); });
	every_failure("assign in the middle of a range", map, shared, false,
		      [](auto &m) { m.assign({503, 505}, fragile(7)); });
	every_failure("assign half open", map, shared, false,
		      [](auto &m) { m.assign(half_open(500, 506), fragile(7)); });
	every_failure("assign joined", map, shared, false,
		      [](auto &m) { m.assign_joined({510, 549}, fragile(10)); });
	every_failure("insert if free", map, shared, false,
		      [](auto &m) { CHECK(m.insert_if_free({3000, 3009}, fragile(7))); });
	every_failure("allocate", map, shared, false,
		      [](auto &m) { CHECK(m.allocate(40, fragile(7))); });
	every_failure("update", map, shared, false, [](auto &m) {
		m.update({505, 1555}, [](const fragile *old, interval) {
			return old ? std::nullopt : std::optional<fragile>(fragile(3));
		});
	});
	every_failure("update to one value", map, shared, false, [](auto &m) {
		m.update({505, 1555}, [](const fragile *, interval) {
			return std::optional<fragile>(fragile(3));
		});
	});
	every_failure("deep copy", map, shared, true,
		      [](auto &m) { map_of_fragile copy(m, &resource); });
	every_failure("snapshot", map, shared, true, [](auto &m) { map_of_fragile copy(m); });
	every_failure("copy assignment", map, shared, false, [](auto &m) {
		map_of_fragile other(&resource);
		other.assign({1, 2}, fragile(1));
		m = other;
	});
}

static void everything(const map_of_fragile &map, bool shared)
{
	every_call(map, shared);
	every_failure("erase a part of a range", map, shared, false,
		      [](auto &m) { CHECK(m.erase({503, 505}) == 1); });
	every_failure("erase many", map, shared, false,
		      [](auto &m) { CHECK(m.erase({505, 2003}) == 31); });
	/* Where nothing is shared it needs no memory. */
	every_failure("erase an iterator", map, true, false,
		      [](auto &m) { CHECK((*m.erase(m.find(505))).range.first() == 550); });
}

/* Of an empty map there is no tree either; the first store makes it. */
static void from_nothing()
{
	map_of_fragile none(&resource);

	every_failure("first assign", none, true, false,
		      [](auto &m) { m.assign(interval::all(), fragile(7)); });
	every_failure("first update", none, true, false, [](auto &m) {
		m.update({1, 5}, [](const fragile *, interval) {
			return std::optional<fragile>(fragile(3));
		});
	});
}

int main()
{
	std::printf("1..29\n");
	{
		map_of_fragile map = some_map();

		everything(map, false);
		every_call(map, true);
	}
	from_nothing();
	CHECK(fragile::alive == 0);
	{
		range_map<fragile> plain; /* values by operator new, nodes from the slab */

		for (int i = 0; i < 100; i++)
			plain.assign(interval::at(static_cast<unsigned long>(i)), fragile(i));
		CHECK(fragile::alive == 100);
		plain.assign({10, 89}, fragile(1));
		CHECK(fragile::alive == 21);
		range_map<fragile> copy = plain;

		plain.clear();
		CHECK(fragile::alive == 21);
		copy.erase({0, 50});
		CHECK(fragile::alive == 11);
	}
	CHECK(fragile::alive == 0);
	std::printf("ok %lu - every value is destroyed once, when no range of any map has it\n", ++tests);
	std::printf("ok %lu - nothing is lost: %ld blocks\n", ++tests, blocks);
	CHECK(tests == 29 && blocks == 0);
	return 0;
}
