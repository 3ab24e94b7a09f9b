// SPDX-License-Identifier: MIT
//! imbl's OrdMap, a persistent map, from a range's first index to its last one and the entry. A
//! copy shares all nodes with the original; what is changed afterwards is copied then.

use crate::{export, Range, Ranges};
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
        let map = &mut *map;
        let mut rest = None;
        if range.first > 0 {
            // Looked at first: a mutable look would copy the path if it were shared.
            let before = map.get_prev(&(range.first - 1)).map(|(&first, &tail)| (first, tail));
            if let Some((first, tail)) = before {
                if tail.0 > range.last {
                    rest = Some(tail);
                }
                if tail.0 >= range.first {
                    OrdMap::insert(map, first, (range.first - 1, tail.1));
                }
            }
        }
        while let Some((&first, &tail)) = map.get_next(&range.first) {
            if first > range.last {
                break;
            }
            map.remove(&first);
            if tail.0 > range.last {
                rest = Some(tail);
            }
        }
        if let Some(tail) = rest {
            OrdMap::insert(map, range.last + 1, tail);
        }
        OrdMap::insert(map, range.first, (range.last, range.entry));
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
        if backward {
            self.iter().rev().for_each(|(&first, tail)| each(first, tail.0, tail.1));
        } else {
            self.iter().for_each(|(&first, tail)| each(first, tail.0, tail.1));
        }
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
