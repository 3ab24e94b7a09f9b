// SPDX-License-Identifier: MIT
//! The map of ranges.
//!
//! An entry of the tree is the pointer of an `Arc`. The tree counts: it has one reference for each
//! range of a value, and gives it up when no reader can find the value there any more. So a
//! reference borrowed from a guard is valid until the guard's section ends, and an `Arc` made of it
//! meanwhile for longer.

mod entry;
mod iter;
mod lock;
mod merge;
mod read;

use std::fmt;
use std::ops::{RangeBounds, RangeInclusive};
use std::os::raw::{c_int, c_ulong, c_void};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr::{null_mut, NonNull};
use std::sync::Arc;

use mapletree_sys as sys;

use crate::bounds::{inclusive, nonempty};
use crate::cursor::Cursor;
use crate::error::{alloc_kind, insert_kind, out_of_memory, succeed};
use crate::error::{AllocError, AllocErrorKind, InsertError, InsertErrorKind};
use crate::section::{is_left, Section};

pub use entry::{Entry, OccupiedEntry, VacantEntry};
pub use iter::{Gaps, Iter};
pub use lock::Lock;
pub use read::{Found, Guard};

/// A map of ranges to values, for many readers and one writer at a time.
///
/// All methods take `&self`: share it by reference or in an [`Arc`]. What reads is in [`Guard`] (no
/// lock) and [`Lock`] (no writer meanwhile). Values are shared with readers and dropped by another
/// thread, so they are [`Send`], [`Sync`] and `'static`; they are never cloned or moved: where a
/// range is cut, its pieces have the same value, kept in an [`Arc`].
///
/// ```
/// use mapletree::RangeMap;
/// use std::sync::Arc;
///
/// let map = Arc::new(RangeMap::new());
/// let reader = std::thread::spawn({
///     let map = Arc::clone(&map);
///     move || map.read().get(150).copied()
/// });
/// map.insert(100..200, 7);
/// let seen = reader.join().unwrap();
/// assert!(seen.is_none() || seen == Some(7));
/// ```
///
/// Values that other threads may not have are refused:
///
/// ```compile_fail,E0277
/// let map = mapletree::RangeMap::new();
/// map.insert(0..10, std::rc::Rc::new(5));
/// ```
///
/// So are values that borrow from what may be gone when they are dropped:
///
/// ```compile_fail,E0597
/// let map = mapletree::RangeMap::new();
/// let text = String::from("short-lived");
/// map.insert(0..10, text.as_str());
/// ```
pub struct RangeMap<V: Send + Sync + 'static> {
    tree: NonNull<sys::maple_tree>,
    /// Those of this very map: of another instance of the generic functions the address differs.
    ops: &'static sys::mt_entry_ops,
    values: std::marker::PhantomData<Arc<V>>,
}

unsafe impl<V: Send + Sync + 'static> Send for RangeMap<V> {}
unsafe impl<V: Send + Sync + 'static> Sync for RangeMap<V> {}

/// Which of several gaps is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// The one that begins lowest.
    Lowest,
    /// The highest.
    Highest,
}

/// A search for free indexes: see [`RangeMap::alloc`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// How many.
    pub size: usize,
    /// The first is a multiple of this power of two; 1: anywhere.
    pub align: usize,
    /// Which gap.
    pub fit: Fit,
}

impl Area {
    /// The lowest `size` free indexes, wherever they begin.
    pub fn new(size: usize) -> Area {
        Area { size, align: 1, fit: Fit::Lowest }
    }

    /// The same, beginning at a multiple of `align`, a power of two.
    pub fn align(self, align: usize) -> Area {
        Area { align, ..self }
    }

    /// The same as high as possible.
    pub fn highest(self) -> Area {
        Area { fit: Fit::Highest, ..self }
    }
}

/* ---- what the tree calls: no panic may leave these ------------------------------------------ */

