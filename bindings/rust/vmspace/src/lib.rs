// SPDX-License-Identifier: MIT
//! Linux-faithful address spaces on libvmspace.
//!
//! A [`Space`] models what Linux keeps for one address space: its areas (the lines of
//! `/proc/PID/maps`), the program break, limits and counters. Requests change it as the system calls
//! do: the same splits, the same merges, the same addresses, the same errors.
//!
//! ```
//! use vmspace::{Backing, Config, Request, Space};
//!
//! const READ: i32 = 1; // as in the C library's headers
//! const WRITE: i32 = 2;
//! const PRIVATE_FIXED: i32 = 0x12;
//!
//! let mut space = Space::new(&Config::running_kernel()).unwrap();
//! let map = Request::Mmap {
//!     addr: 0x10000000,
//!     length: 0x4000,
//!     prot: READ | WRITE,
//!     flags: PRIVATE_FIXED,
//!     offset: 0,
//!     backing: Backing::anonymous(),
//! };
//! assert_eq!(space.call(&map).result().unwrap(), 0x10000000);
//!
//! let protect = Request::Mprotect { addr: 0x10001000, length: 0x1000, prot: READ, pkey: None };
//! let outcome = space.call(&protect);
//! assert!(outcome.result().is_ok());
//! for event in outcome.events() {
//!     println!("{event}"); // which areas were split, changed, merged or not, and why
//! }
//! assert_eq!(space.area_count(), 3);
//! print!("{}", String::from_utf8_lossy(&space.maps()));
//! ```
//!
//! [`Space::load`] takes over what a live process has, and [`Space::verify`] compares the two.
//!
//! Addresses and lengths are bytes, areas half-open, constants those of `<sys/mman.h>` (the crate
//! `libc` has them). What libvmspace has beyond this (pages of memory, hooks, questions to a host,
//! histories) is in [`vmspace_sys`].
#![warn(missing_docs)]
#![deny(unsafe_op_in_unsafe_fn)]

mod area;
mod config;
mod outcome;
mod request;
mod space;

pub use area::{Area, AreaKind, Areas, Flags};
pub use config::Config;
pub use outcome::{Event, EventKind, Outcome, Verdict};
pub use request::{Backing, Request};
pub use space::{Explanation, Space};

/// The errno in the negative result of a call.
fn error(code: std::os::raw::c_long) -> std::io::Error {
    std::io::Error::from_raw_os_error(-code as i32)
}

/// The examples of the page that registries show run, too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
