// SPDX-License-Identifier: MIT
//! `MapleTree` and `MapleTreeAlloc`, after the types of these names in the kernel's Rust.
//!
//! Without RCU: whoever looks at a value holds the lock. An entry is a `Box` of a `Slot`, and is in
//! the tree once, over one range.

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::os::raw::{c_int, c_ulong, c_void};
use std::ptr::NonNull;

use mapletree_sys as sys;

use crate::bounds::inclusive;
use crate::cursor::Cursor;
use crate::error::{alloc_kind, insert_kind, out_of_memory};
use crate::error::{AllocError, AllocErrorKind, InsertError, InsertErrorKind};

/// Aligned, and never of size 0, so that its address is no reserved entry.
#[repr(C, align(8))]
struct Slot<T> {
    value: T,
    some: u8,
}

impl<T> Slot<T> {
    fn entry(value: T) -> *mut c_void {
        Box::into_raw(Box::new(Slot { value, some: 0 })) as *mut c_void
    }

    /// # Safety
    /// `entry` is one that no tree has any more.
    unsafe fn into_value(entry: *mut c_void) -> T {
        unsafe { Box::from_raw(entry as *mut Slot<T>) }.value
    }
}

/// A tree of ranges whose values are owned by one range each, after the kernel's type.
///
/// ```
/// use mapletree::{InsertErrorKind, MapleTree};
///
/// let tree = MapleTree::new();
/// tree.insert_range(100..200, String::from("first")).unwrap();
/// let refused = tree.insert(150, String::from("second")).unwrap_err();
/// assert_eq!(refused.cause, InsertErrorKind::Occupied);
/// tree.lock().load(150).unwrap().push_str(", changed");
/// assert_eq!(tree.erase(150).as_deref(), Some("first, changed"));
/// ```
///
/// The kernel's methods have a last argument that says how memory may be allocated; here they may
/// always wait. Values are kept in a box of the tree's, so they need not be boxes themselves.
pub struct MapleTree<T> {
    tree: NonNull<sys::maple_tree>,
    values: PhantomData<T>,
}

/// Like a `Mutex`: whoever has the lock may have the values for itself.
unsafe impl<T: Send> Send for MapleTree<T> {}
unsafe impl<T: Send> Sync for MapleTree<T> {}

impl<T> MapleTree<T> {
    /// An empty tree.
    pub fn new() -> MapleTree<T> {
        MapleTree::with_flags(0)
    }

    fn with_flags(flags: u32) -> MapleTree<T> {
        match NonNull::new(unsafe { sys::mt_new(flags) }) {
            Some(tree) => MapleTree { tree, values: PhantomData },
            None => out_of_memory(),
        }
    }

    /// Puts `value` at `index`, if nothing is there.
    ///
    /// # Errors
    ///
    /// With the value: occupied, or no memory.
    pub fn insert(&self, index: usize, value: T) -> Result<(), InsertError<T>> {
        self.insert_range(index..=index, value)
    }

    /// Puts `value` over `range`, if nothing is in it.
    ///
    /// # Errors
    ///
    /// With the value: occupied, an empty range, or no memory.
    pub fn insert_range<R: RangeBounds<usize>>(
        &self,
        range: R,
        value: T,
    ) -> Result<(), InsertError<T>> {
        let (first, last) = match inclusive(range) {
            Some((first, last)) => (first as c_ulong, last as c_ulong),
            None => return Err(InsertError { value, cause: InsertErrorKind::InvalidRequest }),
        };
        self.give(value, |entry| unsafe {
            sys::mtree_insert_range(self.tree.as_ptr(), first, last, entry, sys::GFP_KERNEL)
        })
        .map_err(|(value, code)| InsertError { value, cause: insert_kind(code) })
    }

