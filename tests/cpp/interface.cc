/* SPDX-License-Identifier: MIT */
/*
 * interface.cc - what the C++ range map promises that a model of its content does not show: types,
 * bounds, iterators that go on after changes, moves and copies, threads. Prints TAP.
 */
#include <algorithm>
#include <atomic>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include <mapletree/tree_guards.hpp>

#include "model.hpp"

#if __cplusplus >= 202002L
#include <ranges>
#endif

using mapletree::half_open;
using mapletree::interval;
using mapletree::range_map;

enum class colour : unsigned char { red, green };

struct alignas(64) line {
	int number;
};

/* Trivially copyable and small, and yet not to be copied. */
struct token {
	int number;

	explicit token(int n) : number(n)
	{
	}

	token(token &&) = default;
	token &operator=(token &&) = default;

	friend bool operator==(const token &a, const token &b)
	{
		return a.number == b.number;
	}
};

/* ---- types -------------------------------------------------------------------------------- */

using names = range_map<std::string>;

static_assert(std::is_nothrow_default_constructible_v<names>);
static_assert(std::is_nothrow_move_constructible_v<names>);
static_assert(std::is_nothrow_move_assignable_v<names>);
static_assert(std::is_nothrow_swappable_v<names>);
static_assert(std::is_same_v<decltype(*names().begin()), mapletree::range_element<std::string>>);
static_assert(std::is_same_v<decltype(names().begin()->value), const std::string &>);
static_assert(std::is_same_v<decltype(range_map<int *>().begin()->value), int *>);
static_assert(std::is_same_v<names::found, const std::string *>);
static_assert(std::is_same_v<range_map<int *>::found, std::optional<int *>>);
static_assert(interval::all().contains(ULONG_MAX) && interval::from(5) == interval(5, ULONG_MAX));
static_assert(half_open(3, 3).empty() && half_open(3, 5).closed() == interval(3, 4));
static_assert(half_open(interval(3, 4)) == half_open(3, 5) && interval::sized(3, 2) == interval(3, 4));
#if __cplusplus >= 202002L
static_assert(std::bidirectional_iterator<names::iterator>);
static_assert(std::forward_iterator<mapletree::gap_iterator>);
static_assert(std::ranges::bidirectional_range<names>);
#endif

/* ---- tests --------------------------------------------------------------------------------- */

template <class E, class F> static bool throws(F call)
{
	try {
		call();
	} catch (const E &) {
		return true;
	}
	return false;
}

static void bounds_that_cannot_be_are_refused()
{
	CHECK(throws<std::invalid_argument>([] { (void)interval(2, 1); }));
	CHECK(throws<std::invalid_argument>([] { (void)half_open(2, 1); }));
	CHECK(throws<std::invalid_argument>([] { (void)interval::sized(2, 0); }));
	CHECK(throws<std::overflow_error>([] { (void)interval::sized(2, ULONG_MAX); }));
	CHECK(throws<std::overflow_error>([] { (void)interval::all().size(); }));
	CHECK(throws<std::overflow_error>([] { (void)half_open(interval::all()); }));
	CHECK(throws<std::invalid_argument>([] { (void)half_open(2, 2).closed(); }));
	CHECK(interval::sized(2, ULONG_MAX - 1) == interval(2, ULONG_MAX));
	CHECK(interval(0, ULONG_MAX - 1).size() == ULONG_MAX);
}

static void all_indexes_can_be_one_range()
{
	names map;

	map.assign(interval::all(), "all");
	CHECK(map.lookup(0) && *map.lookup(ULONG_MAX) == "all" && map.count_ranges() == 1);
	CHECK(map.gaps().empty() && !map.find_gap(1) && !map.gap_around(7));
	map.erase(interval::at(ULONG_MAX));
	CHECK(map.begin()->range == interval(0, ULONG_MAX - 1));
	map.assign(interval::at(ULONG_MAX), "last");
	CHECK(std::next(map.begin()) == std::prev(map.end()));
	map.erase(interval::all());
	CHECK(map.empty() && *map.gap_around(7) == interval::all());
	CHECK(map.allocate(ULONG_MAX, "most") == interval(0, ULONG_MAX - 1));
	CHECK(map.find_gap(1) == interval::at(ULONG_MAX));
}

