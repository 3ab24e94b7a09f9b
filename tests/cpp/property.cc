/* SPDX-License-Identifier: MIT */
/*
 * property.cc [OPS [SEED]] - random operations on range maps of each way to hold values, compared
 * with a model after each. Prints TAP, and the seed.
 */
#include <string>

#include "model.hpp"

using mapletree::gap_options;
using mapletree::half_open;
using mapletree::interval;
using mapletree::range_map;

static std::mt19937_64 numbers;

static unsigned long below(unsigned long bound)
{
	return static_cast<unsigned long>(numbers() % bound);
}

/* An index of a small area at either end or in the middle: ranges meet, and reach both ends. */
static unsigned long some_index()
{
	unsigned long offset = below(64);

	switch (below(8)) {
	case 0:
		return ULONG_MAX - offset;
	case 1:
		return ULONG_MAX / 2 + offset;
	default:
		return offset;
	}
}

static interval some_range()
{
	unsigned long a = some_index(), b = below(3) ? a + below(12) : some_index();

	if (below(200) == 0)
		return interval::all();
	return a <= b ? interval(a, b) : interval(b, a);
}

/* Values of each kind: of few different ones, so that equal ones meet. */
template <class T> T some_value();

template <> std::string some_value()
{
	return std::string(below(2) ? "a text too long to be kept in the string itself " : "") +
	       std::to_string(below(4));
}

template <> int some_value()
{
	static const int few[] = {0, -1, INT_MIN, INT_MAX};

	return few[below(4)];
}

template <> char some_value()
{
	return static_cast<char>(below(3));
}

template <> double some_value()
{
	return static_cast<double>(below(3));
}

/* What the tree itself cannot hold, too. */
template <> const char *some_value()
{
	static const std::uintptr_t few[] = {0, 1, 2, 1030, 4094, 4096, 4098, UINTPTR_MAX, UINTPTR_MAX - 1};

	return reinterpret_cast<const char *>(few[below(9)]);
}

template <class T> static void look(const range_map<T> &map, const model<T> &right)
{
	interval range = some_range();
	unsigned long index = some_index();
	const T *expected = right.lookup(index);
	auto found = map.lookup(index);
	std::size_t count = 0;

	CHECK(bool(found) == (expected != nullptr) && map.contains(index) == bool(found));
	CHECK(!found || *found == *expected);
	CHECK((map.find(index) != map.end()) == bool(found));
	CHECK(map.overlaps(range) == right.overlaps(range));
	for (auto [whole, value] : map.overlapping(range)) {
		CHECK(whole.overlaps(range) && *right.lookup(whole.first()) == value);
		count++;
	}
	for (const auto &[first, piece] : right.ranges)
		count -= interval(first, piece.last).overlaps(range);
	CHECK(count == 0);

	auto gaps = right.gaps(range);
	auto gap = gaps.begin();

	for (interval free : map.gaps(range)) {
		CHECK(gap != gaps.end() && free == *gap);
		++gap;
	}
	CHECK(gap == gaps.end());
	CHECK(bool(map.gap_around(index)) != bool(found));

	gap_options options;

	options.within = below(3) ? some_range() : interval::all();
	options.align = 1ul << below(6);
	options.which = below(2) ? mapletree::fit::lowest : mapletree::fit::highest;
	unsigned long size = below(10) ? 1 + below(20) : ULONG_MAX - below(3);

	CHECK(map.find_gap(size, options) == right.find_gap(size, options));
}

template <class T> static void change(range_map<T> &map, model<T> &right)
{
	interval range = some_range();
	unsigned long index = some_index();
	T value = some_value<T>();

	switch (below(9)) {
	case 0:
	case 1:
	case 2:
		map.assign(range, value);
		right.assign(range, value);
		break;
	case 3:
		CHECK(map.erase(range) == right.erase(range));
		break;
	case 4: {
		bool free = !right.overlaps(range);

		CHECK(map.insert_if_free(range, value) == free);
		if (free)
			right.assign(range, value);
		break;
	}
	case 5:
		CHECK(map.assign_joined(range, value) == right.assign_joined(range, value));
		break;
	case 6: {
		gap_options options;
		unsigned long size = 1 + below(20);

		options.within = range;
		auto place = right.find_gap(size, options);

		CHECK(map.allocate(size, value, options) == place);
		if (place)
			right.assign(*place, value);
		break;
	}
	case 7: {
		unsigned long way = below(4); /* the same for all, others, only gaps, all go */
		auto compute = [&](const auto &old) -> std::optional<T> {
			if (way == 0)
				return value;
			if (way == 3)
				return std::nullopt;
			if (way == 1)
				return old ? std::nullopt : std::optional<T>(value);
			return old ? std::optional<T>(*old) : std::optional<T>(value);
		};

		map.update(range, [&](const auto &old, interval piece) {
			CHECK(range.contains(piece));
			return compute(old);
		});
		right.update(range, compute);
		break;
	}
	default: {
		auto there = map.find(index);
		const T *expected = right.lookup(index);

		CHECK((there != map.end()) == (expected != nullptr));
		if (expected) {
			interval whole = (*there).range;
			auto behind = map.erase(there);

			right.erase(whole);
			CHECK((behind == map.end()) ==
			      (right.ranges.upper_bound(whole.last()) == right.ranges.end()));
		}
	}
	}
}

template <class T> static void many(unsigned long ops, std::pmr::memory_resource *resource)
{
	range_map<T> map(resource);
	model<T> right;
	std::vector<std::pair<range_map<T>, model<T>>> copies;

	for (unsigned long i = 0; i < ops; i++) {
		change(map, right);
		look(map, right);
		same(map, right);
		if (below(50) == 0)
			copies.emplace_back(map, right);
		if (copies.size() > 3) {
			std::size_t which = below(copies.size());

			same(copies[which].first, copies[which].second);
			std::swap(map, copies[which].first);
			std::swap(right, copies[which].second);
			copies.erase(copies.begin() + static_cast<long>(below(copies.size())));
		}
		if (below(300) == 0) {
			map.clear();
			right.ranges.clear();
		}
	}
}

/* The number of blocks that are out, so that what is lost is found. */
class counting_resource : public std::pmr::memory_resource {
public:
	long blocks = 0;

private:
	void *do_allocate(std::size_t size, std::size_t align) override
	{
		blocks++;
		return ::operator new(size, std::align_val_t(align));
	}

	void do_deallocate(void *block, std::size_t, std::size_t align) override
	{
		blocks--;
		::operator delete(block, std::align_val_t(align));
	}

	bool do_is_equal(const memory_resource &other) const noexcept override
	{
		return this == &other;
	}
};

template <class T> static void both(int number, const char *name, unsigned long ops)
{
	counting_resource resource;

	many<T>(ops, nullptr);
	many<T>(ops, &resource);
	CHECK(resource.blocks == 0);
	std::printf("ok %d - maps of %s are as the model says\n", number, name);
}

int main(int argc, char **argv)
{
	unsigned long ops = argc > 1 ? std::strtoul(argv[1], nullptr, 0) : 20000;
	unsigned long seed = argc > 2 ? std::strtoul(argv[2], nullptr, 0) : std::random_device()();

	std::printf("1..5\n# %lu operations, seed %lu\n", ops, seed);
	std::fflush(stdout);
	numbers.seed(seed);
	both<int>(1, "small values", ops);
	both<std::string>(2, "values in blocks", ops);
	both<const char *>(3, "pointers", ops);
	both<char>(4, "bytes", ops);
	both<double>(5, "plain values as large as a pointer", ops);
	return 0;
}
