// SPDX-License-Identifier: MIT
//! std's BTreeMap from a range's first index to its last one and the entry.

use crate::{export, pairs, Range, Ranges};
use std::collections::BTreeMap;

type Map = BTreeMap<u64, (u64, usize)>;

impl Ranges for Map {
    fn create() -> Self {
        BTreeMap::new()
    }

    #[inline]
    fn load(&self, index: u64) -> usize {
        match self.range(..=index).next_back() {
            Some((_, &(last, entry))) if index <= last => entry,
            _ => 0,
        }
    }

    unsafe fn insert(map: *mut Self, range: Range) {
        let map = &mut *map;
        BTreeMap::insert(map, range.first, (range.last, range.entry));
    }

    unsafe fn store(map: *mut Self, range: Range) {
        let map = &mut *map;
        let mut rest = None;
        if let Some((_, tail)) = map.range_mut(..range.first).next_back() {
            if tail.0 > range.last {
                rest = Some(*tail);
            }
            if tail.0 >= range.first {
                tail.0 = range.first - 1;
            }
        }
        while let Some((&first, &tail)) = map.range(range.first..=range.last).next() {
            map.remove(&first);
            if tail.0 > range.last {
                rest = Some(tail);
            }
        }
        if let Some(tail) = rest {
            BTreeMap::insert(map, range.last + 1, tail);
        }
        BTreeMap::insert(map, range.first, (range.last, range.entry));
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
    btreemap_create,
    btreemap_destroy,
    btreemap_load,
    btreemap_insert,
    btreemap_store,
    btreemap_erase,
    btreemap_resize,
    btreemap_sum,
    btreemap_list,
    btreemap_dup,
    btreemap_independent,
    btreemap_chained
);
