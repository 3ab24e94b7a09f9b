// SPDX-License-Identifier: MIT
//! `MapleTree` and `MapleTreeAlloc`.

use mapletree::{AllocErrorKind, InsertErrorKind, MapleTree, MapleTreeAlloc};
use std::cell::Cell;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::rc::Rc;
use std::thread;

#[test]
fn ranges_are_inserted_where_nothing_is() {
    let tree = MapleTree::new();
    tree.insert_range(10..20, 'a').unwrap();
    tree.insert(usize::MAX, 'z').unwrap();
    for range in [0..=10, 19..=19, 5..=usize::MAX] {
        let refused = tree.insert_range(range, 'b').unwrap_err();
        assert_eq!((refused.value, refused.cause), ('b', InsertErrorKind::Occupied));
    }
    let refused = tree.insert_range(5..5, 'b').unwrap_err();
    assert_eq!((refused.value, refused.cause), ('b', InsertErrorKind::InvalidRequest));
    assert_eq!(tree.lock().load(19), Some(&mut 'a'));
    assert_eq!(tree.lock().load(20), None);
    assert_eq!(tree.erase(15), Some('a'));
    assert_eq!(tree.erase(15), None);
    tree.insert(0, 'c').unwrap();
    assert_eq!(
        format!("{:?}", tree),
        "{0..=0: 'c', 18446744073709551615..=18446744073709551615: 'z'}"
    );
    let _guard = tree.lock();
    assert_eq!(format!("{:?}", tree), "<locked>");
}

#[test]
fn values_of_no_size_are_values() {
    let tree = MapleTree::new();
    for i in 0..50 {
        tree.insert(i, ()).unwrap();
    }
    assert_eq!(tree.erase(7), Some(()));
    assert_eq!(tree.lock().load(7), None);
    assert_eq!(tree.lock().load(8), Some(&mut ()));
}

#[test]
fn values_are_changed_through_the_lock() {
    let tree = MapleTree::new();
    tree.insert(1, 0).unwrap();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..1000).for_each(|_| *tree.lock().load(1).unwrap() += 1));
        }
    });
    assert_eq!(tree.erase(1), Some(4000));
}

/// Values that stay with one thread, or that borrow, are allowed here.
#[test]
fn values_are_dropped_once_and_by_their_owner() {
    struct Local<'a>(&'a Cell<u32>, #[allow(dead_code)] Rc<()>);
    impl Drop for Local<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
            assert_ne!(self.0.get(), 50, "this panic is part of the test");
        }
    }
    let drops = Cell::new(0);
    let tree = MapleTree::new();
    for i in 0..100 {
        tree.insert_range(i * 10..i * 10 + 5, Local(&drops, Rc::new(()))).unwrap();
    }
    assert!(tree.insert(3, Local(&drops, Rc::new(()))).is_err());
    assert_eq!(drops.get(), 1);
    drop(tree.erase(3));
    assert_eq!(drops.get(), 2);
    assert!(catch_unwind(AssertUnwindSafe(|| drop(tree))).is_err());
    assert_eq!(drops.get(), 101);
}

#[test]
fn free_ranges_are_allocated_from_below() {
    let tree = MapleTreeAlloc::new();
    assert_eq!(tree.alloc_range(10, 'a', 5..).unwrap(), 5);
    assert_eq!(tree.alloc_range(10, 'b', ..).unwrap(), 15);
    assert_eq!(tree.alloc_range(5, 'c', ..).unwrap(), 0);
    let none = tree.alloc_range(1, 'd', ..20).unwrap_err();
    assert_eq!((none.value, none.cause), ('d', AllocErrorKind::Busy));
    let none = tree.alloc_range(0, 'd', ..20).unwrap_err();
    assert_eq!((none.value, none.cause), ('d', AllocErrorKind::InvalidRequest));
    assert_eq!(tree.erase(9), Some('a'));
    tree.insert_range(5..=6, 'e').unwrap();
    tree.insert(7, 'f').unwrap();
    assert_eq!(tree.lock().load(6), Some(&mut 'e'));
    assert_eq!(tree.alloc_range(7, 'g', ..).unwrap(), 8);
}
