// SPDX-License-Identifier: MIT
//! When values are dropped: not while a guard may see them, and then exactly once. In one test
//! function, since the last part keeps everything that is removed afterwards from being dropped.

use mapletree::{synchronize, RangeMap};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{mpsc, Arc, Mutex};
use std::thread;

struct Counted {
    number: usize,
    drops: Arc<AtomicUsize>,
}

impl Drop for Counted {
    fn drop(&mut self) {
        assert_ne!(self.number, usize::MAX, "dropped twice");
        self.number = usize::MAX;
        self.drops.fetch_add(1, SeqCst);
    }
}

#[test]
fn values_are_dropped_once_when_nobody_can_see_them() {
    each_value_is_dropped_once();
    a_guard_keeps_what_is_removed();
    snapshots_keep_what_they_share();
    a_drop_that_panics_ends_there();
    a_drop_may_use_the_map();
    a_guard_that_its_thread_leaves_behind_keeps_what_it_saw(); // the last: see above
}

fn each_value_is_dropped_once() {
    let drops = Arc::new(AtomicUsize::new(0));
    let map = RangeMap::new();
    for i in 0..1000 {
        map.insert(i..i + 500, Counted { number: i, drops: Arc::clone(&drops) });
        map.remove(i..i + 3);
    }
    synchronize();
    assert!(drops.load(SeqCst) > 400);
    let values = map.read().iter().count();
    assert_eq!(drops.load(SeqCst) + values, 1000 + count_pieces(&map));
    drop(map);
    synchronize();
    assert_eq!(drops.load(SeqCst), 1000);
}

/// How many ranges there are beyond the first of their value.
fn count_pieces(map: &RangeMap<Counted>) -> usize {
    let guard = map.read();
    let mut numbers: Vec<usize> = guard.iter().map(|(_, value)| value.number).collect();
    let ranges = numbers.len();
    numbers.sort_unstable();
    numbers.dedup();
    ranges - numbers.len()
}

fn a_guard_keeps_what_is_removed() {
    let drops = Arc::new(AtomicUsize::new(0));
    let map = RangeMap::new();
    map.insert(0..10, Counted { number: 1, drops: Arc::clone(&drops) });
    let guard = map.read();
    let value = guard.get(5).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| map.clear());
    });
    assert!(guard.get(5).is_none());
    thread::sleep(std::time::Duration::from_millis(30)); // a chance to be dropped wrongly
    assert_eq!((value.number, drops.load(SeqCst)), (1, 0));
    assert!(catch_unwind(synchronize).is_err(), "would wait for its own guard");
    drop(guard);
    synchronize();
    assert_eq!(drops.load(SeqCst), 1);
}

fn snapshots_keep_what_they_share() {
    let drops = Arc::new(AtomicUsize::new(0));
    let map = RangeMap::new();
    for i in 0..100 {
        map.insert(i * 10..i * 10 + 5, Counted { number: i, drops: Arc::clone(&drops) });
    }
    let copy = map.snapshot();
    drop(map);
    synchronize();
    assert_eq!(drops.load(SeqCst), 0);
    assert_eq!(copy.read().get(990).unwrap().number, 99);
    let kept = copy.get(0).unwrap();
    drop(copy);
    synchronize();
    assert_eq!(drops.load(SeqCst), 99);
    drop(kept);
    assert_eq!(drops.load(SeqCst), 100);
}

fn a_drop_that_panics_ends_there() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("this panic is part of the test");
        }
    }
    let map = RangeMap::new();
    map.insert(0..10, Bomb);
    map.clear();
    synchronize();
    assert!(map.is_empty());
}

fn a_drop_may_use_the_map() {
    struct Successor {
        map: Arc<RangeMap<Option<Successor>>>,
        done: mpsc::SyncSender<()>,
    }
    impl Drop for Successor {
        fn drop(&mut self) {
            self.map.insert(0..10, None);
            assert!(matches!(self.map.read().get(5), Some(None)));
            self.done.send(()).unwrap();
        }
    }
    let map = Arc::new(RangeMap::new());
    let (sender, done) = mpsc::sync_channel(1);
    map.insert(0..10, Some(Successor { map: Arc::clone(&map), done: sender }));
    map.clear();
    done.recv().unwrap();
    assert!(map.get(5).is_some());
    synchronize(); // and the drop is over
    drop(map);
    synchronize();
}

/// What is leaked on purpose stays reachable, for LeakSanitizer.
fn keep<T>(leaked: &'static T) {
    static KEPT: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    KEPT.lock().unwrap().push(leaked as *const T as usize);
}

/// The thread ends, and its section with it; the reference that it has passed on stays valid.
fn a_guard_that_its_thread_leaves_behind_keeps_what_it_saw() {
    let drops = Arc::new(AtomicUsize::new(0));
    let map: &'static RangeMap<Counted> = Box::leak(Box::new(RangeMap::new()));
    map.insert(0..10, Counted { number: 42, drops: Arc::clone(&drops) });
    let value: &'static Counted = thread::spawn(move || {
        let guard = Box::leak(Box::new(map.read()));
        keep(guard);
        guard.get(5).unwrap()
    })
    .join()
    .unwrap();
    keep(map);
    keep(value);
    map.clear();
    synchronize();
    assert_eq!((value.number, drops.load(SeqCst)), (42, 0));
}

/// What the last part does must not have been possible by closures alone.
#[test]
fn guards_nest_and_end_in_any_order() {
    let (a, b) = (RangeMap::new(), RangeMap::new());
    a.insert(0..1, AssertUnwindSafe(1));
    b.insert(0..1, AssertUnwindSafe(2));
    let (first, second) = (a.read(), b.read());
    drop(first);
    assert_eq!(**second.get(0).unwrap(), 2);
}
