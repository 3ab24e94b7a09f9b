// SPDX-License-Identifier: MIT
//
// icl.cc - the engine of Boost's interval_map.
//
#include "../loops.h"

#include <boost/icl/closed_interval.hpp>
#include <boost/icl/interval_map.hpp>

namespace {

using Interval = boost::icl::closed_interval<unsigned long>;
// Integers instead of pointers: the library wants values that can be combined.
using Map = boost::icl::interval_map<unsigned long, unsigned long, boost::icl::partial_enricher,
				     std::less, boost::icl::inplace_plus, boost::icl::inter_section,
				     Interval>;

Map &of(void *map)
{
	return *static_cast<Map *>(map);
}

Interval interval(const range *r)
{
	return Interval(r->first, r->last);
}

unsigned long word(const void *entry)
{
	return reinterpret_cast<unsigned long>(entry);
}

void *map_create()
{
	return new Map;
}

void map_destroy(void *map)
{
	delete &of(map);
}

void *map_load(void *map, unsigned long index)
{
	auto it = of(map).find(index);

	return it == of(map).end() ? nullptr : reinterpret_cast<void *>(it->second);
}

bool map_insert(void *map, const range *r)
{
	of(map).insert(std::make_pair(interval(r), word(r->entry)));
	return true;
}

bool map_append(void *map, const range *r)
{
	of(map).insert(of(map).end(), std::make_pair(interval(r), word(r->entry)));
	return true;
}

bool map_store(void *map, const range *r)
{
	of(map).set(std::make_pair(interval(r), word(r->entry)));
	return true;
}

bool map_erase(void *map, const range *r)
{
	of(map).erase(interval(r));
	return true;
}

bool map_resize(void *map, const range *r, unsigned long last)
{
	if (last > r->last)
		of(map).set(std::make_pair(Interval(r->first, last), word(r->entry)));
	else
		of(map).erase(Interval(last + 1, r->last));
	return true;
}

template <class It, class Visit>
void visit(It it, It end, Visit visit)
{
	for (; it != end; ++it)
		visit(it->first.lower(), it->first.upper(), it->second);
}

unsigned long map_sum(void *map, bool backward)
{
	Map &m = of(map);
	unsigned long sum = 0;
	auto add = [&sum](unsigned long, unsigned long last, unsigned long entry) {
		sum += last + entry;
	};

	if (backward)
		visit(m.rbegin(), m.rend(), add);
	else
		visit(m.begin(), m.end(), add);
	return sum;
}

size_t map_list(void *map, bool backward, range *out, size_t max)
{
	Map &m = of(map);
	size_t count = 0;
	auto write = [&](unsigned long first, unsigned long last, unsigned long entry) {
		if (count < max)
			out[count] = range{first, last, reinterpret_cast<void *>(entry)};
		count++;
	};

	if (backward)
		visit(m.rbegin(), m.rend(), write);
	else
		visit(m.begin(), m.end(), write);
	return count;
}

void *map_dup(void *map)
{
	return new Map(of(map));
}

LOOPS_READ(map_load)
LOOPS_WRITE(map_insert, map_erase, map_resize)

engine make_engine()
{
	engine e = {};

	e.name = "boost ICL";
	e.most = 1000000; /* beyond, building it takes the better part of a minute */
	e.extra = true;
	e.create = map_create;
	e.destroy = map_destroy;
	e.load = map_load;
	e.insert = map_insert;
	e.append = map_append;
	e.store = map_store;
	e.erase = map_erase;
	e.resize = map_resize;
	e.sum = map_sum;
	e.list = map_list;
	e.dup = map_dup;
	e.independent = loop_independent;
	e.chained = loop_chained;
	e.brk1 = loop_brk1;
	e.brk2 = loop_brk2;
	return e;
}

} // namespace

extern "C" const engine engine_icl;
extern "C" const engine engine_icl = make_engine();