static void an_empty_half_open_range_changes_nothing()
{
	names map{{{5, 9}, "five"}};

	map.assign(half_open(7, 7), "seven");
	CHECK(map.insert_if_free(half_open(7, 7), "seven") && map.erase(half_open(7, 7)) == 0);
	map.update(half_open(7, 7), [](auto, interval) { return std::optional<std::string>(); });
	CHECK(!map.overlaps(half_open(7, 7)) && map.overlapping(half_open(7, 7)).empty());
	CHECK(map.gaps(half_open(1, 1)).empty());
	CHECK((map == names{{{5, 9}, "five"}}));
	map.assign(half_open(7, 10), "seven");
	CHECK(map.at(6) == "five" && map.at(9) == "seven" && !map.contains(10));
	CHECK(throws<std::out_of_range>([&] { (void)map.at(10); }));
}

static void what_a_search_for_a_gap_cannot_mean_is_refused()
{
	range_map<int> map;
	mapletree::gap_options odd, tight;

	odd.align = 3;
	tight.within = {10, 19};
	CHECK(throws<std::invalid_argument>([&] { (void)map.find_gap(0); }));
	CHECK(throws<std::invalid_argument>([&] { (void)map.find_gap(4, odd); }));
	CHECK(throws<std::invalid_argument>([&] { (void)map.allocate(0, 1); }));
	CHECK(!map.find_gap(11, tight) && !map.allocate(11, 1, tight) && map.empty());
	tight.which = mapletree::fit::highest;
	CHECK(map.allocate(3, 1, tight) == interval(17, 19));
}

static void values_of_every_kind_are_kept()
{
	range_map<colour> colours{{{0, 9}, colour::red}, {{5, 6}, colour::green}};
	range_map<line> lines;
	range_map<void (*)()> functions;
	int number = 7;
	range_map<int *> pointers{{{0, 4}, &number}, {{3, 3}, nullptr}};

	CHECK(colours.at(4) == colour::red && colours.at(5) == colour::green);
	lines.assign({1, 2}, line{3});
	CHECK(reinterpret_cast<std::uintptr_t>(lines.lookup(1)) % 64 == 0 && lines.at(2).number == 3);
	functions.assign({1, 2}, all_indexes_can_be_one_range);
	CHECK(functions.at(1) == all_indexes_can_be_one_range);
	*pointers.at(0) = 8;
	CHECK(number == 8 && pointers.contains(3) && pointers.at(3) == nullptr);
	CHECK(pointers.lookup(3) && !pointers.lookup(5));
}

static void values_that_can_only_move_are_cut_without_a_copy()
{
	range_map<std::unique_ptr<int>> map;

	map.assign({0, 99}, std::make_unique<int>(1));
	map.assign({50, 59}, std::make_unique<int>(2));
	CHECK(map.count_ranges() == 3 && map.at(0).get() == map.at(99).get() && *map.at(55) == 2);
	*map.at(0) = 5;
	CHECK(*map.at(99) == 5);

	auto copy = map;

	map.clear();
	CHECK(*copy.at(99) == 5 && *copy.at(50) == 2);
}

/* Found from outside: at() and erase_at() did not compile. */
static void small_values_that_can_only_move_are_not_copied()
{
	range_map<token> map;
	std::vector<const token *> found;
	const unsigned long indexes[] = {0, 50, 100};

	static_assert(std::is_trivially_copyable_v<token> && !std::is_copy_constructible_v<token>);
	static_assert(std::is_same_v<decltype(map.at(0)), const token &>);
	map.assign({0, 99}, token(1));
	map.assign({50, 59}, token(2));
	CHECK(&map.at(0) == &map.at(99) && map.at(55).number == 2 && map.lookup(55)->number == 2);
	map.lookup_many(indexes, 3, std::back_inserter(found));
	CHECK(found[0]->number == 1 && found[1]->number == 2 && !found[2]);
	for (auto [range, value] : map)
		CHECK(value.number == (range.contains(50) ? 2 : 1));
	CHECK(map.erase_at(55) && !map.erase_at(55) && !map.contains(50));
	map.update({0, 59}, [](const token *old, interval) {
		return std::optional<token>(std::in_place, old ? old->number + 5 : 3);
	});
	CHECK(map.at(49).number == 6 && map.at(59).number == 3 && map.at(60).number == 1);
	CHECK(map.erase(map.find(60)) == map.end() && map.count_ranges() == 2);
}