unsafe extern "C" fn get<V>(entry: *mut c_void) {
    unsafe { Arc::increment_strong_count(entry as *const V) };
}

unsafe extern "C" fn put<V>(entry: *mut c_void) {
    if is_left() {
        return; // somebody may have a reference for ever
    }
    let value = || drop(unsafe { Arc::from_raw(entry as *const V) });
    if let Err(panic) = catch_unwind(AssertUnwindSafe(value)) {
        // what it carries may panic when it is dropped, and so on
        let _ = catch_unwind(AssertUnwindSafe(|| drop(panic))).map_err(std::mem::forget);
    }
}

fn entry_of<V>(value: &Arc<V>) -> *mut c_void {
    Arc::as_ptr(value) as *mut c_void
}

/// One more reference to the value of an entry.
///
/// # Safety
/// The tree, or whoever else, has a reference as long as this runs.
unsafe fn share<V>(entry: *mut c_void) -> Arc<V> {
    unsafe {
        Arc::increment_strong_count(entry as *const V);
        Arc::from_raw(entry as *const V)
    }
}

/// Takes the value back out of an `Arc` that no tree has got.
fn unshare<V>(value: Arc<V>) -> V {
    match Arc::try_unwrap(value) {
        Ok(value) => value,
        Err(_) => unreachable!("a store that failed keeps no reference"),
    }
}

