// SPDX-License-Identifier: MIT
//! What a `Space` does.

use std::ffi::CString;
use std::fs;
use std::process::{Child, Command, Stdio};
use vmspace::{AreaKind, Backing, Config, EventKind, Flags, Request, Space};

const READ: i32 = 1;
const WRITE: i32 = 2;
const PRIVATE: i32 = 0x02;
const FIXED: i32 = 0x10;
const ENOMEM: i32 = 12;
const EINVAL: i32 = 22;
const ENOENT: i32 = 2;

const PAGE: usize = 4096;
const BASE: usize = 0x1000_0000;

fn empty() -> Space {
    Space::new(&Config::running_kernel().with_mmap_base(0x7fff_0000_0000)).unwrap()
}

fn map(space: &mut Space, addr: usize, pages: usize, prot: i32) -> usize {
    let length = pages * PAGE;
    let flags = PRIVATE | if addr > 0 { FIXED } else { 0 };
    let backing = Backing::anonymous();
    let request = Request::Mmap { addr, length, prot, flags, offset: 0, backing };
    space.call(&request).result().unwrap()
}

fn ranges(space: &Space) -> Vec<(usize, usize)> {
    space.check().unwrap();
    assert_eq!(space.area_count(), space.areas().count());
    space.areas().map(|area| ((area.start() - BASE) / PAGE, (area.end() - BASE) / PAGE)).collect()
}

#[test]
fn calls_split_and_merge_areas() {
    let mut space = empty();
    map(&mut space, BASE, 4, READ | WRITE);
    let outcome =
        space.call(&Request::Mprotect { addr: BASE + PAGE, length: PAGE, prot: READ, pkey: None });
    assert_eq!(outcome.result().unwrap(), 0);
    assert!(outcome.events().any(|event| event.kind() == EventKind::Split));
    assert_eq!(ranges(&space), [(0, 1), (1, 2), (2, 4)]);

    let why = space.explain(BASE, BASE + PAGE).unwrap();
    assert!(!why.verdict.is_merged() && why.differ.contains(Flags::WRITE), "{:?}", why);
    assert!(!why.text.is_empty() && !why.verdict.to_string().is_empty());
    assert_eq!(space.explain(0, BASE).unwrap_err().raw_os_error(), Some(ENOENT));

    let back = Request::Mprotect { addr: BASE, length: 4 * PAGE, prot: READ | WRITE, pkey: None };
    let outcome = space.call(&back);
    let merge = outcome.events().find(|event| event.kind() == EventKind::Merge).unwrap();
    assert!(merge.verdict().is_merged() && merge.to_string().contains("10000000"), "{merge}");
    assert_eq!(ranges(&space), [(0, 4)]);
}

#[test]
fn errors_are_those_of_linux() {
    let mut space = empty();
    let outcome = space.call(&Request::Munmap { addr: BASE, length: 0 });
    assert_eq!(outcome.result().unwrap_err().raw_os_error(), Some(EINVAL));
    let hole = Request::Mprotect { addr: BASE, length: PAGE, prot: READ, pkey: None };
    let outcome = space.call(&hole);
    assert_eq!(outcome.result().unwrap_err().raw_os_error(), Some(ENOMEM));
    assert!(!outcome.out_of_memory(), "{:?}", outcome);
    assert!(Config::running_kernel().with_kernel("2.6").is_err());
    assert!(Config::running_kernel().with_kernel("6\0").is_err());
}

#[test]
fn limits_are_kept_and_can_be_changed() {
    let mut space = empty();
    map(&mut space, BASE, 4, READ);
    let config = space.config().with_max_map_count(2);
    assert_eq!(config.max_map_count(), 2);
    space.configure(&config).unwrap();
    let middle = Request::Mprotect { addr: BASE + PAGE, length: PAGE, prot: 0, pkey: None };
    let outcome = space.call(&middle);
    assert_eq!(outcome.result().unwrap_err().raw_os_error(), Some(ENOMEM));
    assert!(outcome.why().is_some(), "{:?}", outcome);
    assert!(space.configure(&config.with_page_size(5)).is_err());
}

