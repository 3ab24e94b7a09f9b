// SPDX-License-Identifier: MIT
//! imbl's OrdMap, a persistent map, from a range's first index to its last one and the entry. A
//! copy shares all nodes with the original; what is changed afterwards is copied then.

use crate::{export, pairs, store_over, Range, Ranges};
use imbl::OrdMap;

type Map = OrdMap<u64, (u64, usize)>;

impl Ranges for Map {
    fn create() -> Self {
        OrdMap::new()
    }

    #[inline]
    fn load(&self, index: u64) -> usize {
        match self.get_prev(&index) {
            Some((_, &(last, entry))) if index <= last => entry,
            _ => 0,
        }
    }

    unsafe fn insert(map: *mut Self, range: Range) {
        let map = &mut *map;
        OrdMap::insert(map, range.first, (range.last, range.entry));
    }

    unsafe fn store(map: *mut Self, range: Range) {
        // Looked at by get_prev() alone: a mutable look would copy the path if it were shared.
        store_over!(
            range,
            |index| (*map).get_prev(&index).map(|(&first, &tail)| (first, tail)),
            |index| (*map).get_next(&index).map(|(&first, &tail)| (first, tail)),
            |first, tail| (*map).insert(first, tail),
            |first| (*map).remove(&first)
        );
    }

    unsafe fn erase(map: *mut Self, range: Range) -> bool {
        let map = &mut *map;
        map.remove(&range.first).is_some()
    }

    unsafe fn resize(map: *mut Self, range: Range, last: u64) {
        let map = &mut *map;
        if let Some(tail) = map.get_mut(&range.first) {
            tail.0 = last;
        }
    }

    #[inline]
    fn visit(&self, backward: bool, mut each: impl FnMut(u64, u64, usize)) {
        pairs!(self, backward, each);
    }

    fn dup(&self) -> Self {
        self.clone()
    }
}

export!(
    Map,
    ordmap_create,
    ordmap_destroy,
    ordmap_load,
    ordmap_insert,
    ordmap_store,
    ordmap_erase,
    ordmap_resize,
    ordmap_sum,
    ordmap_list,
    ordmap_dup,
    ordmap_independent,
    ordmap_chained
);
