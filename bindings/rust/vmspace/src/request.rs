// SPDX-License-Identifier: MIT
//! Calls that change an address space.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::raw::c_ulong;
use std::ptr::null;

use vmspace_sys as sys;

/// What a mapping maps: its fields are those of `struct vma_backing`.
#[derive(Clone, Copy)]
pub struct Backing<'a> {
    raw: sys::vma_backing,
    name: Option<&'a CStr>,
}

impl<'a> Backing<'a> {
    fn of(kind: sys::vma_backing_kind) -> Backing<'a> {
        let raw = sys::vma_backing {
            kind,
            flags: 0,
            dev_major: 0,
            dev_minor: 0,
            inode: 0,
            file_id: 0,
            name: null(),
            huge_size: 0,
            size: 0,
        };
        Backing { raw, name: None }
    }

    /// Private memory.
    pub fn anonymous() -> Backing<'a> {
        Backing::of(sys::VMA_BACKING_ANON)
    }

    /// Memory shared with children.
    pub fn shared_memory() -> Backing<'a> {
        Backing::of(sys::VMA_BACKING_SHMEM)
    }

    /// A file: its device, its inode, and its path as `/proc/PID/maps` shows it.
    pub fn file(device: (u32, u32), inode: u64, path: &'a CStr) -> Backing<'a> {
        let mut file = Backing::of(sys::VMA_BACKING_FILE);
        file.raw.dev_major = device.0;
        file.raw.dev_minor = device.1;
        file.raw.inode = inode;
        file.name = Some(path);
        file
    }

    /// Which open file it is: mappings of different ones do not merge. 0: device, inode and path
    /// say it.
    pub fn file_id(mut self, id: u64) -> Backing<'a> {
        self.raw.file_id = id;
        self
    }

    /// Bytes of the file, behind which there are no pages. 0: not known, as long as needed.
    pub fn size(mut self, size: u64) -> Backing<'a> {
        self.raw.size = size;
        self
    }

    /// Properties: bits of `VMA_BACKING_*` in [`vmspace_sys`], such as that it is not writable.
    pub fn properties(mut self, flags: u32) -> Backing<'a> {
        self.raw.flags = flags;
        self
    }

    /// Valid as long as what it borrows.
    fn raw(&self) -> sys::vma_backing {
        sys::vma_backing { name: self.name.map_or(null(), CStr::as_ptr), ..self.raw }
    }
}

