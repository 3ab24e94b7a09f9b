// SPDX-License-Identifier: MIT
//! What is at an index, to be changed while the lock is held.

use std::ops::{RangeBounds, RangeInclusive};
use std::ptr::null_mut;
use std::sync::Arc;

use super::{entry_of, share, Found, Lock};
use crate::bounds::nonempty;
use crate::error::succeed;

/// What is at an index: see [`Lock::entry`].
pub enum Entry<'l, 'm, V: Send + Sync + 'static> {
    /// A range with its value.
    Occupied(OccupiedEntry<'l, 'm, V>),
    /// A gap.
    Vacant(VacantEntry<'l, 'm, V>),
}

/// A range with its value.
pub struct OccupiedEntry<'l, 'm, V: Send + Sync + 'static> {
    lock: &'l mut Lock<'m, V>,
    range: RangeInclusive<usize>,
    /// In the tree as long as the lock is held and nothing is changed through it.
    value: *const V,
}

/// A gap.
pub struct VacantEntry<'l, 'm, V: Send + Sync + 'static> {
    lock: &'l mut Lock<'m, V>,
    gap: RangeInclusive<usize>,
}

impl<'l, 'm, V: Send + Sync + 'static> Entry<'l, 'm, V> {
    pub(super) fn new(lock: &'l mut Lock<'m, V>, index: usize) -> Self {
        match lock.find(index) {
            Found::Value(range, value) => {
                let value: *const V = value;
                Entry::Occupied(OccupiedEntry { lock, range, value })
            }
            Found::Gap(gap) => Entry::Vacant(VacantEntry { lock, gap }),
        }
    }

    /// The range, or the gap.
    pub fn range(&self) -> RangeInclusive<usize> {
        match self {
            Entry::Occupied(entry) => entry.range(),
            Entry::Vacant(entry) => entry.gap(),
        }
    }

    /// The value; in a gap, the result of `value` is put over the whole gap first.
    pub fn or_fill_with(self, value: impl FnOnce() -> V) -> &'l V {
        match self {
            Entry::Occupied(entry) => entry.into_value(),
            Entry::Vacant(entry) => entry.fill(value()),
        }
    }

    /// The value; in a gap, the result of `value` is put over `range` first.
    ///
    /// # Panics
    ///
    /// If there is a gap, and the range is empty or not inside it.
    #[track_caller]
    pub fn or_insert_with<R: RangeBounds<usize>>(
        self,
        range: R,
        value: impl FnOnce() -> V,
    ) -> &'l V {
        match self {
            Entry::Occupied(entry) => entry.into_value(),
            Entry::Vacant(entry) => entry.insert(range, value()),
        }
    }
}

impl<'l, 'm, V: Send + Sync + 'static> OccupiedEntry<'l, 'm, V> {
    /// The whole range.
    pub fn range(&self) -> RangeInclusive<usize> {
        self.range.clone()
    }

    /// Its value.
    pub fn get(&self) -> &V {
        unsafe { &*self.value }
    }

    /// Its value, for as long as the lock is borrowed.
    pub fn into_value(self) -> &'l V {
        unsafe { &*self.value }
    }

    /// Gives the whole range another value. Returns the one that it had.
    pub fn replace(&mut self, value: V) -> Arc<V> {
        let old = self.shared();
        let value = Arc::new(value);
        let (first, last) = (*self.range.start(), *self.range.end());
        succeed(self.lock.store(first, last, entry_of(&value)));
        self.value = Arc::as_ptr(&value);
        old
    }

    /// Removes the whole range. Returns its value.
    pub fn remove(self) -> Arc<V> {
        let old = self.shared();
        succeed(self.lock.store(*self.range.start(), *self.range.end(), null_mut()));
        old
    }

    fn shared(&self) -> Arc<V> {
        unsafe { share(self.value as *mut _) }
    }
}

impl<'l, 'm, V: Send + Sync + 'static> VacantEntry<'l, 'm, V> {
    /// The whole gap; never empty.
    pub fn gap(&self) -> RangeInclusive<usize> {
        self.gap.clone()
    }

    /// Puts `value` over the whole gap.
    pub fn fill(self, value: V) -> &'l V {
        let gap = self.gap();
        self.insert(gap, value)
    }

    /// Puts `value` over `range`.
    ///
    /// # Panics
    ///
    /// If the range is empty or not inside the gap.
    #[track_caller]
    pub fn insert<R: RangeBounds<usize>>(self, range: R, value: V) -> &'l V {
        let (first, last) = nonempty(range);
        assert!(
            self.gap.contains(&first) && self.gap.contains(&last),
            "{:?} is not inside the gap {:?}",
            first..=last,
            self.gap
        );
        let value = Arc::new(value);
        succeed(self.lock.store(first, last, entry_of(&value)));
        // The tree has a reference of its own now, and nobody else may change the tree.
        unsafe { &*Arc::as_ptr(&value) }
    }
}
