// SPDX-License-Identifier: MIT
//! Read-side sections of the calling thread.
//!
//! liburcu-bp ends a thread's section when the thread ends. A section that is leaked, however, may
//! have given out a reference for as long as its map lives, which another thread has got meanwhile.
//! So threads count their sections, and those that a thread leaves behind are added to `LEFT`. While
//! it is not 0, nothing that leaves a map is dropped. The addition comes before the end of the
//! section, since variables of a thread are destroyed before liburcu hears of the thread's end
//! (glibc), and so before the grace period that the section delays.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};

use mapletree_sys as sys;

use crate::error::{succeed, EDEADLK};

thread_local! {
    /// How many sections the thread is in. Never destroyed.
    static OPEN: Cell<usize> = const { Cell::new(0) };
    static END: End = const { End };
}

static LEFT: AtomicUsize = AtomicUsize::new(0);

/// Destroyed when the thread ends.
struct End;

impl Drop for End {
    fn drop(&mut self) {
        let open = OPEN.with(Cell::get);
        if open > 0 {
            LEFT.fetch_add(open, Ordering::SeqCst);
        }
    }
}

/// Whether the thread is ending, so that its sections are counted in LEFT.
fn thread_ends() -> bool {
    END.try_with(|_| ()).is_err()
}

/// A read-side section: it begins when this is made and ends when it is dropped. They nest.
pub(crate) struct Section {
    /// Of this thread: neither Send nor Sync.
    thread: PhantomData<*mut ()>,
}

impl Section {
    pub(crate) fn enter() -> Section {
        if thread_ends() {
            LEFT.fetch_add(1, Ordering::SeqCst);
        }
        OPEN.with(|open| open.set(open.get() + 1));
        unsafe { sys::mt_read_lock() };
        Section { thread: PhantomData }
    }
}

impl Drop for Section {
    fn drop(&mut self) {
        unsafe { sys::mt_read_unlock() };
        OPEN.with(|open| open.set(open.get() - 1));
        if thread_ends() {
            LEFT.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// Whether a thread has left a section behind: what it could see must stay.
pub(crate) fn is_left() -> bool {
    LEFT.load(Ordering::SeqCst) > 0
}

/// Waits until all values have been dropped that were removed from maps before.
///
/// # Panics
///
/// If it would wait for itself: the calling thread has a [`Guard`](crate::Guard), or this is called
/// when a value is dropped that a map had.
pub fn synchronize() {
    match -unsafe { sys::mt_barrier() } {
        EDEADLK => panic!("synchronize() would wait for this thread's own Guard, or drop"),
        error => succeed(-error),
    }
}

/// There is no memory to register a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterError(());

impl fmt::Display for RegisterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("out of memory")
    }
}

impl std::error::Error for RegisterError {}

/// Makes the calling thread known as a reader now rather than by its first
/// [`read`](crate::RangeMap::read), which ends the process if there is no memory for that.
///
/// # Errors
///
/// If there is no memory.
pub fn register_thread() -> Result<(), RegisterError> {
    match unsafe { sys::mt_thread_register() } {
        0 => Ok(()),
        _ => Err(RegisterError(())),
    }
}
