// SPDX-License-Identifier: MIT
//! The rangemap crate's RangeInclusiveMap.

use crate::{export, Range, Ranges};
use rangemap::RangeInclusiveMap;

type Map = RangeInclusiveMap<u64, usize>;

impl Ranges for Map {
    fn create() -> Self {
        RangeInclusiveMap::new()
    }

    #[inline]
    fn load(&self, index: u64) -> usize {
        self.get(&index).copied().unwrap_or(0)
    }

    unsafe fn insert(map: *mut Self, range: Range) {
        let map = &mut *map;
        RangeInclusiveMap::insert(map, range.first..=range.last, range.entry);
    }

    unsafe fn store(map: *mut Self, range: Range) {
        let map = &mut *map;
        RangeInclusiveMap::insert(map, range.first..=range.last, range.entry);
    }

    unsafe fn erase(map: *mut Self, range: Range) -> bool {
        let map = &mut *map;
        map.remove(range.first..=range.last);
        true
    }

    unsafe fn resize(map: *mut Self, range: Range, last: u64) {
        let map = &mut *map;
        if last > range.last {
            RangeInclusiveMap::insert(map, range.first..=last, range.entry);
        } else {
            map.remove(last + 1..=range.last);
        }
    }

    #[inline]
    fn visit(&self, backward: bool, mut each: impl FnMut(u64, u64, usize)) {
        if backward {
            self.iter().rev().for_each(|(keys, &entry)| each(*keys.start(), *keys.end(), entry));
        } else {
            self.iter().for_each(|(keys, &entry)| each(*keys.start(), *keys.end(), entry));
        }
    }

    fn dup(&self) -> Self {
        self.clone()
    }
}

export!(
    Map,
    rangemap_create,
    rangemap_destroy,
    rangemap_load,
    rangemap_insert,
    rangemap_store,
    rangemap_erase,
    rangemap_resize,
    rangemap_sum,
    rangemap_list,
    rangemap_dup,
    rangemap_independent,
    rangemap_chained
);