/// A call, with the arguments of the system call.
#[derive(Clone, Copy)]
#[non_exhaustive]
#[allow(missing_docs)] // the fields are the arguments, by the names of the manual pages
pub enum Request<'a> {
    /// Result: the address.
    Mmap { addr: usize, length: usize, prot: i32, flags: i32, offset: u64, backing: Backing<'a> },
    /// munmap(2).
    Munmap { addr: usize, length: usize },
    /// mprotect(2), and pkey_mprotect(2) with a key.
    Mprotect { addr: usize, length: usize, prot: i32, pkey: Option<i32> },
    /// Result: the address.
    Mremap { addr: usize, old_length: usize, new_length: usize, flags: i32, new_addr: usize },
    /// The raw system call. Result: the new break, or the old one if it cannot be moved.
    Brk { brk: usize },
    /// madvise(2).
    Madvise { addr: usize, length: usize, advice: i32 },
    /// mlock(2), or mlock2(2) with flags.
    Mlock { addr: usize, length: usize, flags: Option<i32> },
    /// munlock(2).
    Munlock { addr: usize, length: usize },
    /// mlockall(2).
    Mlockall { flags: i32 },
    /// munlockall(2).
    Munlockall,
    /// prctl(2) with PR_SET_VMA_ANON_NAME; no name: remove it.
    SetAnonName { addr: usize, length: usize, name: Option<&'a CStr> },
    /// shmdt(2).
    Shmdt { addr: usize },
    /// mseal(2).
    Mseal { addr: usize, length: usize, flags: usize },
    /// msync(2).
    Msync { addr: usize, length: usize, flags: i32 },
    /// A page is touched. `access`: bits of `VMSPACE_ACCESS_*` in [`vmspace_sys`].
    Fault { addr: usize, access: u32 },
    /// pkey_alloc(2). Result: the key.
    PkeyAlloc { flags: usize, rights: usize },
    /// pkey_free(2).
    PkeyFree { pkey: i32 },
}

type Arguments = sys::vmspace_request__bindgen_ty_1;

impl Request<'_> {
    /// The library's form, valid as long as what this borrows.
    pub(crate) fn raw(&self) -> sys::vmspace_request {
        let (op, arguments) = self.arguments();
        // All zero is a valid value of each of its members.
        let mut raw: sys::vmspace_request = unsafe { MaybeUninit::zeroed().assume_init() };
        raw.op = op;
        raw.__bindgen_anon_1 = arguments;
        raw
    }

    fn arguments(&self) -> (sys::vmspace_op, Arguments) {
        match *self {
            Request::Mmap { addr, length, prot, flags, offset, backing } => {
                let mmap = sys::vmspace_mmap {
                    addr: addr as c_ulong,
                    length: length as c_ulong,
                    prot,
                    flags,
                    offset,
                    backing: backing.raw(),
                    bad_fd: false,
                    driver_flags: 0,
                };
                (sys::VMSPACE_MMAP, Arguments { mmap })
            }
            Request::Munmap { addr, length } => {
                let munmap =
                    sys::vmspace_munmap { addr: addr as c_ulong, length: length as c_ulong };
                (sys::VMSPACE_MUNMAP, Arguments { munmap })
            }
            Request::Mprotect { addr, length, prot, pkey } => {
                let mprotect = sys::vmspace_mprotect {
                    addr: addr as c_ulong,
                    length: length as c_ulong,
                    prot,
                    pkey: pkey.unwrap_or(-1),
                };
                (sys::VMSPACE_MPROTECT, Arguments { mprotect })
            }
            Request::Mremap { addr, old_length, new_length, flags, new_addr } => {
                let mremap = sys::vmspace_mremap {
                    addr: addr as c_ulong,
                    old_length: old_length as c_ulong,
                    new_length: new_length as c_ulong,
                    flags,
                    new_addr: new_addr as c_ulong,
                };
                (sys::VMSPACE_MREMAP, Arguments { mremap })
            }
            Request::Brk { brk } => {
                let brk = sys::vmspace_brk { brk: brk as c_ulong };
                (sys::VMSPACE_BRK, Arguments { brk })
            }
            Request::Madvise { addr, length, advice } => {
                let madvise = sys::vmspace_madvise {
                    addr: addr as c_ulong,
                    length: length as c_ulong,
                    advice,
                };
                (sys::VMSPACE_MADVISE, Arguments { madvise })
            }
            _ => self.other_arguments(),
        }
    }

    fn other_arguments(&self) -> (sys::vmspace_op, Arguments) {
        let lock = |addr, length, flags: Option<i32>| sys::vmspace_mlock {
            addr: addr as c_ulong,
            length: length as c_ulong,
            flags: flags.unwrap_or(0),
            mlock2: flags.is_some(),
        };
        match *self {
            Request::Mlock { addr, length, flags } => {
                (sys::VMSPACE_MLOCK, Arguments { mlock: lock(addr, length, flags) })
            }
            Request::Munlock { addr, length } => {
                (sys::VMSPACE_MUNLOCK, Arguments { mlock: lock(addr, length, None) })
            }
            Request::Mlockall { flags } => {
                let mlockall = sys::vmspace_mlockall { flags };
                (sys::VMSPACE_MLOCKALL, Arguments { mlockall })
            }
            Request::Munlockall => {
                let mlockall = sys::vmspace_mlockall { flags: 0 };
                (sys::VMSPACE_MUNLOCKALL, Arguments { mlockall })
            }
            Request::SetAnonName { addr, length, name } => {
                let set_anon_name = sys::vmspace_set_anon_name {
                    addr: addr as c_ulong,
                    length: length as c_ulong,
                    name: name.map_or(null(), CStr::as_ptr),
                };
                (sys::VMSPACE_SET_ANON_NAME, Arguments { set_anon_name })
            }
            Request::Shmdt { addr } => {
                let shmdt = sys::vmspace_shmdt { addr: addr as c_ulong };
                (sys::VMSPACE_SHMDT, Arguments { shmdt })
            }
            Request::Mseal { addr, length, flags } => {
                let mseal = sys::vmspace_mseal {
                    addr: addr as c_ulong,
                    length: length as c_ulong,
                    flags: flags as c_ulong,
                };
                (sys::VMSPACE_MSEAL, Arguments { mseal })
            }
            Request::Msync { addr, length, flags } => {
                let msync =
                    sys::vmspace_msync { addr: addr as c_ulong, length: length as c_ulong, flags };
                (sys::VMSPACE_MSYNC, Arguments { msync })
            }
            Request::Fault { addr, access } => {
                let fault = sys::vmspace_fault { addr: addr as c_ulong, access };
                (sys::VMSPACE_FAULT, Arguments { fault })
            }
            Request::PkeyAlloc { flags, rights } => {
                let pkey_alloc =
                    sys::vmspace_pkey_alloc { flags: flags as c_ulong, rights: rights as c_ulong };
                (sys::VMSPACE_PKEY_ALLOC, Arguments { pkey_alloc })
            }
            Request::PkeyFree { pkey } => {
                let pkey_free = sys::vmspace_pkey_free { pkey };
                (sys::VMSPACE_PKEY_FREE, Arguments { pkey_free })
            }
            _ => unreachable!("arguments() has the others"),
        }
    }
}
