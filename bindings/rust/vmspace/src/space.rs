// SPDX-License-Identifier: MIT
//! The address space.

use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::raw::{c_char, c_long, c_ulong};
use std::ptr::{null, null_mut, NonNull};

use vmspace_sys as sys;

use crate::{error, Area, Areas, Config, Flags, Outcome, Request, Verdict};

/// An address space: its areas, break, limits and counters.
///
/// It may be sent to another thread, but is used by one at a time: put it into a `Mutex` to share
/// it.
///
/// ```compile_fail,E0277
/// let space = vmspace::Space::load(std::process::id()).unwrap();
/// std::thread::scope(|scope| {
///     scope.spawn(|| space.area_count());
/// });
/// ```
pub struct Space {
    raw: NonNull<sys::vmspace>,
    /// Calls are serialised by the user: not Sync.
    _one_thread: std::marker::PhantomData<std::cell::Cell<()>>,
}

// It has no memory, no hooks and no host, and so nothing that belongs to a thread.
unsafe impl Send for Space {}

/// Why two areas are not one: see [`Space::explain`].
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The first reason in Linux's order.
    pub verdict: Verdict,
    /// The flags in which they differ, if that is the reason.
    pub differ: Flags,
    /// A sentence with the particulars.
    pub text: String,
}

/// The space that `make` puts where it is told; it returns 0 or a negative errno.
fn made(make: impl FnOnce(*mut *mut sys::vmspace) -> i32) -> io::Result<Space> {
    let mut raw = null_mut();
    match make(&mut raw) {
        0 => Ok(Space {
            raw: NonNull::new(raw).expect("a space, as there was no error"),
            _one_thread: std::marker::PhantomData,
        }),
        code => Err(error(code.into())),
    }
}

fn text_of(text: &[c_char]) -> String {
    unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy().into_owned()
}

impl Space {
    /// An empty space.
    ///
    /// # Errors
    ///
    /// A value of `config` makes no sense, or there is no memory.
    pub fn new(config: &Config) -> io::Result<Space> {
        made(|out| unsafe { sys::vmspace_create(out, &config.0) })
    }

    /// A space equal to what the process (or thread) `pid` has now: areas, break, counters, limits,
    /// privileges. A process that runs changes meanwhile: stop it first.
    ///
    /// ```
    /// let space = vmspace::Space::load(std::process::id()).unwrap();
    /// let code = space.lookup(main as usize).unwrap();
    /// assert!(code.flags().contains(vmspace::Flags::EXEC));
    /// ```
    ///
    /// # Errors
    ///
    /// There is no such process, or it may not be looked at; or there is no memory.
    pub fn load(pid: u32) -> io::Result<Space> {
        made(|out| unsafe { sys::vmspace_load(out, pid as _) })
    }

    /// An exact copy, to try a request on. Not a fork: every area stays what it is.
    ///
    /// # Errors
    ///
    /// There is no memory.
    pub fn try_clone(&mut self) -> io::Result<Space> {
        made(|out| unsafe { sys::vmspace_clone(out, self.raw()) })
    }

    pub(crate) fn raw(&self) -> *mut sys::vmspace {
        self.raw.as_ptr()
    }

    /* ---- change ----------------------------------------------------------------------------- */

    /// Makes a call: changes the areas as Linux does, and tells what it returns.
    pub fn call(&mut self, request: &Request<'_>) -> Outcome {
        let mut raw = request.raw();
        unsafe { sys::vmspace_call(self.raw(), &mut raw) };
        Outcome(raw.out)
    }

    /// Makes a call as the real process did, whose system call returned `result` (raw: a value, or
    /// a negative errno): so the space stays equal to the process even if the kernel decided what
    /// could not be predicted. [`Outcome::differs`] tells whether it was predicted.
    pub fn follow(&mut self, request: &Request<'_>, result: isize) -> Outcome {
        let mut raw = request.raw();
        raw.host =
            sys::vmspace_host_result { valid: true, result: result as c_long, unmapped: false };
        unsafe { sys::vmspace_call(self.raw(), &mut raw) };
        Outcome(raw.out)
    }

    /// The child's space after `fork`.
    ///
    /// # Errors
    ///
    /// Those of fork(2) that come from its address space.
    pub fn fork(&mut self) -> io::Result<Space> {
        let arguments = sys::vmspace_fork {
            child: null_mut(),
            child_host: null(),
            child_memory: null(),
            child_hooks: null(),
        };
        let mut raw: sys::vmspace_request = unsafe { MaybeUninit::zeroed().assume_init() };
        raw.op = sys::VMSPACE_FORK;
        raw.__bindgen_anon_1.fork = arguments;
        let result = unsafe { sys::vmspace_call(self.raw(), &mut raw) };
        made(|out| unsafe {
            *out = raw.__bindgen_anon_1.fork.child;
            result as i32
        })
    }