impl<V: Send + Sync + 'static> RangeMap<V> {
    const OPS: &'static sys::mt_entry_ops =
        &sys::mt_entry_ops { get: Some(get::<V>), put: Some(put::<V>) };

    /// An empty map.
    pub fn new() -> RangeMap<V> {
        let map = RangeMap::with_ops(Self::OPS);
        succeed(unsafe {
            // before the lock, which nobody else can want, because that is the contract
            sys::mtree_lock(map.tree());
            let set = sys::mt_set_entry_ops(map.tree(), map.ops);
            sys::mtree_unlock(map.tree());
            set
        });
        map
    }

    /// A tree of which `ops` are yet to be set.
    fn with_ops(ops: &'static sys::mt_entry_ops) -> RangeMap<V> {
        let flags = sys::MT_FLAGS_USE_RCU | sys::MT_FLAGS_ALLOC_RANGE;
        match NonNull::new(unsafe { sys::mt_new(flags) }) {
            Some(tree) => RangeMap { tree, ops, values: std::marker::PhantomData },
            None => out_of_memory(),
        }
    }

    fn tree(&self) -> *mut sys::maple_tree {
        self.tree.as_ptr()
    }

    /// Begins to read, without a lock. Values seen through the guard live as long as it does.
    pub fn read(&self) -> Guard<'_, V> {
        Guard::new(self)
    }

    /// Takes the lock: nobody else writes until the result is dropped. Readers are not disturbed.
    pub fn lock(&self) -> Lock<'_, V> {
        Lock::new(self)
    }

    /// The value at `index`, to be kept as long as one likes. [`Guard::get`] is faster.
    pub fn get(&self, index: usize) -> Option<Arc<V>> {
        self.read().get_arc(index)
    }

    /// Whether the map has no value.
    pub fn is_empty(&self) -> bool {
        unsafe { sys::mtree_empty(self.tree()) }
    }

    /* ---- store ------------------------------------------------------------------------------ */

    /// Puts `value` over `range`. What was there is replaced; what sticks out stays, with its value.
    ///
    /// # Panics
    ///
    /// If the range is empty.
    #[track_caller]
    pub fn insert<R: RangeBounds<usize>>(&self, range: R, value: V) {
        self.insert_arc(range, Arc::new(value));
    }

    /// The same with a value that is shared already: with other ranges, other maps, the caller.
    ///
    /// # Panics
    ///
    /// If the range is empty.
    #[track_caller]
    pub fn insert_arc<R: RangeBounds<usize>>(&self, range: R, value: Arc<V>) {
        let (first, last) = nonempty(range);
        succeed(self.store(first, last, &value));
    }

    /// [`insert`](RangeMap::insert) that returns its errors.
    ///
    /// # Errors
    ///
    /// [`InsertErrorKind::InvalidRequest`] or [`InsertErrorKind::AllocError`], with the value.
    pub fn try_insert<R: RangeBounds<usize>>(
        &self,
        range: R,
        value: V,
    ) -> Result<(), InsertError<V>> {
        self.checked(range, value, |first, last, value| self.store(first, last, value))
    }

    /// Puts `value` over `range` if there is nothing in it.
    ///
    /// # Errors
    ///
    /// [`InsertErrorKind::Occupied`]; or as [`try_insert`](RangeMap::try_insert).
    pub fn try_insert_vacant<R: RangeBounds<usize>>(
        &self,
        range: R,
        value: V,
    ) -> Result<(), InsertError<V>> {
        self.checked(range, value, |first, last, value| unsafe {
            let (first, last) = (first as c_ulong, last as c_ulong);
            sys::mtree_insert_range(self.tree(), first, last, entry_of(value), sys::GFP_KERNEL)
        })
    }

    fn store(&self, first: usize, last: usize, value: &Arc<V>) -> c_int {
        let (first, last) = (first as c_ulong, last as c_ulong);
        unsafe {
            sys::mtree_store_range(self.tree(), first, last, entry_of(value), sys::GFP_KERNEL)
        }
    }

    fn checked<R: RangeBounds<usize>>(
        &self,
        range: R,
        value: V,
        store: impl FnOnce(usize, usize, &Arc<V>) -> c_int,
    ) -> Result<(), InsertError<V>> {
        let (first, last) = match inclusive(range) {
            Some(bounds) => bounds,
            None => return Err(InsertError { value, cause: InsertErrorKind::InvalidRequest }),
        };
        let value = Arc::new(value);
        match store(first, last, &value) {
            0 => Ok(()),
            code => Err(InsertError { value: unshare(value), cause: insert_kind(code) }),
        }
    }

    /// Puts `value` over free indexes in `window`, chosen by `area`, and returns the first. Finding
    /// them and taking them is one step: no other writer comes between.
    ///
    /// ```
    /// use mapletree::{Area, RangeMap};
    ///
    /// let map = RangeMap::new();
    /// map.insert(0..0x1800, "taken");
    /// assert_eq!(map.alloc(Area::new(0x1000).align(0x1000), .., "first").unwrap(), 0x2000);
    /// assert_eq!(map.alloc(Area::new(16).highest(), ..0x2000, "last").unwrap(), 0x1ff0);
    /// ```
    ///
    /// # Errors
    ///
    /// With the value: no such place, no memory, or a search that makes no sense.
    pub fn alloc<R: RangeBounds<usize>>(
        &self,
        area: Area,
        window: R,
        value: V,
    ) -> Result<usize, AllocError<V>> {
        let (min, max) = match inclusive(window) {
            Some(bounds) if area.align > 0 => bounds,
            _ => return Err(AllocError { value, cause: AllocErrorKind::InvalidRequest }),
        };
        let mut search = sys::mt_area {
            min: min as c_ulong,
            max: max as c_ulong,
            size: area.size as c_ulong,
            align: area.align as c_ulong,
            fit: match area.fit {
                Fit::Lowest => sys::MT_FIT_LOWEST,
                Fit::Highest => sys::MT_FIT_HIGHEST,
            },
            start: 0,
        };
        let value = Arc::new(value);
        match unsafe {
            sys::mtree_alloc_area(self.tree(), &mut search, entry_of(&value), sys::GFP_KERNEL)
        } {
            0 => Ok(search.start as usize),
            code => Err(AllocError { value: unshare(value), cause: alloc_kind(code) }),
        }
    }

    /* ---- remove ----------------------------------------------------------------------------- */

    /// Removes what is in `range`; what sticks out stays.
    ///
    /// # Panics
    ///
    /// If the range is empty.
    #[track_caller]
    pub fn remove<R: RangeBounds<usize>>(&self, range: R) {
        let (first, last) = nonempty(range);
        let (first, last) = (first as c_ulong, last as c_ulong);
        succeed(unsafe {
            sys::mtree_store_range(self.tree(), first, last, null_mut(), sys::GFP_KERNEL)
        });
    }

    /// Removes the whole range in which `index` is, and returns it with its value.
    pub fn take(&self, index: usize) -> Option<(RangeInclusive<usize>, Arc<V>)> {
        let _section = Section::enter(); // or the value could be dropped before it is shared
        let mut lock = self.lock();
        unsafe {
            let mut cursor = Cursor::new(lock.tree(), index, index);
            let entry = lock.erase(&mut cursor);
            drop(lock);
            if entry.is_null() {
                return None;
            }
            Some((cursor.range(), share(entry)))
        }
    }

    /// Removes everything.
    pub fn clear(&self) {
        self.remove(..);
    }

    /* ---- snapshots -------------------------------------------------------------------------- */

    /// A map of its own with what this one holds at this moment. Takes the same time for ten million
    /// ranges as for ten: both maps share what neither has changed since. Values are shared too.
    ///
    /// ```
    /// let map = mapletree::RangeMap::new();
    /// map.insert(0..10, "before");
    /// let snapshot = map.snapshot();
    /// map.insert(5..10, "after");
    /// assert_eq!(snapshot.read().get(7), Some(&"before"));
    /// ```
    pub fn snapshot(&self) -> RangeMap<V> {
        let copy = RangeMap::with_ops(self.ops);
        unsafe {
            sys::mtree_lock(copy.tree());
            let set = sys::mt_set_entry_ops(copy.tree(), copy.ops);
            sys::mtree_unlock(copy.tree());
            succeed(set);
            succeed(sys::mtree_snapshot(self.tree(), copy.tree(), sys::GFP_KERNEL));
        }
        copy
    }

    /// Checks the tree's invariants, in time proportional to its size: for tests of this crate.
    ///
    /// # Errors
    ///
    /// Which one is broken.
    pub fn check(&self) -> Result<(), String> {
        let mut reason = std::ptr::null();
        let _lock = self.lock();
        unsafe {
            if sys::mt_check(self.tree(), &mut reason) {
                return Ok(());
            }
            Err(std::ffi::CStr::from_ptr(reason).to_string_lossy().into_owned())
        }
    }
}

