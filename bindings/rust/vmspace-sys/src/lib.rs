// SPDX-License-Identifier: MIT
//! Bindings of libvmspace: the C functions as they are. The crate `vmspace` is a safe interface on
//! top of these.
//!
//! What each function does and returns is told by the manual page of its name and by the headers.
//! The library is found as `mapletree-sys` finds its own.
#![allow(non_camel_case_types, non_snake_case, non_upper_case_globals)]
#![allow(clippy::all)]

mod bindings;

pub use bindings::*;
pub use mapletree_sys; // linked behind this one, which needs it

/// A limit that does not apply, as the header has it: all bits set.
pub const VMSPACE_NO_LIMIT: std::os::raw::c_ulong = std::os::raw::c_ulong::MAX;
