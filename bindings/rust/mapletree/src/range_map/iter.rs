// SPDX-License-Identifier: MIT
//! Iteration over ranges and gaps.

use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::ops::{RangeBounds, RangeInclusive};

use mapletree_sys as sys;

use crate::bounds::inclusive;
use crate::cursor::Cursor;

/// The ranges of a map with their values, from both ends.
///
/// Beside writers each step returns what is there at that moment, behind the previous range; what
/// no write touches is visited once.
pub struct Iter<'g, V> {
    front: Cursor,
    back: Cursor,
    /// What is left between both ends.
    left: Option<(usize, usize)>,
    values: PhantomData<&'g V>,
}

impl<'g, V> Iter<'g, V> {
    /// # Safety
    /// The thread is in a section for `'g`, or holds the lock; and the tree's values are `V`.
    pub(super) unsafe fn new<R: RangeBounds<usize>>(tree: *mut sys::maple_tree, range: R) -> Self {
        let left = inclusive(range);
        let (first, last) = left.unwrap_or((0, 0));
        unsafe {
            Iter {
                front: Cursor::new(tree, first, first),
                back: Cursor::new(tree, last, last),
                left,
                values: PhantomData,
            }
        }
    }
}

impl<'g, V> Iterator for Iter<'g, V> {
    type Item = (RangeInclusive<usize>, &'g V);

    fn next(&mut self) -> Option<Self::Item> {
        let (_, high) = self.left?;
        let value = unsafe { (self.front.find(high) as *const V).as_ref() };
        let range = self.front.range();
        self.left = match value {
            Some(_) if *range.end() < high => Some((range.end() + 1, high)),
            _ => None,
        };
        value.map(|value| (range, value))
    }
}

impl<'g, V> DoubleEndedIterator for Iter<'g, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let (low, _) = self.left?;
        let value = unsafe { (self.back.find_rev(low) as *const V).as_ref() };
        let range = self.back.range();
        self.left = match value {
            Some(_) if *range.start() > low => Some((low, range.start() - 1)),
            _ => None,
        };
        value.map(|value| (range, value))
    }
}

impl<V> FusedIterator for Iter<'_, V> {}

/// The gaps of a map inside a range, upwards. None of them is empty.
pub struct Gaps<'g, V> {
    occupied: Iter<'g, V>,
    /// What has not been looked at.
    left: Option<(usize, usize)>,
}

impl<'g, V> Gaps<'g, V> {
    /// # Safety
    /// As for [`Iter::new`].
    pub(super) unsafe fn new<R: RangeBounds<usize>>(tree: *mut sys::maple_tree, range: R) -> Self {
        let left = inclusive(range);
        let (first, last) = left.unwrap_or((0, 0));
        Gaps { occupied: unsafe { Iter::new(tree, first..=last) }, left }
    }
}

impl<V> Iterator for Gaps<'_, V> {
    type Item = RangeInclusive<usize>;

    fn next(&mut self) -> Option<RangeInclusive<usize>> {
        loop {
            let (low, high) = self.left?;
            let range = match self.occupied.next() {
                Some((range, _)) => range,
                None => {
                    self.left = None;
                    return Some(low..=high);
                }
            };
            self.left = if *range.end() < high { Some((range.end() + 1, high)) } else { None };
            if *range.start() > low {
                return Some(low..=range.start() - 1);
            }
        }
    }
}

impl<V> FusedIterator for Gaps<'_, V> {}