impl<V: Send + Sync + 'static> Drop for RangeMap<V> {
    fn drop(&mut self) {
        unsafe { sys::mt_free(self.tree()) };
    }
}

impl<V: Send + Sync + 'static> Default for RangeMap<V> {
    fn default() -> RangeMap<V> {
        RangeMap::new()
    }
}

/// A [`snapshot`](RangeMap::snapshot).
impl<V: Send + Sync + 'static> Clone for RangeMap<V> {
    fn clone(&self) -> RangeMap<V> {
        self.snapshot()
    }
}

impl<V: Send + Sync + 'static + fmt::Debug> fmt::Debug for RangeMap<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.read().iter()).finish()
    }
}

impl<V: Send + Sync + 'static, R: RangeBounds<usize>> Extend<(R, V)> for RangeMap<V> {
    fn extend<I: IntoIterator<Item = (R, V)>>(&mut self, ranges: I) {
        for (range, value) in ranges {
            self.insert(range, value);
        }
    }
}

/// Of ranges that overlap, the later one covers the earlier.
impl<V: Send + Sync + 'static, R: RangeBounds<usize>> FromIterator<(R, V)> for RangeMap<V> {
    fn from_iter<I: IntoIterator<Item = (R, V)>>(ranges: I) -> RangeMap<V> {
        let mut map = RangeMap::new();
        map.extend(ranges);
        map
    }
}
