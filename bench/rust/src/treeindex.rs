// SPDX-License-Identifier: MIT
//! scc's TreeIndex, from a range's last index to its first one and the entry: it iterates upwards
//! only, so the range that holds an index is the first one that ends at or above it.

use crate::{export, Range, Ranges};
use scc::ebr::Guard;
use scc::TreeIndex;

type Map = TreeIndex<u64, (u64, usize)>;

fn replace(map: &Map, last: u64, head: (u64, usize)) {
    map.remove(&last);
    let _ = map.insert(last, head);
}

impl Ranges for Map {
    fn create() -> Self {
        TreeIndex::new()
    }

    #[inline]
    fn load(&self, index: u64) -> usize {
        let guard = Guard::new();
        let found = self.range(index.., &guard).next();
        match found {
            Some((_, &(first, entry))) if first <= index => entry,
            _ => 0,
        }
    }

    unsafe fn insert(map: *mut Self, range: Range) {
        let map = &*map;
        let _ = TreeIndex::insert(map, range.last, (range.first, range.entry));
    }

    unsafe fn store(map: *mut Self, range: Range) {
        let map = &*map;
        let guard = Guard::new();
        let mut hit: Vec<(u64, (u64, usize))> = Vec::new();
        for (&last, &head) in map.range(range.first.., &guard) {
            if head.0 > range.last {
                break;
            }
            hit.push((last, head));
        }
        for &(last, head) in &hit {
            if last > range.last {
                replace(map, last, (range.last + 1, head.1));
            } else {
                map.remove(&last);
            }
            if head.0 < range.first {
                let _ = TreeIndex::insert(map, range.first - 1, head);
            }
        }
        let _ = TreeIndex::insert(map, range.last, (range.first, range.entry));
    }

    unsafe fn erase(map: *mut Self, range: Range) -> bool {
        let map = &*map;
        map.remove(&range.last)
    }

    unsafe fn resize(map: *mut Self, range: Range, last: u64) {
        let map = &*map;
        map.remove(&range.last);
        let _ = TreeIndex::insert(map, last, (range.first, range.entry));
    }

    #[inline]
    fn visit(&self, _backward: bool, mut each: impl FnMut(u64, u64, usize)) {
        let guard = Guard::new();
        self.iter(&guard).for_each(|(&last, &(first, entry))| each(first, last, entry));
    }

    fn dup(&self) -> Self {
        self.clone()
    }
}

export!(
    Map,
    treeindex_create,
    treeindex_destroy,
    treeindex_load,
    treeindex_insert,
    treeindex_store,
    treeindex_erase,
    treeindex_resize,
    treeindex_sum,
    treeindex_list,
    treeindex_dup,
    treeindex_independent,
    treeindex_chained
);
