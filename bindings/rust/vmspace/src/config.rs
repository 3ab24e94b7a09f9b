// SPDX-License-Identifier: MIT
//! What an address space is created with.

use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;

use vmspace_sys as sys;

use crate::error;

/// Properties of an address space that Linux has from the kernel, the machine and the process:
/// those of the running kernel and the calling process, until they are changed.
#[derive(Clone)]
pub struct Config(pub(crate) sys::vmspace_config);

// What it could point to, the user's memory, hooks and host, is not offered here.
unsafe impl Send for Config {}
unsafe impl Sync for Config {}

macro_rules! settings {
    ($($(#[$about:meta])* $name:ident, $set:ident: $kind:ty;)*) => {
        $(
            $(#[$about])*
            pub fn $name(&self) -> $kind {
                self.0.$name as $kind
            }

            $(#[$about])*
            pub fn $set(mut self, value: $kind) -> Config {
                self.0.$name = value as _;
                self
            }
        )*
    };
}

impl Config {
    /// The values of the running kernel and the calling process. The first call in a process finds
    /// out how this kernel behaves: some milliseconds.
    pub fn running_kernel() -> Config {
        let mut config = MaybeUninit::zeroed();
        unsafe {
            sys::vmspace_config_init(config.as_mut_ptr());
            Config(config.assume_init())
        }
    }

    /// The same with the rules of another version of Linux: "6.1" or what `uname -r` prints.
    ///
    /// # Errors
    ///
    /// That is no version, or not one whose rules are known.
    pub fn with_kernel(mut self, version: &str) -> io::Result<Config> {
        let version = CString::new(version)?;
        match unsafe { sys::vmspace_config_kernel(&mut self.0, version.as_ptr()) } {
            0 => Ok(self),
            code => Err(error(code.into())),
        }
    }

    settings! {
        /// Bytes of a page.
        page_size, with_page_size: usize;
        /// The first address above user space.
        task_size, with_task_size: usize;
        /// `mmap` places below, or in the legacy layout above. 0: not known.
        mmap_base, with_mmap_base: usize;
        /// Whether `mmap` places from below: the legacy layout.
        mmap_bottom_up, with_mmap_bottom_up: bool;
        /// `vm.mmap_min_addr`.
        mmap_min_addr, with_mmap_min_addr: usize;
        /// `vm.max_map_count`: how many areas there may be.
        max_map_count, with_max_map_count: usize;
        /// Pages that are kept free below stacks.
        stack_guard_gap, with_stack_guard_gap: usize;
        /// `vm.overcommit_memory`: 0, 1 or 2.
        overcommit, with_overcommit: i32;
        /// Pages of memory; 0: not known, and nothing is refused for lack of it.
        ram_pages, with_ram_pages: usize;
        /// Pages of swap.
        swap_pages, with_swap_pages: usize;
        /// `RLIMIT_AS`, in bytes; `usize::MAX`: none.
        rlimit_as, with_rlimit_as: usize;
        /// `RLIMIT_DATA`.
        rlimit_data, with_rlimit_data: usize;
        /// `RLIMIT_STACK`.
        rlimit_stack, with_rlimit_stack: usize;
        /// `RLIMIT_MEMLOCK`.
        rlimit_memlock, with_rlimit_memlock: usize;
        /// `CAP_IPC_LOCK`: `RLIMIT_MEMLOCK` does not apply.
        lock_privileged, with_lock_privileged: bool;
        /// `CAP_SYS_ADMIN`.
        admin, with_admin: bool;
        /// The personality `READ_IMPLIES_EXEC`.
        read_implies_exec, with_read_implies_exec: bool;
    }
}