static void iterators_go_on_after_changes()
{
	range_map<int> map;

	for (unsigned long i = 0; i < 1000; i++)
		map.assign({i * 10, i * 10 + 4}, static_cast<int>(i));
	unsigned long seen = 0;

	for (auto it = map.begin(); it != map.end(); seen++) {
		unsigned long first = it->range.first();

		map.assign(interval::at(first + 5), -1); /* the next one */
		++it;
		CHECK(it->range == interval::at(first + 5) && it->value == -1);
		it = map.erase(it);
		map.erase(interval::at(first));
		CHECK(it == map.end() || it->range.first() == first + 10);
	}
	CHECK(seen == 1000 && map.count_ranges() == 1000);
	auto end = map.end();

	CHECK((--end)->range == interval(9991, 9994) && (--end)->range == interval(9981, 9984));
	CHECK(std::prev(map.end(), 1000) == map.begin() && map.rbegin()->value == 999);
	CHECK(std::count_if(map.begin(), map.end(), [](auto e) { return e.value % 2 != 0; }) == 500);
}

/* Found from outside: clear() freed the tree under them. */
static void iterators_may_be_moved_after_clear()
{
	for (unsigned long count : {1ul, 2ul, 1000ul}) {
		names map;

		for (unsigned long i = 0; i < count; i++)
			map.assign({i * 10, i * 10 + 4}, "a");
		auto first = map.begin(), last = std::prev(map.end()), end = map.end();
		names copy = map;

		map.clear();
		CHECK(map.empty() && copy.count_ranges() == count);
		CHECK(++first == map.end() && ++last == map.end());

		auto again = copy.begin(), back = again;

		copy.clear();
		copy.assign({20, 29}, "b");
		CHECK((++again)->range == interval(20, 29) && again->value == "b");
		CHECK(++again == copy.end());
		copy.clear();
		copy.assign({5, 9}, "c");
		CHECK((++back)->range == interval(5, 9));
		map.assign({30, 39}, "d");
		CHECK((--end)->range == interval(30, 39));
	}
}

/* Found from outside: the end was the range behind, and a loop went past it for ever. */
static void a_loop_over_a_part_ends_with_it_whatever_becomes_of_what_is_behind()
{
	const names tens{{{0, 9}, "a"}, {{10, 19}, "b"}, {{20, 29}, "c"}, {{40, 49}, "d"}};
	using change = void (*)(names &);
	const struct {
		change apply;
		unsigned long steps;
	} changes[] = {
		{[](names &) {}, 2},
		{[](names &map) { map.erase({20, 29}); }, 2},
		{[](names &map) { map.erase({10, 29}); }, 1},
		{[](names &map) { map.assign({20, 29}, "over"); }, 2},
		{[](names &map) { map.assign({18, 60}, "over"); }, 2}, /* cuts [10, 19] */
		{[](names &map) { map.assign({16, 60}, "over"); }, 2},
		{[](names &map) { map.assign({12, 24}, "over"); }, 3}, /* cuts what is behind, too */
		{[](names &map) { map.assign({22, 24}, "cut"); }, 2},
		{[](names &map) { map.clear(); }, 1},
	};

	for (const auto &[apply, steps] : changes) {
		names map = tens;
		unsigned long count = 0;

		for (auto element : map.overlapping({5, 15})) {
			CHECK(element.range.first() <= 15 && element.range.last() >= 5);
			CHECK(count < steps);
			if (count++ == 0)
				apply(map);
		}
		CHECK(count == steps);
	}
}

static void the_end_of_a_part_is_an_end_like_any_other()
{
	names map{{{0, 9}, "a"}, {{10, 19}, "b"}, {{20, 29}, "c"}, {{ULONG_MAX - 9, ULONG_MAX}, "z"}};
	auto part = map.overlapping({5, 15});
	auto end = part.end();

	CHECK(std::distance(part.begin(), end) == 2 && part.begin() == map.begin());
	CHECK(std::next(part.begin(), 2) == map.end() && end == map.end());
	CHECK((--end)->value == "b" && (--end)->value == "a" && end == part.begin());
	map.erase({12, 29}); /* what the end stands at is looked for when it is moved */
	end = part.end();
	CHECK((--end)->range == interval(10, 11));
	auto last = map.overlapping(interval::at(ULONG_MAX));

	CHECK(std::next(last.begin()) == last.end() && last.begin()->value == "z");
	CHECK(map.overlapping({12, 99}).empty() && names().overlapping({1, 2}).empty());
	CHECK(map.erase(part.begin()) != map.end() && map.erase(map.begin())->value == "z");
	map.assign({5, 9}, "a");
	CHECK(map.erase(map.overlapping({5, 15}).begin()) == map.end() && !map.empty());
}

