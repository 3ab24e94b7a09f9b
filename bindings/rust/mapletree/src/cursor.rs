// SPDX-License-Identifier: MIT
//! A cursor of the library's, by value: it may be moved, and owns nothing as long as nothing is
//! reserved through it.

use std::mem::MaybeUninit;
use std::ops::RangeInclusive;
use std::os::raw::{c_int, c_ulong, c_void};

use mapletree_sys as sys;

pub(crate) struct Cursor(sys::ma_state);

/// The methods are to be called while the tree's lock is held or, if they only read a tree in RCU
/// mode, while the thread is in the one section in which the cursor was made.
impl Cursor {
    /// # Safety
    /// The tree lives as long as the cursor is used.
    pub(crate) unsafe fn new(tree: *mut sys::maple_tree, first: usize, last: usize) -> Cursor {
        let mut mas = MaybeUninit::uninit();
        unsafe {
            sys::MA_STATE(mas.as_mut_ptr(), tree, first as c_ulong, last as c_ulong);
            Cursor(mas.assume_init())
        }
    }

    /// The range that the last call has found or written.
    pub(crate) fn range(&self) -> RangeInclusive<usize> {
        self.0.index as usize..=self.0.last as usize
    }

    /// # Safety
    /// As for all: see above.
    pub(crate) unsafe fn walk(&mut self) -> *mut c_void {
        unsafe { sys::mas_walk(&mut self.0) }
    }

    /// # Safety
    /// As for all: see above.
    pub(crate) unsafe fn find(&mut self, max: usize) -> *mut c_void {
        unsafe { sys::mas_find(&mut self.0, max as c_ulong) }
    }

    /// # Safety
    /// As for all: see above.
    pub(crate) unsafe fn find_rev(&mut self, min: usize) -> *mut c_void {
        unsafe { sys::mas_find_rev(&mut self.0, min as c_ulong) }
    }

    /// # Safety
    /// The lock is held, and `entry` is what the tree's values are.
    pub(crate) unsafe fn store(&mut self, entry: *mut c_void) -> c_int {
        unsafe { sys::mas_store_gfp(&mut self.0, entry, sys::GFP_KERNEL) }
    }

    /// Erases the range at the index. Null if there is none; or no memory: see `failed`.
    ///
    /// # Safety
    /// The lock is held.
    pub(crate) unsafe fn erase(&mut self) -> *mut c_void {
        unsafe { sys::mas_erase(&mut self.0) }
    }

    pub(crate) fn failed(&self) -> bool {
        self.0.status == sys::ma_error
    }
}
