// SPDX-License-Identifier: MIT
//
// ordered.hh - the engine over any ordered C++ map from a range's first index to {last, entry},
// which is how users of std::map and absl::btree_map keep ranges.
//
#ifndef BENCH_ORDERED_HH
#define BENCH_ORDERED_HH

#include "../loops.h"

#include <iterator>

struct Tail {
	unsigned long last;
	void *entry;
};

template <class Map>
struct Ordered {
	static Map &of(void *map) { return *static_cast<Map *>(map); }
	static void *create() { return new Map; }
	static void destroy(void *map) { delete &of(map); }
	static void *dup(void *map) { return new Map(of(map)); }

	static void *load(void *map, unsigned long index)
	{
		Map &m = of(map);
		auto it = m.upper_bound(index);

		if (it == m.begin())
			return nullptr;
		--it;
		return index <= it->second.last ? it->second.entry : nullptr;
	}

	static bool insert(void *map, const range *r)
	{
		of(map).emplace(r->first, Tail{r->last, r->entry});
		return true;
	}

	static bool append(void *map, const range *r)
	{
		of(map).emplace_hint(of(map).end(), r->first, Tail{r->last, r->entry});
		return true;
	}

	static bool erase(void *map, const range *r) { return of(map).erase(r->first) == 1; }

	static bool resize(void *map, const range *r, unsigned long last)
	{
		of(map).find(r->first)->second.last = last;
		return true;
	}

	static bool store(void *map, const range *r)
	{
		Map &m = of(map);
		auto it = m.lower_bound(r->first);

		if (it != m.begin()) {
			auto before = std::prev(it);
			Tail tail = before->second;

			if (tail.last >= r->first)
				before->second.last = r->first - 1;
			if (tail.last > r->last)
				it = m.emplace_hint(it, r->last + 1, tail);
		}
		auto end = it;
		while (end != m.end() && end->first <= r->last && end->second.last <= r->last)
			++end;
		if (end != m.end() && end->first <= r->last) {
			Tail rest = end->second;

			++end;
			it = m.erase(it, end);
			it = m.emplace_hint(it, r->last + 1, rest);
		} else if (it != end && it->first == r->first && std::next(it) == end) {
			it->second = Tail{r->last, r->entry};
			return true;
		} else {
			it = m.erase(it, end);
		}
		m.emplace_hint(it, r->first, Tail{r->last, r->entry});
		return true;
	}

	template <class It, class Visit>
	static void visit(It it, It end, Visit visit)
	{
		for (; it != end; ++it)
			visit(it->first, it->second);
	}

	static unsigned long sum(void *map, bool backward)
	{
		Map &m = of(map);
		unsigned long sum = 0;
		auto add = [&sum](unsigned long, const Tail &tail) {
			sum += tail.last + reinterpret_cast<unsigned long>(tail.entry);
		};

		if (backward)
			visit(m.rbegin(), m.rend(), add);
		else
			visit(m.begin(), m.end(), add);
		return sum;
	}

	static size_t list(void *map, bool backward, range *out, size_t max)
	{
		Map &m = of(map);
		size_t count = 0;
		auto write = [&](unsigned long first, const Tail &tail) {
			if (count < max)
				out[count] = range{first, tail.last, tail.entry};
			count++;
		};

		if (backward)
			visit(m.rbegin(), m.rend(), write);
		else
			visit(m.begin(), m.end(), write);
		return count;
	}
};

// Instantiates the loops and the table for one Map.
#define ORDERED_ENGINE(symbol, label, Map) \
	using Ops = Ordered<Map>; \
	LOOPS_READ(Ops::load) \
	LOOPS_WRITE(Ops::insert, Ops::erase, Ops::resize) \
	static engine make_engine() \
	{ \
		engine e = {}; \
\
		e.name = label; \
		e.create = Ops::create; \
		e.destroy = Ops::destroy; \
		e.load = Ops::load; \
		e.insert = Ops::insert; \
		e.append = Ops::append; \
		e.store = Ops::store; \
		e.erase = Ops::erase; \
		e.resize = Ops::resize; \
		e.sum = Ops::sum; \
		e.list = Ops::list; \
		e.dup = Ops::dup; \
		e.independent = loop_independent; \
		e.chained = loop_chained; \
		e.brk1 = loop_brk1; \
		e.brk2 = loop_brk2; \
		return e; \
	} \
	extern "C" const engine symbol = make_engine();

#endif