    /// Removes the whole range in which `index` is. Returns its value.
    pub fn erase(&self, index: usize) -> Option<T> {
        let guard = self.lock();
        let entry = unsafe {
            let mut cursor = Cursor::new(self.tree.as_ptr(), index, index);
            let entry = cursor.erase();
            if cursor.failed() {
                out_of_memory();
            }
            entry
        };
        drop(guard);
        if entry.is_null() {
            return None;
        }
        Some(unsafe { Slot::into_value(entry) })
    }

    /// Takes the lock.
    pub fn lock(&self) -> MapleGuard<'_, T> {
        unsafe { sys::mtree_lock(self.tree.as_ptr()) };
        MapleGuard { tree: self, thread: PhantomData }
    }

    /// Lets `store` put a value into the tree; takes it back if that fails.
    fn give(&self, value: T, store: impl FnOnce(*mut c_void) -> c_int) -> Result<(), (T, c_int)> {
        let entry = Slot::entry(value);
        match store(entry) {
            0 => Ok(()),
            code => Err((unsafe { Slot::into_value(entry) }, code)),
        }
    }
}

impl<T> Default for MapleTree<T> {
    fn default() -> MapleTree<T> {
        MapleTree::new()
    }
}

/// Values are dropped when the tree is gone, so that a panic of one leaves nothing behind.
impl<T> Drop for MapleTree<T> {
    fn drop(&mut self) {
        let mut values: Vec<Box<Slot<T>>> = Vec::new();
        unsafe {
            let mut cursor = Cursor::new(self.tree.as_ptr(), 0, 0);
            while let Some(entry) = NonNull::new(cursor.find(usize::MAX)) {
                values.push(Box::from_raw(entry.as_ptr() as *mut Slot<T>));
            }
            sys::mt_free(self.tree.as_ptr());
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for MapleTree<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !unsafe { sys::mtree_trylock(self.tree.as_ptr()) } {
            return f.write_str("<locked>");
        }
        let mut guard = MapleGuard { tree: self, thread: PhantomData };
        let mut state = guard.ma_state(0, 0);
        let mut map = f.debug_map();
        while let Some(value) = unsafe { value_of::<T>(state.cursor.find(usize::MAX)) } {
            map.entry(&state.cursor.range(), value);
        }
        map.finish()
    }
}

/// The lock of a tree, with which its values are accessible.
///
/// ```compile_fail,E0505
/// let tree = mapletree::MapleTree::new();
/// tree.insert(1, 5).unwrap();
/// let mut guard = tree.lock();
/// drop(tree);
/// guard.load(1);
/// ```
///
/// Two values cannot be borrowed at once, since they might be the same:
///
/// ```compile_fail,E0499
/// let tree = mapletree::MapleTree::new();
/// tree.insert(1, 5).unwrap();
/// let mut guard = tree.lock();
/// let (a, b) = (guard.load(1), guard.load(1));
/// println!("{:?} {:?}", a, b);
/// ```
pub struct MapleGuard<'t, T> {
    tree: &'t MapleTree<T>,
    /// Of this thread.
    thread: PhantomData<*mut T>,
}

impl<T> MapleGuard<'_, T> {
    /// The value at `index`.
    pub fn load(&mut self, index: usize) -> Option<&mut T> {
        unsafe { value_of(sys::mtree_load(self.tree.tree.as_ptr(), index as c_ulong)) }
    }

    /// A cursor at `first` ..= `last`.
    pub fn ma_state(&mut self, first: usize, last: usize) -> MaState<'_, T> {
        MaState {
            cursor: unsafe { Cursor::new(self.tree.tree.as_ptr(), first, last) },
            values: PhantomData,
        }
    }
}

impl<T> Drop for MapleGuard<'_, T> {
    fn drop(&mut self) {
        unsafe { sys::mtree_unlock(self.tree.tree.as_ptr()) };
    }
}

/// # Safety
/// `entry` is one of a tree of `T`, or null, and the caller alone has access to it for `'a`.
unsafe fn value_of<'a, T>(entry: *mut c_void) -> Option<&'a mut T> {
    unsafe { (entry as *mut Slot<T>).as_mut() }.map(|slot| &mut slot.value)
}

