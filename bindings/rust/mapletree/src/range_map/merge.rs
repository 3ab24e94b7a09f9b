// SPDX-License-Identifier: MIT
//! Stores that join what is equal, and a function applied to a stretch.

use std::any::Any;
use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::ops::{RangeBounds, RangeInclusive};
use std::os::raw::{c_ulong, c_void};
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::ptr::null_mut;
use std::sync::Arc;

use mapletree_sys as sys;

use super::{entry_of, RangeMap};
use crate::bounds::nonempty;
use crate::error::succeed;

type Panic = Box<dyn Any + Send>;

thread_local! {
    /// The first panic of a comparison that the library has called.
    static PANIC: Cell<Option<Panic>> = const { Cell::new(None) };
}

/// A comparison that panics finds the values different; the panic goes on when the call is over.
unsafe extern "C" fn same<V: PartialEq>(a: *const c_void, b: *const c_void) -> bool {
    let (a, b) = unsafe { (&*(a as *const V), &*(b as *const V)) };
    catch_unwind(AssertUnwindSafe(|| a == b)).unwrap_or_else(|panic| {
        let _ = PANIC.try_with(|first| first.set(Some(first.take().unwrap_or(panic))));
        false
    })
}

fn panic_goes_on() {
    if let Ok(Some(panic)) = PANIC.try_with(Cell::take) {
        resume_unwind(panic);
    }
}

type Function<'u, V> = dyn FnMut(RangeInclusive<usize>, Option<&Arc<V>>) -> Option<Arc<V>> + 'u;

/// An update that is running: its function, what the function returned, and its panic.
struct Update<'u, V> {
    function: &'u mut Function<'u, V>,
    /// The tree takes references of its own when the function has been called for all pieces.
    results: Vec<Arc<V>>,
    panic: Option<Panic>,
}

/// The result that makes the whole update fail: a reserved entry.
const REFUSED: usize = 1 << 2 | 2;

unsafe extern "C" fn piece<V>(
    old: *mut c_void,
    first: c_ulong,
    last: c_ulong,
    update: *mut c_void,
) -> *mut c_void {
    let update = unsafe { &mut *(update as *mut Update<'_, V>) };
    if update.panic.is_some() {
        return REFUSED as *mut c_void;
    }
    let result = catch_unwind(AssertUnwindSafe(|| {
        // A reference of the tree's, which is not given up here.
        let value =
            (!old.is_null()).then(|| ManuallyDrop::new(unsafe { Arc::from_raw(old as *const V) }));
        let new = (update.function)(first as usize..=last as usize, value.as_deref());
        new.map_or(null_mut(), |new| {
            let entry = entry_of(&new);
            update.results.push(new);
            entry
        })
    }));
    result.unwrap_or_else(|panic| {
        update.panic = Some(panic);
        REFUSED as *mut c_void
    })
}

impl<V: Send + Sync + 'static> RangeMap<V> {
    /// [`insert`](RangeMap::insert), and joins the range with those directly before and behind it
    /// whose values are equal.
    ///
    /// ```
    /// let map = mapletree::RangeMap::new();
    /// map.insert(0..10, "a");
    /// map.insert_merge(10..20, "a");
    /// assert_eq!(map.read().iter().next(), Some((0..=19, &"a")));
    /// ```
    ///
    /// # Panics
    ///
    /// If the range is empty; or as the comparison does, with the range stored but not joined.
    #[track_caller]
    pub fn insert_merge<R: RangeBounds<usize>>(&self, range: R, value: V)
    where
        V: PartialEq,
    {
        let (first, last) = nonempty(range);
        let value = Arc::new(value);
        succeed(unsafe {
            sys::mtree_store_merge(
                self.tree(),
                first as c_ulong,
                last as c_ulong,
                entry_of(&value),
                Some(same::<V>),
                sys::GFP_KERNEL,
            )
        });
        panic_goes_on();
    }

    /// Gives each piece of `range` what `function` returns for it, in one step. A piece is what one
    /// range, or one gap (`None`), has in common with `range`; they come in ascending order.
    /// Neighbours for which the same [`Arc`] was returned become one range.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// let map = mapletree::RangeMap::new();
    /// map.insert(0..10, 1);
    /// map.update(5..20, |_, value| value.map(|value| Arc::new(**value + 1)));
    /// let ranges: Vec<_> = map.read().iter().map(|(range, value)| (range, *value)).collect();
    /// assert_eq!(ranges, [(0..=4, 1), (5..=9, 2)]);
    /// ```
    ///
    /// The lock is held while `function` runs.
    ///
    /// # Panics
    ///
    /// If the range is empty; or as `function` does, with nothing changed.
    #[track_caller]
    pub fn update<R, F>(&self, range: R, mut function: F)
    where
        R: RangeBounds<usize>,
        F: FnMut(RangeInclusive<usize>, Option<&Arc<V>>) -> Option<Arc<V>>,
    {
        let (first, last) = nonempty(range);
        let mut update = Update { function: &mut function, results: Vec::new(), panic: None };
        let code = unsafe {
            sys::mtree_update_range(
                self.tree(),
                first as c_ulong,
                last as c_ulong,
                Some(piece::<V>),
                &mut update as *mut Update<'_, V> as *mut c_void,
                None,
                sys::GFP_KERNEL,
            )
        };
        if let Some(panic) = update.panic {
            resume_unwind(panic);
        }
        succeed(code);
    }
}
