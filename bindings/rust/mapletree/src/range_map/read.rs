// SPDX-License-Identifier: MIT
//! Reading without a lock.

use std::ops::{RangeBounds, RangeInclusive};
use std::os::raw::{c_ulong, c_void};
use std::sync::Arc;

use mapletree_sys as sys;

use super::{share, Gaps, Iter, RangeMap};
use crate::cursor::Cursor;
use crate::section::Section;

/// What is at an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found<'g, V> {
    /// A range with its value.
    Value(RangeInclusive<usize>, &'g V),
    /// The whole gap around the index.
    Gap(RangeInclusive<usize>),
}

/// Reads a map without a lock: see [`RangeMap::read`].
///
/// Each method sees the map as it is at that moment, and a write whole or not at all. What it
/// returns stays valid as long as the guard, even if it is removed meanwhile. Writers do not wait
/// for guards, but what is removed is dropped only when those that were there then are gone; so do
/// not keep one for long.
///
/// A guard cannot outlive its map:
///
/// ```compile_fail,E0505
/// let map = mapletree::RangeMap::new();
/// map.insert(0..10, 5);
/// let guard = map.read();
/// drop(map);
/// guard.get(3);
/// ```
///
/// nor a value its guard:
///
/// ```compile_fail,E0505
/// let map = mapletree::RangeMap::new();
/// map.insert(0..10, 5);
/// let guard = map.read();
/// let value = guard.get(3);
/// drop(guard);
/// println!("{:?}", value);
/// ```
///
/// nor can it go to another thread:
///
/// ```compile_fail,E0277
/// let map = mapletree::RangeMap::new();
/// map.insert(0..10, 5);
/// let guard = map.read();
/// std::thread::scope(|scope| {
///     scope.spawn(move || guard.get(3).copied());
/// });
/// ```
pub struct Guard<'m, V: Send + Sync + 'static> {
    map: &'m RangeMap<V>,
    _section: Section,
}

impl<'m, V: Send + Sync + 'static> Guard<'m, V> {
    pub(super) fn new(map: &'m RangeMap<V>) -> Guard<'m, V> {
        Guard { map, _section: Section::enter() }
    }

    /// The value at `index`.
    pub fn get(&self, index: usize) -> Option<&V> {
        unsafe { (sys::mtree_load(self.map.tree(), index as c_ulong) as *const V).as_ref() }
    }

    /// The value at `index`, to be kept beyond the guard.
    pub fn get_arc(&self, index: usize) -> Option<Arc<V>> {
        let value: *const V = self.get(index)?;
        Some(unsafe { share(value as *mut c_void) })
    }

    /// What is at `index`, and how far it reaches.
    ///
    /// ```
    /// use mapletree::{Found, RangeMap};
    ///
    /// let map = RangeMap::new();
    /// map.insert(10..20, 'a');
    /// let guard = map.read();
    /// assert_eq!(guard.find(15), Found::Value(10..=19, &'a'));
    /// assert_eq!(guard.find(5), Found::Gap(0..=9));
    /// ```
    pub fn find(&self, index: usize) -> Found<'_, V> {
        unsafe { find(self.map, index) }
    }

    /// Sets each of `values` to what [`get`](Guard::get) returns for the key at its place. Much
    /// faster than one by one if the map is larger than the cache: they walk down together. Each
    /// answer is from its own moment.
    ///
    /// # Panics
    ///
    /// If there are not as many of both.
    pub fn get_many<'g>(&'g self, keys: &[usize], values: &mut [Option<&'g V>]) {
        assert_eq!(keys.len(), values.len(), "as many values as keys");
        // c_ulong is as wide as usize, and Option<&V> is a pointer that may be null.
        unsafe {
            sys::mtree_load_many(
                self.map.tree(),
                keys.as_ptr() as *const c_ulong,
                values.as_mut_ptr() as *mut *mut c_void,
                keys.len() as _,
            );
        }
    }

    /// All ranges with their values, upwards or downwards.
    pub fn iter(&self) -> Iter<'_, V> {
        self.overlapping(..)
    }

    /// The ranges that have an index in `range`, whole.
    ///
    /// ```
    /// let map: mapletree::RangeMap<_> = [(0..10, 'a'), (20..30, 'b')].into_iter().collect();
    /// let guard = map.read();
    /// assert_eq!(guard.overlapping(5..=20).next_back(), Some((20..=29, &'b')));
    /// assert_eq!(guard.overlapping(10..20).next(), None);
    /// ```
    pub fn overlapping<R: RangeBounds<usize>>(&self, range: R) -> Iter<'_, V> {
        unsafe { Iter::new(self.map.tree(), range) }
    }

    /// What is free in `range`, cut to it.
    pub fn gaps<R: RangeBounds<usize>>(&self, range: R) -> Gaps<'_, V> {
        unsafe { Gaps::new(self.map.tree(), range) }
    }
}

/// # Safety
/// The thread is in a section for `'g`, or holds the lock.
pub(super) unsafe fn find<'g, V: Send + Sync + 'static>(
    map: &'g RangeMap<V>,
    index: usize,
) -> Found<'g, V> {
    unsafe {
        let mut cursor = Cursor::new(map.tree(), index, index);
        match (cursor.walk() as *const V).as_ref() {
            Some(value) => Found::Value(cursor.range(), value),
            None => Found::Gap(cursor.range()),
        }
    }
}

impl<'g, 'm, V: Send + Sync + 'static> IntoIterator for &'g Guard<'m, V> {
    type Item = (RangeInclusive<usize>, &'g V);
    type IntoIter = Iter<'g, V>;

    fn into_iter(self) -> Iter<'g, V> {
        self.iter()
    }
}