/// A cursor of a tree whose lock is held.
pub struct MaState<'g, T> {
    cursor: Cursor,
    values: PhantomData<&'g mut T>,
}

impl<T> MaState<'_, T> {
    /// The value at or behind the cursor's index, and later the next one, as long as its range
    /// begins at or below `max`.
    ///
    /// ```
    /// let tree = mapletree::MapleTree::new();
    /// tree.insert_range(0..10, 'a').unwrap();
    /// tree.insert_range(20..30, 'b').unwrap();
    /// let mut guard = tree.lock();
    /// let mut state = guard.ma_state(5, 5);
    /// assert_eq!(state.find(usize::MAX), Some(&mut 'a'));
    /// assert_eq!(state.find(usize::MAX), Some(&mut 'b'));
    /// assert_eq!(state.find(usize::MAX), None);
    /// ```
    pub fn find(&mut self, max: usize) -> Option<&mut T> {
        unsafe { value_of(self.cursor.find(max)) }
    }
}

/// A [`MapleTree`] that finds free indexes, after the kernel's type.
pub struct MapleTreeAlloc<T> {
    tree: MapleTree<T>,
}

impl<T> MapleTreeAlloc<T> {
    /// An empty tree.
    pub fn new() -> MapleTreeAlloc<T> {
        MapleTreeAlloc { tree: MapleTree::with_flags(sys::MT_FLAGS_ALLOC_RANGE) }
    }

    /// [`MapleTree::insert`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn insert(&self, index: usize, value: T) -> Result<(), InsertError<T>> {
        self.tree.insert(index, value)
    }

    /// [`MapleTree::insert_range`].
    ///
    /// # Errors
    ///
    /// As there.
    pub fn insert_range<R: RangeBounds<usize>>(
        &self,
        range: R,
        value: T,
    ) -> Result<(), InsertError<T>> {
        self.tree.insert_range(range, value)
    }

    /// [`MapleTree::erase`].
    pub fn erase(&self, index: usize) -> Option<T> {
        self.tree.erase(index)
    }

    /// [`MapleTree::lock`].
    pub fn lock(&self) -> MapleGuard<'_, T> {
        self.tree.lock()
    }

    /// Puts `value` over the lowest `size` free indexes in `range`. Returns the first.
    ///
    /// ```
    /// let tree = mapletree::MapleTreeAlloc::new();
    /// tree.insert_range(0..100, "taken").unwrap();
    /// assert_eq!(tree.alloc_range(50, "mine", ..1000).unwrap(), 100);
    /// ```
    ///
    /// # Errors
    ///
    /// With the value: no gap is that wide, no memory, a size of 0 or more than the range.
    pub fn alloc_range<R: RangeBounds<usize>>(
        &self,
        size: usize,
        value: T,
        range: R,
    ) -> Result<usize, AllocError<T>> {
        let (min, max) = match inclusive(range) {
            Some((min, max)) => (min as c_ulong, max as c_ulong),
            None => return Err(AllocError { value, cause: AllocErrorKind::InvalidRequest }),
        };
        let mut start = 0;
        let (tree, size) = (self.tree.tree.as_ptr(), size as c_ulong);
        self.tree
            .give(value, |entry| unsafe {
                sys::mtree_alloc_range(tree, &mut start, entry, size, min, max, sys::GFP_KERNEL)
            })
            .map(|()| start as usize)
            .map_err(|(value, code)| AllocError { value, cause: alloc_kind(code) })
    }
}

impl<T> Default for MapleTreeAlloc<T> {
    fn default() -> MapleTreeAlloc<T> {
        MapleTreeAlloc::new()
    }
}

impl<T: fmt::Debug> fmt::Debug for MapleTreeAlloc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tree.fmt(f)
    }
}