/* count_beside_a_store - steps of a loop over a part of a tree, whose first one stores, as a writer may. */
static unsigned long count_beside_a_store(struct maple_tree &tree, interval range, int *entry)
{
	mapletree::read_section section;
	unsigned long count = 0;

	for (auto [found, number] : mapletree::entries<int>(tree, {5, 15})) {
		CHECK(number && found.first() <= 15 && found.last() >= 5);
		if (count++ == 0)
			CHECK(!mtree_store_range(&tree, range.first(), range.last(), entry,
						 GFP_KERNEL));
	}
	return count;
}

static void a_loop_over_a_part_of_a_tree_ends_with_it()
{
	static int number;

	for (unsigned int flags : {0u, MT_FLAGS_USE_RCU})
		for (unsigned long from : {22ul, 20ul, 18ul, 12ul})
			for (int *entry : {static_cast<int *>(nullptr), &number}) {
				struct maple_tree tree = MTREE_INIT(tree, flags);

				for (unsigned long i = 0; i < 5; i++)
					CHECK(!mtree_store_range(&tree, i * 10, i * 10 + 9, &number,
								 GFP_KERNEL));
				CHECK(count_beside_a_store(tree, {from, 29}, entry) ==
				      (from == 12 && entry ? 3 : 2));
				mtree_destroy(&tree);
			}
}

static void iterators_go_with_the_content()
{
	names a{{{1, 2}, "one"}, {{5, 6}, "two"}}, b{{{3, 4}, "three"}, {{7, 8}, "four"}};
	auto of_a = a.begin(), of_b = b.begin();

	swap(a, b);
	CHECK((++of_a)->value == "two" && ++of_a == b.end());
	CHECK((++of_b)->value == "four");
	b = std::move(a);
	CHECK(++of_b == b.end() && (--of_b)->value == "four");

	names c = std::move(b);

	CHECK((--of_b)->value == "three" && of_b == c.begin());
}

static void moves_take_the_content_and_copies_are_apart()
{
	names a{{{1, 2}, "one"}}, b;
	auto it = a.begin();
	const std::string *place = a.lookup(1);

	b = std::move(a);
	CHECK(a.empty() && b.lookup(1) == place && it->range == interval(1, 2)); /* NOLINT */
	a.assign({7, 8}, "seven");
	swap(a, b);
	CHECK(a.lookup(1) == place && b.contains(7));

	names c = a;

	CHECK(c == a && c.lookup(1) == place);
	c.assign({2, 3}, "two");
	CHECK(a.at(2) == "one" && c.at(2) == "two" && c != a);
	const names &same = a;

	a = same;
	CHECK(a.lookup(1) == place);
	names deep(a, nullptr);

	CHECK(deep == a && deep.lookup(1) != place);
	a = names();
	CHECK(a.empty() && a.begin() == a.end() && a.erase(interval::all()) == 0);
}

static void many_lookups_at_once_are_as_one_by_one()
{
	range_map<int> map, none;
	std::vector<unsigned long> indexes;
	std::vector<range_map<int>::found> found;

	for (unsigned long i = 0; i < 500; i++) {
		map.assign({i * 10, i * 10 + 4}, static_cast<int>(i));
		indexes.push_back(i * 7919 % 5000);
	}
	map.lookup_many(indexes.data(), indexes.size(), std::back_inserter(found));
	CHECK(found.size() == 500);
	for (std::size_t i = 0; i < indexes.size(); i++)
		CHECK(found[i] == map.lookup(indexes[i]));
	none.lookup_many(indexes.data(), indexes.size(), found.begin());
	CHECK(std::all_of(found.begin(), found.end(), [](auto &f) { return !f; }));
}

