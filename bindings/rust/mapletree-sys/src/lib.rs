// SPDX-License-Identifier: MIT
//! Bindings of libmapletree: the C functions as they are. The crate
//! `mapletree` is a safe interface on top of these.
//!
//! The functions under the names of macros and inline functions are the library's out-of-line
//! twins; loops (`mas_for_each`) have none: call `mas_find`. What each function does, which lock it
//! needs and what it returns is told by the manual page of its name and by the headers.
//!
//! The library is found by pkg-config, or else built from the sources that this crate carries; the
//! feature `vendored`, or `MAPLETREE_SYS_VENDORED=1` in the environment, chooses these sources.
//! Either way liburcu-bp has to be installed.
#![allow(non_camel_case_types, non_snake_case, non_upper_case_globals)]
#![allow(clippy::all)]

mod bindings;

pub use bindings::*;