    /// The end of the process, or of its program: drops all areas.
    pub fn exit(&mut self) {
        unsafe { sys::vmspace_exit(self.raw()) };
    }

    /// What the space was created with, and limits as changed since.
    pub fn config(&self) -> Config {
        Config(unsafe { *sys::vmspace_config(self.raw()) })
    }

    /// Changes limits, sysctls and privileges.
    ///
    /// # Errors
    ///
    /// A value makes no sense, or is one that must stay as it is: `page_size`, `task_size`.
    pub fn configure(&mut self, config: &Config) -> io::Result<()> {
        match unsafe { sys::vmspace_configure(self.raw(), &config.0) } {
            0 => Ok(()),
            code => Err(error(code.into())),
        }
    }

    /* ---- look ------------------------------------------------------------------------------- */

    /// The area that contains `addr`.
    pub fn lookup(&self, addr: usize) -> Option<Area<'_>> {
        let raw = self.raw();
        unsafe { Area::find(self, |info| sys::vmspace_lookup(raw, addr as c_ulong, info)) }
    }

    /// All areas, upwards or downwards.
    pub fn areas(&self) -> Areas<'_> {
        self.overlapping(0..usize::MAX)
    }

    /// The areas that have an address in `range`.
    pub fn overlapping(&self, range: Range<usize>) -> Areas<'_> {
        Areas::new(self, range)
    }

    /// How many areas there are; not counted, but known.
    pub fn area_count(&self) -> usize {
        unsafe { sys::vmspace_count_areas(self.raw()) as usize }
    }

    /// Where `mmap` would place `length` bytes of private memory.
    ///
    /// # Errors
    ///
    /// Nowhere: the error that mmap(2) would return.
    pub fn place(&mut self, addr: usize, length: usize, flags: i32) -> io::Result<usize> {
        let (addr, length) = (addr as c_ulong, length as c_ulong);
        match unsafe { sys::vmspace_place(self.raw(), addr, length, flags, null(), 0) } {
            code @ -4095..=-1 => Err(error(code)),
            place => Ok(place as usize),
        }
    }

    /// Why the areas that contain `a` and `b` are not one.
    ///
    /// # Errors
    ///
    /// There is no area at one of them.
    pub fn explain(&self, a: usize, b: usize) -> io::Result<Explanation> {
        let mut out = MaybeUninit::<sys::vma_explanation>::zeroed();
        let out = unsafe {
            match sys::vmspace_explain(self.raw(), a as c_ulong, b as c_ulong, out.as_mut_ptr()) {
                0 => out.assume_init(),
                code => return Err(error(code.into())),
            }
        };
        Ok(Explanation {
            verdict: Verdict(out.verdict),
            differ: Flags(out.differ),
            text: text_of(&out.text),
        })
    }

    /// The text of `/proc/PID/maps`, byte for byte.
    pub fn maps(&self) -> Vec<u8> {
        let length = unsafe { sys::vmspace_show(self.raw(), null_mut(), 0) } as usize;
        let mut text = vec![0_u8; length + 1];
        unsafe {
            sys::vmspace_show(self.raw(), text.as_mut_ptr() as *mut c_char, text.len() as _);
        }
        text.truncate(length);
        text
    }

    /// Compares the space with the process `pid`: the lines of maps, flags, keys and counters.
    /// Returns the first difference, in words.
    ///
    /// # Errors
    ///
    /// There is no such process, or it may not be looked at; or there is no memory.
    pub fn verify(&self, pid: u32) -> io::Result<Option<String>> {
        let mut found = MaybeUninit::<sys::vmspace_difference>::zeroed();
        let all = sys::VMSPACE_VERIFY_ALL;
        match unsafe { sys::vmspace_verify(self.raw(), pid as _, all, found.as_mut_ptr()) } {
            0 => Ok(None),
            1 => Ok(Some(text_of(&unsafe { found.assume_init() }.text))),
            code => Err(error(code.into())),
        }
    }

    /// Checks every invariant of the space: for tests of this crate.
    ///
    /// # Errors
    ///
    /// Which one is broken.
    pub fn check(&self) -> Result<(), String> {
        let mut reason = null();
        if unsafe { sys::vmspace_check(self.raw(), &mut reason) } {
            return Ok(());
        }
        Err(unsafe { CStr::from_ptr(reason) }.to_string_lossy().into_owned())
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        unsafe { sys::vmspace_destroy(self.raw()) };
    }
}
