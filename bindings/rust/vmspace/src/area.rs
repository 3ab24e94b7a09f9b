// SPDX-License-Identifier: MIT
//! Areas, and iteration over them.

use std::ffi::CStr;
use std::fmt;
use std::iter::FusedIterator;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::raw::{c_char, c_ulong};

use vmspace_sys as sys;

use crate::Space;

/// Flags of an area: bits of `VMA_*` in [`vmspace_sys`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Flags(pub u64);

impl Flags {
    /// It may be read, written, executed: the flags that `mprotect` changes.
    pub const READ: Flags = Flags(sys::VMA_READ as u64);
    /// See [`Flags::READ`].
    pub const WRITE: Flags = Flags(sys::VMA_WRITE as u64);
    /// See [`Flags::READ`].
    pub const EXEC: Flags = Flags(sys::VMA_EXEC as u64);
    /// A shared mapping.
    pub const SHARED: Flags = Flags(sys::VMA_SHARED as u64);
    /// A stack: it grows down when it is touched below.
    pub const GROWSDOWN: Flags = Flags(sys::VMA_GROWSDOWN as u64);
    /// Locked into memory.
    pub const LOCKED: Flags = Flags(sys::VMA_LOCKED as u64);
    /// Sealed by `mseal`.
    pub const SEALED: Flags = Flags(sys::VMA_SEALED);

    /// Whether all of `others` are set.
    pub fn contains(self, others: Flags) -> bool {
        self.0 & others.0 == others.0
    }
}

/// As in the line `VmFlags` of `/proc/PID/smaps`: `rd wr mr mw me ac`.
impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0_u8; 256];
        let length = unsafe {
            sys::vma_flags_text(self.0, text.as_mut_ptr() as *mut c_char, text.len() as _)
        };
        let text = &text[..(length as usize).min(text.len() - 1)];
        f.write_str(std::str::from_utf8(text).unwrap_or_default().trim_end())
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Flags({})", self)
    }
}

/// What an area maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AreaKind {
    /// Private anonymous memory.
    Anonymous,
    /// A file, a memfd or a device.
    File,
    /// Shared anonymous memory.
    Shmem,
    /// System V shared memory.
    Sysv,
    /// Huge pages.
    Hugetlb,
    /// The kernel's own: `[vdso]` and the like.
    Special,
}

/// An area as it was when it was looked up. What it names belongs to the space: so it cannot be kept
/// when the space changes.
///
/// ```compile_fail,E0502
/// let mut space = vmspace::Space::load(std::process::id()).unwrap();
/// let area = space.areas().next().unwrap();
/// space.call(&vmspace::Request::Munmap { addr: area.start(), length: 4096 });
/// println!("{area:?}");
/// ```
#[derive(Clone, Copy)]
pub struct Area<'s> {
    info: sys::vma_info,
    space: PhantomData<&'s Space>,
}

impl<'s> Area<'s> {
    /// What `look` finds in the space; it returns whether it has found anything.
    ///
    /// # Safety
    /// `look` calls one of libvmspace's functions for the space.
    pub(crate) unsafe fn find(
        _space: &'s Space,
        look: impl FnOnce(*mut sys::vma_info) -> bool,
    ) -> Option<Area<'s>> {
        let mut info = MaybeUninit::zeroed();
        if !look(info.as_mut_ptr()) {
            return None;
        }
        Some(Area { info: unsafe { info.assume_init() }, space: PhantomData })
    }

    /// Its first address.
    pub fn start(&self) -> usize {
        self.info.start as usize
    }

    /// The address behind it.
    pub fn end(&self) -> usize {
        self.info.end as usize
    }

    /// Its addresses.
    pub fn range(&self) -> Range<usize> {
        self.start()..self.end()
    }

    /// Its flags.
    pub fn flags(&self) -> Flags {
        Flags(self.info.flags)
    }

    /// Where it begins in its file, in bytes.
    pub fn offset(&self) -> u64 {
        self.info.offset
    }

    /// What it maps.
    pub fn kind(&self) -> AreaKind {
        match self.info.backing.kind {
            sys::VMA_BACKING_FILE => AreaKind::File,
            sys::VMA_BACKING_SHMEM => AreaKind::Shmem,
            sys::VMA_BACKING_SYSV => AreaKind::Sysv,
            sys::VMA_BACKING_HUGETLB => AreaKind::Hugetlb,
            sys::VMA_BACKING_SPECIAL => AreaKind::Special,
            _ => AreaKind::Anonymous,
        }
    }

    /// The path of its file, or a name of the kernel's.
    pub fn name(&self) -> Option<&'s CStr> {
        text(self.info.backing.name)
    }

    /// The name that `PR_SET_VMA_ANON_NAME` gave it.
    pub fn anon_name(&self) -> Option<&'s CStr> {
        text(self.info.anon_name)
    }

    /// Device (major, minor) and inode of its file.
    pub fn file(&self) -> ((u32, u32), u64) {
        let backing = &self.info.backing;
        ((backing.dev_major, backing.dev_minor), backing.inode)
    }

    /// Its memory protection key.
    pub fn pkey(&self) -> u32 {
        self.info.pkey
    }
}

/// A string of the space's, which is not changed as long as the space is borrowed.
fn text<'s>(text: *const c_char) -> Option<&'s CStr> {
    if text.is_null() {
        return None;
    }
    Some(unsafe { CStr::from_ptr(text) })
}

impl fmt::Debug for Area<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}-{:x} {} {:?}", self.start(), self.end(), self.flags(), self.name())
    }
}

/// The areas of a space, from both ends.
#[derive(Clone)]
pub struct Areas<'s> {
    space: &'s Space,
    low: usize,
    high: usize,
}

impl<'s> Areas<'s> {
    pub(crate) fn new(space: &'s Space, range: Range<usize>) -> Areas<'s> {
        Areas { space, low: range.start, high: range.end }
    }
}

impl<'s> Iterator for Areas<'s> {
    type Item = Area<'s>;

    fn next(&mut self) -> Option<Area<'s>> {
        if self.low >= self.high {
            return None;
        }
        let (raw, low) = (self.space.raw(), self.low as c_ulong);
        let found = unsafe { Area::find(self.space, |info| sys::vmspace_next(raw, low, info)) };
        let area = found.filter(|area| area.start() < self.high);
        self.low = area.map_or(self.high, |area| area.end());
        area
    }
}

impl DoubleEndedIterator for Areas<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        if self.low >= self.high {
            return None;
        }
        let (raw, high) = (self.space.raw(), self.high as c_ulong);
        let found = unsafe { Area::find(self.space, |info| sys::vmspace_prev(raw, high, info)) };
        let area = found.filter(|area| area.end() > self.low);
        self.high = area.map_or(self.low, |area| area.start());
        area
    }
}

impl FusedIterator for Areas<'_> {}