#[test]
fn areas_are_visited_from_both_ends() {
    let mut space = empty();
    for i in 0..20 {
        map(&mut space, BASE + i * 2 * PAGE, 1, READ);
    }
    let up: Vec<_> = space.areas().map(|area| area.start()).collect();
    let mut down: Vec<_> = space.areas().rev().map(|area| area.start()).collect();
    down.reverse();
    assert_eq!((up.len(), &up), (20, &down));
    let mut both = space.overlapping(BASE + 2 * PAGE + 1..BASE + 8 * PAGE);
    assert_eq!(both.next_back().unwrap().start(), BASE + 6 * PAGE);
    assert_eq!(both.next().unwrap().range(), BASE + 2 * PAGE..BASE + 3 * PAGE);
    assert_eq!(both.next().unwrap().start(), BASE + 4 * PAGE);
    assert!(both.next().is_none() && both.next_back().is_none());
    assert!(space.lookup(BASE + PAGE).is_none());
    assert!(space.overlapping(BASE + PAGE..BASE + 2 * PAGE).next().is_none());
}

#[test]
fn files_have_names_and_offsets() {
    let mut space = empty();
    let path = CString::new("/usr/lib/libexample.so").unwrap();
    let request = Request::Mmap {
        addr: BASE,
        length: 2 * PAGE,
        prot: READ,
        flags: PRIVATE | FIXED,
        offset: 3 * PAGE as u64,
        backing: Backing::file((8, 1), 77, &path),
    };
    space.call(&request).result().unwrap();
    drop(path); // the space has a copy
    let area = space.lookup(BASE + PAGE + 5).unwrap();
    assert_eq!((area.kind(), area.offset()), (AreaKind::File, 3 * PAGE as u64));
    assert_eq!(area.name().unwrap().to_str().unwrap(), "/usr/lib/libexample.so");
    assert_eq!((area.file(), area.anon_name()), (((8, 1), 77), None));
    assert!(area.flags().to_string().starts_with("rd "), "{}", area.flags());
    let maps = String::from_utf8(space.maps()).unwrap();
    assert!(maps.starts_with("10000000-10002000 r--p 00003000 08:01 77"), "{maps}");
    assert!(maps.ends_with("/usr/lib/libexample.so\n"), "{maps}");
}

#[test]
fn a_child_and_a_copy_go_their_own_ways() {
    let mut space = empty();
    map(&mut space, BASE, 4, READ | WRITE);
    let mut child = space.fork().unwrap();
    let mut copy = space.try_clone().unwrap();
    let unmap = Request::Munmap { addr: BASE, length: PAGE };
    child.call(&unmap).result().unwrap();
    assert_eq!((ranges(&child), ranges(&space)), (vec![(1, 4)], vec![(0, 4)]));
    drop(space);
    copy.call(&unmap).result().unwrap();
    assert_eq!(ranges(&copy), [(1, 4)]);
    copy.exit();
    assert_eq!(copy.area_count(), 0);
}

#[test]
fn placements_are_followed_and_predicted() {
    let mut space = empty();
    let place = space.place(0, 16 * PAGE, PRIVATE).unwrap();
    assert_eq!(map(&mut space, 0, 16, READ), place);
    let request = Request::Mmap {
        addr: 0,
        length: PAGE,
        prot: READ,
        flags: PRIVATE,
        offset: 0,
        backing: Backing::anonymous(),
    };
    let outcome = space.follow(&request, BASE as isize);
    assert!(outcome.differs() && outcome.result().unwrap() == place - PAGE, "{:?}", outcome);
    assert!(space.lookup(BASE).is_some());
}

/// A child that waits for its input, and so does not change.
fn waiting_child() -> Child {
    let child =
        Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("cat(1)");
    for _ in 0..1000 {
        let wchan = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap_or_default();
        let state = wchan.rsplit(") ").next().and_then(|rest| rest.chars().next());
        let maps = fs::read_to_string(format!("/proc/{}/maps", child.id())).unwrap_or_default();
        if state == Some('S') && maps.contains("libc") {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    child
}

#[test]
fn a_process_that_is_loaded_is_equal() {
    let mut child = waiting_child();
    let loaded = Space::load(child.id());
    let difference = loaded.as_ref().map(|space| space.verify(child.id()));
    let maps = fs::read(format!("/proc/{}/maps", child.id())).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let space = match difference {
        Ok(found) => {
            assert_eq!(found.unwrap(), None);
            loaded.as_ref().unwrap()
        }
        Err(error) => panic!("{error}"),
    };
    assert_eq!(String::from_utf8_lossy(&space.maps()), String::from_utf8_lossy(&maps));
    assert!(space.check().is_ok() && space.area_count() > 3);
    assert!(space.verify(child.id()).is_err(), "it is gone");
    assert!(Space::load(child.id()).is_err());
}
