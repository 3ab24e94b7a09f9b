// SPDX-License-Identifier: MIT
//
// llvm.cc - the engine of LLVM's IntervalMap, with its own recycling allocator.
//
#include "../loops.h"

#include <llvm/ADT/IntervalMap.h>

using Map = llvm::IntervalMap<unsigned long, void *>;

namespace {

struct Holder {
	Map::Allocator allocator;
	Map map{allocator};
};

Map &of(void *map)
{
	return static_cast<Holder *>(map)->map;
}

void *map_create()
{
	return new Holder;
}

void map_destroy(void *map)
{
	delete static_cast<Holder *>(map);
}

void *map_load(void *map, unsigned long index)
{
	return of(map).lookup(index, nullptr);
}

bool map_insert(void *map, const range *r)
{
	of(map).insert(r->first, r->last, r->entry);
	return true;
}

bool map_erase(void *map, const range *r)
{
	of(map).find(r->first).erase();
	return true;
}

bool map_resize(void *map, const range *r, unsigned long last)
{
	of(map).find(r->first).setStop(last);
	return true;
}

bool map_store(void *map, const range *r)
{
	Map &m = of(map);
	auto it = m.find(r->first);

	if (it.valid() && it.start() < r->first) {
		unsigned long stop = it.stop();
		void *entry = it.value();

		it.setStop(r->first - 1);
		if (stop > r->last) {
			m.insert(r->last + 1, stop, entry);
			m.insert(r->first, r->last, r->entry);
			return true;
		}
		++it;
	}
	while (it.valid() && it.stop() <= r->last)
		it.erase();
	if (it.valid() && it.start() <= r->last)
		it.setStart(r->last + 1);
	it.insert(r->first, r->last, r->entry);
	return true;
}

template <class Visit>
void visit(Map &m, bool backward, Visit visit)
{
	if (!backward) {
		for (auto it = m.begin(); it.valid(); ++it)
			visit(it.start(), it.stop(), it.value());
		return;
	}
	if (m.empty())
		return;
	auto it = m.end();
	for (;;) {
		--it;
		visit(it.start(), it.stop(), it.value());
		if (it == m.begin())
			return;
	}
}

unsigned long map_sum(void *map, bool backward)
{
	unsigned long sum = 0;

	visit(of(map), backward, [&sum](unsigned long, unsigned long last, void *entry) {
		sum += last + reinterpret_cast<unsigned long>(entry);
	});
	return sum;
}

size_t map_list(void *map, bool backward, range *out, size_t max)
{
	size_t count = 0;

	visit(of(map), backward, [&](unsigned long first, unsigned long last, void *entry) {
		if (count < max)
			out[count] = range{first, last, entry};
		count++;
	});
	return count;
}

// It cannot be copied as a whole: its users insert one by one, in order, at the end.
void *map_dup(void *map)
{
	Holder *copy = new Holder;
	auto end = copy->map.end();

	for (auto it = of(map).begin(); it.valid(); ++it) {
		end.insert(it.start(), it.stop(), it.value());
		++end;
	}
	return copy;
}

LOOPS_READ(map_load)
LOOPS_WRITE(map_insert, map_erase, map_resize)

engine make_engine()
{
	engine e = {};

	e.name = "LLVM IntervalMap";
	e.create = map_create;
	e.destroy = map_destroy;
	e.load = map_load;
	e.insert = map_insert;
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

extern "C" const engine engine_llvm;
extern "C" const engine engine_llvm = make_engine();
