// SPDX-License-Identifier: MIT
//! Maps of ranges on libmapletree, an RCU-safe B-tree of ranges.
//!
//! [`RangeMap`] maps the indexes `0 ..= usize::MAX` to values, in ranges. It is shared by reference:
//! readers look up and iterate without locks, beside one writer at a time. Storing over what is
//! there cuts it; a value over several pieces is one value.
//!
//! ```
//! use mapletree::RangeMap;
//!
//! let map = RangeMap::new();
//! map.insert(0x1000..0x5000, "file");
//! map.insert(0x2000..0x3000, "heap"); // cuts what is there
//!
//! let guard = map.read(); // no lock: writers go on
//! assert_eq!(guard.get(0x2fff), Some(&"heap"));
//! assert_eq!(guard.get(0x3000), Some(&"file"));
//! let pieces: Vec<_> = guard.iter().map(|(range, _)| range).collect();
//! assert_eq!(pieces, [0x1000..=0x1fff, 0x2000..=0x2fff, 0x3000..=0x4fff]);
//! let free: Vec<_> = guard.gaps(0..0x8000).collect();
//! assert_eq!(free, [0..=0xfff, 0x5000..=0x7fff]);
//! ```
//!
//! [`MapleTree`] and [`MapleTreeAlloc`] are like the types of these names in the Linux kernel's
//! Rust: every access takes the tree's lock, values are owned by one range and are never cut.
//!
//! # What holds for all of them
//!
//! * Ranges are given as any [`RangeBounds<usize>`](std::ops::RangeBounds), and returned as
//!   [`RangeInclusive`](std::ops::RangeInclusive), since a range may end at `usize::MAX`.
//! * An empty or reversed range is a mistake: methods panic, or return an error where they return
//!   one anyway.
//! * Without memory the collections of the standard library end the process. So do the methods
//!   here, by [`handle_alloc_error`](std::alloc::handle_alloc_error), but for those whose names
//!   begin with `try_`.
//! * A lock is held while a method writes, and while a [`Lock`] or a [`MapleGuard`] exists. It is
//!   not recursive: writing to a map whose lock the thread holds already, also from a closure or
//!   from a `PartialEq` that the map is calling, waits for ever. `Drop` of values may use any map.
//! * A panic of `PartialEq` or of a closure leaves the map intact and the lock free. One in a
//!   value's `Drop` goes to the panic hook, and no further.
//!
//! # Threads and processes
//!
//! Values that a [`RangeMap`] no longer holds are dropped when no reader can see them any more: by
//! another thread, after a grace period, which lasts at least as long as the oldest [`Guard`].
//! [`synchronize`] waits for that. What still waits when the process ends is not dropped.
//!
//! A [`Guard`] that is leaked ([`std::mem::forget`]) keeps all values that are removed from then
//! on from being dropped, in all maps, also after its thread has ended.
//!
//! Around `fork()` in a process whose child uses maps: [`mt_before_fork`](mapletree_sys::mt_before_fork)
//! and its two counterparts.
#![warn(missing_docs)]
#![deny(unsafe_op_in_unsafe_fn)]

mod bounds;
mod cursor;
mod error;
mod range_map;
mod section;
mod tree;

pub use error::{AllocError, AllocErrorKind, InsertError, InsertErrorKind};
pub use range_map::{
    Area, Entry, Fit, Found, Gaps, Guard, Iter, Lock, OccupiedEntry, RangeMap, VacantEntry,
};
pub use section::{register_thread, synchronize, RegisterError};
pub use tree::{MaState, MapleGuard, MapleTree, MapleTreeAlloc};

/// The examples of the page that registries show run, too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
