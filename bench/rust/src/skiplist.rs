// SPDX-License-Identifier: MIT
//! crossbeam's SkipMap from a range's first index to its last one and the entry. Its values cannot
//! be changed, only replaced.

use crate::{export, Range, Ranges};
use crossbeam_skiplist::SkipMap;
use std::ops::Bound;

type Map = SkipMap<u64, (u64, usize)>;

impl Ranges for Map {
    fn create() -> Self {
        SkipMap::new()
    }

    #[inline]
    fn load(&self, index: u64) -> usize {
        match self.upper_bound(Bound::Included(&index)) {
            Some(found) if index <= found.value().0 => found.value().1,
            _ => 0,
        }
    }

    unsafe fn insert(map: *mut Self, range: Range) {
        let map = &*map;
        SkipMap::insert(map, range.first, (range.last, range.entry));
    }

    unsafe fn store(map: *mut Self, range: Range) {
        let map = &*map;
        let mut rest = None;
        if let Some(before) = map.upper_bound(Bound::Excluded(&range.first)) {
            let tail = *before.value();
            if tail.0 > range.last {
                rest = Some(tail);
            }
            if tail.0 >= range.first {
                SkipMap::insert(map, *before.key(), (range.first - 1, tail.1));
            }
        }
        for found in map.range(range.first..=range.last) {
            if found.value().0 > range.last {
                rest = Some(*found.value());
            }
            found.remove();
        }
        if let Some(tail) = rest {
            SkipMap::insert(map, range.last + 1, tail);
        }
        SkipMap::insert(map, range.first, (range.last, range.entry));
    }

    unsafe fn erase(map: *mut Self, range: Range) -> bool {
        let map = &*map;
        map.remove(&range.first).is_some()
    }

    unsafe fn resize(map: *mut Self, range: Range, last: u64) {
        let map = &*map;
        SkipMap::insert(map, range.first, (last, range.entry));
    }

    #[inline]
    fn visit(&self, backward: bool, mut each: impl FnMut(u64, u64, usize)) {
        let mut step = |found: crossbeam_skiplist::map::Entry<u64, (u64, usize)>| {
            each(*found.key(), found.value().0, found.value().1)
        };
        if backward {
            self.iter().rev().for_each(&mut step);
        } else {
            self.iter().for_each(&mut step);
        }
    }

    fn dup(&self) -> Self {
        self.iter().map(|found| (*found.key(), *found.value())).collect()
    }
}

export!(
    Map,
    skiplist_create,
    skiplist_destroy,
    skiplist_load,
    skiplist_insert,
    skiplist_store,
    skiplist_erase,
    skiplist_resize,
    skiplist_sum,
    skiplist_list,
    skiplist_dup,
    skiplist_independent,
    skiplist_chained
);