/* Under ThreadSanitizer this says more. */
static void threads_may_read_and_copy_one_map_and_change_their_copies()
{
	names map;
	std::vector<std::thread> threads;

	for (unsigned long i = 0; i < 200; i++)
		map.assign({i * 10, i * 10 + 4}, std::to_string(i));
	const names &shared = map;

	for (unsigned long t = 0; t < 4; t++)
		threads.emplace_back([&shared, t] {
			for (int round = 0; round < 20; round++) {
				names mine = shared;

				for (unsigned long i = t; i < 200; i += 4)
					mine.assign({i * 10 + 2, i * 10 + 6}, "cut");
				for (auto [range, value] : shared)
					CHECK(value == std::to_string(range.first() / 10));
				CHECK(mine.count_ranges() == 250 && shared.at(1004) == "100");
			}
		});
	for (std::thread &thread : threads)
		thread.join();
	CHECK(map.count_ranges() == 200);
}

static void locks_end_with_their_scope()
{
	struct maple_tree a = MTREE_INIT(a, 0), b = MTREE_INIT(b, 0);

	{
		mapletree::tree_lock lock(a);

		CHECK(!mtree_trylock(&a));
	}
	mapletree::tree_mutex first(a), second(b);
	{
		std::scoped_lock both(first, second);

		CHECK(!mtree_trylock(&a) && !mtree_trylock(&b));
	}
	std::unique_lock<mapletree::tree_mutex> lock(first, std::try_to_lock);

	CHECK(lock.owns_lock() && !first.try_lock() && second.try_lock());
	second.unlock();
}

/* Every range is there at every moment, whole, with one of the entries that were stored. */
static void entries_have_their_type_and_are_read_beside_a_writer()
{
	static const int numbers[] = {0, 1, 2, 3};
	struct maple_tree tree = MTREE_INIT(tree, MT_FLAGS_USE_RCU);
	std::atomic<bool> done{false};
	unsigned long seen = 0;

	for (unsigned long i = 0; i < 400; i++)
		CHECK(!mtree_store_range(&tree, i * 10, i * 10 + 5,
					 const_cast<int *>(&numbers[i % 4]), GFP_KERNEL));
	std::thread writer([&] {
		for (unsigned long i = 0; i < 20000; i++) {
			mapletree::tree_lock lock(tree);
			MA_STATE(mas, &tree, i % 400 * 10, i % 400 * 10 + 5);

			CHECK(!mas_store_gfp(&mas, const_cast<int *>(&numbers[i / 400 % 4]),
					     GFP_KERNEL));
		}
		done = true;
	});

	do {
		mapletree::read_section section;
		unsigned long count = 0;

		for (auto [range, number] : mapletree::entries<const int>(tree, {5, 3990})) {
			static_assert(std::is_same_v<decltype(number), const int *>);
			CHECK(number >= numbers && number < numbers + 4);
			CHECK(range.size() == 6 && range.first() % 10 == 0);
			count++;
		}
		CHECK(count == 400);
		seen++;
	} while (!done);
	writer.join();
	CHECK(seen > 0);
	mtree_destroy(&tree);
}

int main()
{
	static const struct {
		void (*run)();
		const char *name;
	} tests[] = {
#define TEST(name) {name, #name}
		TEST(bounds_that_cannot_be_are_refused),
		TEST(all_indexes_can_be_one_range),
		TEST(an_empty_half_open_range_changes_nothing),
		TEST(what_a_search_for_a_gap_cannot_mean_is_refused),
		TEST(values_of_every_kind_are_kept),
		TEST(values_that_can_only_move_are_cut_without_a_copy),
		TEST(small_values_that_can_only_move_are_not_copied),
		TEST(iterators_go_on_after_changes),
		TEST(iterators_may_be_moved_after_clear),
		TEST(a_loop_over_a_part_ends_with_it_whatever_becomes_of_what_is_behind),
		TEST(the_end_of_a_part_is_an_end_like_any_other),
		TEST(a_loop_over_a_part_of_a_tree_ends_with_it),
		TEST(iterators_go_with_the_content),
		TEST(moves_take_the_content_and_copies_are_apart),
		TEST(many_lookups_at_once_are_as_one_by_one),
		TEST(threads_may_read_and_copy_one_map_and_change_their_copies),
		TEST(locks_end_with_their_scope),
		TEST(entries_have_their_type_and_are_read_beside_a_writer),
	};
	int number = 0;

	std::printf("1..%zu\n", std::size(tests));
	for (const auto &test : tests) {
		test.run();
		std::printf("ok %d - %s\n", ++number, test.name);
	}
	return 0;
}
