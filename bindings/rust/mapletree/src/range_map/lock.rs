// SPDX-License-Identifier: MIT
//! Reading and writing with the lock held.

use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::os::raw::{c_int, c_ulong, c_void};
use std::ptr::null_mut;
use std::sync::Arc;

use mapletree_sys as sys;

use super::read::find;
use super::{entry_of, Entry, Found, Gaps, Iter, RangeMap};
use crate::bounds::nonempty;
use crate::cursor::Cursor;
use crate::error::{out_of_memory, succeed};

/// The lock of a map: see [`RangeMap::lock`]. What is read through it stays so until the lock's
/// owner changes it.
pub struct Lock<'m, V: Send + Sync + 'static> {
    map: &'m RangeMap<V>,
    /// Of this thread.
    thread: PhantomData<*mut ()>,
}

impl<'m, V: Send + Sync + 'static> Lock<'m, V> {
    pub(super) fn new(map: &'m RangeMap<V>) -> Lock<'m, V> {
        unsafe { sys::mtree_lock(map.tree()) };
        Lock { map, thread: PhantomData }
    }

    pub(super) fn tree(&self) -> *mut sys::maple_tree {
        self.map.tree()
    }

    /// The value at `index`.
    pub fn get(&self, index: usize) -> Option<&V> {
        unsafe { (sys::mtree_load(self.tree(), index as c_ulong) as *const V).as_ref() }
    }

    /// What is at `index`, and how far it reaches.
    pub fn find(&self, index: usize) -> Found<'_, V> {
        unsafe { find(self.map, index) }
    }

    /// All ranges with their values, upwards or downwards.
    pub fn iter(&self) -> Iter<'_, V> {
        self.overlapping(..)
    }

    /// The ranges that have an index in `range`, whole.
    pub fn overlapping<R: RangeBounds<usize>>(&self, range: R) -> Iter<'_, V> {
        unsafe { Iter::new(self.tree(), range) }
    }

    /// What is free in `range`, cut to it.
    pub fn gaps<R: RangeBounds<usize>>(&self, range: R) -> Gaps<'_, V> {
        unsafe { Gaps::new(self.tree(), range) }
    }

    /// [`RangeMap::insert`].
    ///
    /// # Panics
    ///
    /// If the range is empty.
    #[track_caller]
    pub fn insert<R: RangeBounds<usize>>(&mut self, range: R, value: V) {
        self.insert_arc(range, Arc::new(value));
    }

    /// [`RangeMap::insert_arc`].
    ///
    /// # Panics
    ///
    /// If the range is empty.
    #[track_caller]
    pub fn insert_arc<R: RangeBounds<usize>>(&mut self, range: R, value: Arc<V>) {
        let (first, last) = nonempty(range);
        succeed(self.store(first, last, entry_of(&value)));
    }

    /// [`RangeMap::remove`].
    ///
    /// # Panics
    ///
    /// If the range is empty.
    #[track_caller]
    pub fn remove<R: RangeBounds<usize>>(&mut self, range: R) {
        let (first, last) = nonempty(range);
        succeed(self.store(first, last, null_mut()));
    }

    /// What is at `index`, to be changed.
    ///
    /// ```
    /// use mapletree::{Entry, RangeMap};
    ///
    /// let map = RangeMap::new();
    /// let mut lock = map.lock();
    /// match lock.entry(0x1234) {
    ///     Entry::Occupied(entry) => panic!("there is {} already", entry.get()),
    ///     Entry::Vacant(entry) => entry.insert(0x1000..0x2000, "a page"),
    /// };
    /// assert_eq!(lock.entry(0x1fff).or_fill_with(|| "not called"), &"a page");
    /// ```
    pub fn entry(&mut self, index: usize) -> Entry<'_, 'm, V> {
        Entry::new(self, index)
    }

    pub(super) fn store(&mut self, first: usize, last: usize, entry: *mut c_void) -> c_int {
        unsafe { Cursor::new(self.tree(), first, last).store(entry) }
    }

    /// Erases what is at the cursor's index. Null: nothing was there.
    ///
    /// # Safety
    /// The cursor is one of this map. What is returned is valid for readers that are in a section.
    pub(super) unsafe fn erase(&mut self, cursor: &mut Cursor) -> *mut c_void {
        let entry = unsafe { cursor.erase() };
        if cursor.failed() {
            out_of_memory();
        }
        entry
    }
}

impl<V: Send + Sync + 'static> Drop for Lock<'_, V> {
    fn drop(&mut self) {
        unsafe { sys::mtree_unlock(self.tree()) };
    }
}
