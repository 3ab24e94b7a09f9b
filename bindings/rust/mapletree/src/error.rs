// SPDX-License-Identifier: MIT
//! Errors; each of them gives the value back. Their names are those of the kernel's Rust.

use std::alloc::{handle_alloc_error, Layout};
use std::fmt;
use std::os::raw::c_int;

const ENOMEM: c_int = 12;
const EBUSY: c_int = 16;
const EEXIST: c_int = 17;
const EINVAL: c_int = 22;
pub(crate) const EDEADLK: c_int = if cfg!(any(target_arch = "mips", target_arch = "mips64")) {
    45
} else if cfg!(any(target_arch = "sparc64")) {
    78
} else {
    35
};

/// Why a value was not inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InsertErrorKind {
    /// There is a value in the range already.
    Occupied,
    /// There is no memory.
    AllocError,
    /// The range is empty, or begins behind its end.
    InvalidRequest,
}

/// A value that was not inserted. Nothing has changed.
pub struct InsertError<V> {
    /// The value.
    pub value: V,
    /// Why.
    pub cause: InsertErrorKind,
}

/// Why there is no place for a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AllocErrorKind {
    /// No gap is wide enough.
    Busy,
    /// There is no memory.
    AllocError,
    /// A size of 0 or more than the window, an empty window, an alignment that is no power of two.
    InvalidRequest,
}

/// A value for which there is no place. Nothing has changed.
pub struct AllocError<V> {
    /// The value.
    pub value: V,
    /// Why.
    pub cause: AllocErrorKind,
}

impl fmt::Display for InsertErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            InsertErrorKind::Occupied => "the range is occupied",
            InsertErrorKind::AllocError => "out of memory",
            InsertErrorKind::InvalidRequest => "the range is empty",
        })
    }
}

impl fmt::Display for AllocErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AllocErrorKind::Busy => "no gap is wide enough",
            AllocErrorKind::AllocError => "out of memory",
            AllocErrorKind::InvalidRequest => "the size, the window or the alignment is invalid",
        })
    }
}

impl<V> fmt::Display for InsertError<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)
    }
}

impl<V> fmt::Display for AllocError<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)
    }
}

// Without the value, so that any result can be unwrapped.
impl<V> fmt::Debug for InsertError<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InsertError").field("cause", &self.cause).finish_non_exhaustive()
    }
}

impl<V> fmt::Debug for AllocError<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AllocError").field("cause", &self.cause).finish_non_exhaustive()
    }
}

impl<V> std::error::Error for InsertError<V> {}
impl<V> std::error::Error for AllocError<V> {}

/// What the error `code` of an insertion says.
pub(crate) fn insert_kind(code: c_int) -> InsertErrorKind {
    match -code {
        EEXIST => InsertErrorKind::Occupied,
        ENOMEM => InsertErrorKind::AllocError,
        EINVAL => InsertErrorKind::InvalidRequest,
        _ => unreachable!("libmapletree returned {}", code),
    }
}

/// What the error `code` of a search for a place says.
pub(crate) fn alloc_kind(code: c_int) -> AllocErrorKind {
    match -code {
        EBUSY => AllocErrorKind::Busy,
        ENOMEM => AllocErrorKind::AllocError,
        EINVAL => AllocErrorKind::InvalidRequest,
        _ => unreachable!("libmapletree returned {}", code),
    }
}

/// For calls that can fail by -ENOMEM only: ends the process if it did.
pub(crate) fn succeed(code: c_int) {
    if code == -ENOMEM {
        out_of_memory();
    }
    assert_eq!(code, 0, "libmapletree returned an error that the call cannot have");
}

/// As the standard library ends a process whose collection gets no memory. A node has 256 bytes.
pub(crate) fn out_of_memory() -> ! {
    handle_alloc_error(Layout::new::<[u64; 32]>())
}
