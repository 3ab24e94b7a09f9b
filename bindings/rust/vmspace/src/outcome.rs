// SPDX-License-Identifier: MIT
//! What a call did.

use std::ffi::CStr;
use std::fmt;
use std::io;
use std::ops::Range;
use std::os::raw::{c_char, c_long};

use vmspace_sys as sys;

use crate::{error, Flags};

/// What a call did, and why.
#[derive(Clone)]
pub struct Outcome(pub(crate) sys::vmspace_outcome);

// What it points to is static.
unsafe impl Send for Outcome {}
unsafe impl Sync for Outcome {}

/// Results from here on are errors.
const ERRORS: c_long = -4095;

impl Outcome {
    /// What Linux returns.
    ///
    /// # Errors
    ///
    /// Those of the system call. [`out_of_memory`](Outcome::out_of_memory) tells whether it was the
    /// library that had no memory.
    pub fn result(&self) -> io::Result<usize> {
        if (ERRORS..0).contains(&self.0.result) {
            Err(error(self.0.result))
        } else {
            Ok(self.0.result as usize)
        }
    }

    /// Whether the library had no memory. Nothing has changed then.
    pub fn out_of_memory(&self) -> bool {
        self.0.out_of_memory
    }

    /// Whether the host said something else: see [`Space::follow`](crate::Space::follow).
    pub fn differs(&self) -> bool {
        self.0.differs
    }

    /// Explains an error or a difference.
    pub fn why(&self) -> Option<&'static str> {
        if self.0.why.is_null() {
            return None;
        }
        unsafe { CStr::from_ptr(self.0.why) }.to_str().ok()
    }

    /// What happened to areas, step by step; after the first 24 steps it is cut.
    pub fn events(&self) -> impl Iterator<Item = Event> + '_ {
        self.0.events[..self.0.event_count as usize].iter().map(|event| Event(*event))
    }

    /// How many further events there were.
    pub fn events_lost(&self) -> usize {
        self.0.events_lost as usize
    }
}

impl fmt::Debug for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outcome")
            .field("result", &self.result())
            .field("why", &self.why())
            .field("events", &self.events().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

/// What can happen to areas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventKind {
    /// The range is newly mapped.
    Map,
    /// The range is unmapped.
    Unmap,
    /// The area was split at an address.
    Split,
    /// Two neighbours became the area, joined at an address.
    Merge,
    /// Two neighbours that meet at an address were not merged: see [`Event::verdict`].
    NoMerge,
    /// The range has new flags, or a new name.
    Change,
    /// What was at an address was moved to the range.
    Move,
    /// The area has grown to the range.
    Grow,
}

/// One thing that happened to areas. Its text is a line.
#[derive(Clone, Copy)]
pub struct Event(sys::vmspace_event);

impl Event {
    /// What happened.
    pub fn kind(&self) -> EventKind {
        match self.0.kind {
            sys::VMSPACE_EVENT_MAP => EventKind::Map,
            sys::VMSPACE_EVENT_UNMAP => EventKind::Unmap,
            sys::VMSPACE_EVENT_SPLIT => EventKind::Split,
            sys::VMSPACE_EVENT_MERGE => EventKind::Merge,
            sys::VMSPACE_EVENT_NO_MERGE => EventKind::NoMerge,
            sys::VMSPACE_EVENT_MOVE => EventKind::Move,
            sys::VMSPACE_EVENT_GROW => EventKind::Grow,
            _ => EventKind::Change,
        }
    }

    /// To which range.
    pub fn range(&self) -> Range<usize> {
        self.0.start as usize..self.0.end as usize
    }

    /// Where: the border of a split, a merge or a merge that was not made, the source of a move.
    pub fn at(&self) -> usize {
        self.0.at as usize
    }

    /// Why neighbours were merged or not.
    pub fn verdict(&self) -> Verdict {
        Verdict(self.0.verdict)
    }

    /// The flags in which neighbours differ that were not merged because of these.
    pub fn flags_differ(&self) -> Flags {
        Flags(self.0.flags_differ)
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0_u8; 512];
        let (start, size) = (text.as_mut_ptr() as *mut c_char, text.len());
        let length = unsafe { sys::vmspace_event_text(&self.0, start, size as _) };
        let text = &text[..(length as usize).min(size - 1)];
        f.write_str(&String::from_utf8_lossy(text))
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Why two neighbours were merged or not: `VMA_*` of `enum vma_verdict` in [`vmspace_sys`]. Its text
/// is a phrase.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Verdict(pub sys::vma_verdict);

impl Verdict {
    /// Whether they are one area.
    pub fn is_merged(self) -> bool {
        self.0 == sys::VMA_MERGED
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = unsafe { CStr::from_ptr(sys::vma_verdict_text(self.0)) };
        f.write_str(&text.to_string_lossy())
    }
}

impl fmt::Debug for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Verdict({})", self)
    }
}
