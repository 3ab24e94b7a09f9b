// SPDX-License-Identifier: MIT
//! The maps that are compared, each used as its users would use it. Maps from points hold a range's
//! first index, with its last and its value.

use std::collections::BTreeMap;
use std::sync::RwLock;

use crossbeam_skiplist::SkipMap;
use mapletree::RangeMap;

/// Ranges of `STEP / 2` indexes, one every `STEP`.
pub const STEP: usize = 64;

/// Range number `i`, half-open.
pub fn range(i: usize) -> std::ops::Range<usize> {
    i * STEP..i * STEP + STEP / 2
}

/// A map of ranges. `replace` stores over a whole range that is there.
pub trait Map: Sized {
    const NAME: &'static str;
    fn build(count: usize) -> Self;
    fn get(&self, index: usize) -> Option<u64>;
    fn sum(&self) -> u64;
    fn replace(&mut self, i: usize, value: u64);
}

/// One whose writers need no exclusive access.
pub trait Shared: Map + Sync {
    fn replace_shared(&self, i: usize, value: u64);
}

impl Map for RangeMap<u64> {
    const NAME: &'static str = "mapletree::RangeMap";

    fn build(count: usize) -> Self {
        (0..count).map(|i| (range(i), i as u64)).collect()
    }

    fn get(&self, index: usize) -> Option<u64> {
        self.read().get(index).copied()
    }

    fn sum(&self) -> u64 {
        self.read().iter().map(|(_, value)| *value).sum()
    }

    fn replace(&mut self, i: usize, value: u64) {
        self.insert(range(i), value);
    }
}

impl Shared for RangeMap<u64> {
    fn replace_shared(&self, i: usize, value: u64) {
        self.insert(range(i), value);
    }
}

impl Map for rangemap::RangeMap<usize, u64> {
    const NAME: &'static str = "rangemap";

    fn build(count: usize) -> Self {
        (0..count).map(|i| (range(i), i as u64)).collect()
    }

    fn get(&self, index: usize) -> Option<u64> {
        rangemap::RangeMap::get(self, &index).copied()
    }

    fn sum(&self) -> u64 {
        self.iter().map(|(_, value)| *value).sum()
    }

    fn replace(&mut self, i: usize, value: u64) {
        self.insert(range(i), value);
    }
}

type Tail = (usize, u64);

/// The value of the last range that begins at or below an index, if the index is in it.
fn inside(index: usize, tail: Option<Tail>) -> Option<u64> {
    tail.filter(|(last, _)| *last >= index).map(|(_, value)| value)
}

fn pair(i: usize, value: u64) -> (usize, Tail) {
    (range(i).start, (range(i).end - 1, value))
}

impl Map for BTreeMap<usize, Tail> {
    const NAME: &'static str = "BTreeMap";

    fn build(count: usize) -> Self {
        (0..count).map(|i| pair(i, i as u64)).collect()
    }

    fn get(&self, index: usize) -> Option<u64> {
        inside(index, self.range(..=index).next_back().map(|(_, tail)| *tail))
    }

    fn sum(&self) -> u64 {
        self.values().map(|(_, value)| *value).sum()
    }

    fn replace(&mut self, i: usize, value: u64) {
        let (first, tail) = pair(i, value);
        self.insert(first, tail);
    }
}

impl Map for RwLock<BTreeMap<usize, Tail>> {
    const NAME: &'static str = "RwLock<BTreeMap>";

    fn build(count: usize) -> Self {
        RwLock::new(Map::build(count))
    }

    fn get(&self, index: usize) -> Option<u64> {
        Map::get(&*self.read().unwrap(), index)
    }

    fn sum(&self) -> u64 {
        Map::sum(&*self.read().unwrap())
    }

    fn replace(&mut self, i: usize, value: u64) {
        self.replace_shared(i, value);
    }
}

impl Shared for RwLock<BTreeMap<usize, Tail>> {
    fn replace_shared(&self, i: usize, value: u64) {
        self.write().unwrap().replace(i, value);
    }
}

impl Map for SkipMap<usize, Tail> {
    const NAME: &'static str = "crossbeam-skiplist";

    fn build(count: usize) -> Self {
        (0..count).map(|i| pair(i, i as u64)).collect()
    }

    fn get(&self, index: usize) -> Option<u64> {
        let entry = self.upper_bound(std::ops::Bound::Included(&index));
        inside(index, entry.map(|entry| *entry.value()))
    }

    fn sum(&self) -> u64 {
        self.iter().map(|entry| entry.value().1).sum()
    }

    fn replace(&mut self, i: usize, value: u64) {
        self.replace_shared(i, value);
    }
}

impl Shared for SkipMap<usize, Tail> {
    fn replace_shared(&self, i: usize, value: u64) {
        let (first, tail) = pair(i, value);
        self.insert(first, tail);
    }
}

impl Map for imbl::OrdMap<usize, Tail> {
    const NAME: &'static str = "imbl::OrdMap";

    fn build(count: usize) -> Self {
        (0..count).map(|i| pair(i, i as u64)).collect()
    }

    fn get(&self, index: usize) -> Option<u64> {
        inside(index, self.get_prev(&index).map(|(_, tail)| *tail))
    }

    fn sum(&self) -> u64 {
        self.values().map(|(_, value)| *value).sum()
    }

    fn replace(&mut self, i: usize, value: u64) {
        let (first, tail) = pair(i, value);
        self.insert(first, tail);
    }
}
