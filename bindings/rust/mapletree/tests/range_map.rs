// SPDX-License-Identifier: MIT
//! What a `RangeMap` does, one thread at a time.

use mapletree::{synchronize, AllocErrorKind, Area, Entry, Found, InsertErrorKind, RangeMap};
use std::ops::RangeInclusive;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Arc;

const MAX: usize = usize::MAX;

fn ranges<V: Copy + Send + Sync>(map: &RangeMap<V>) -> Vec<(RangeInclusive<usize>, V)> {
    map.check().unwrap();
    map.read().iter().map(|(range, value)| (range, *value)).collect()
}

fn map_of<const N: usize>(entries: [(RangeInclusive<usize>, char); N]) -> RangeMap<char> {
    entries.into_iter().collect()
}

#[test]
fn an_insertion_cuts_what_it_overlaps() {
    let map = map_of([(0..=99, 'a'), (50..=59, 'b'), (0..=0, 'c')]);
    assert_eq!(ranges(&map), [(0..=0, 'c'), (1..=49, 'a'), (50..=59, 'b'), (60..=99, 'a')]);
}

#[test]
fn pieces_of_a_value_are_one_value() {
    let map = RangeMap::new();
    map.insert(0..100, String::from("one"));
    map.insert(50..60, String::from("two"));
    let guard = map.read();
    assert!(std::ptr::eq(guard.get(49).unwrap(), guard.get(60).unwrap()));
    assert!(Arc::ptr_eq(&map.get(0).unwrap(), &map.get(99).unwrap()));
}

#[test]
fn every_index_can_be_used() {
    let map = map_of([(0..=0, 'a'), (MAX..=MAX, 'z')]);
    assert_eq!(map.read().find(0), Found::Value(0..=0, &'a'));
    assert_eq!(map.read().find(1), Found::Gap(1..=MAX - 1));
    assert_eq!(map.read().find(MAX), Found::Value(MAX..=MAX, &'z'));
    map.insert(.., 'm');
    assert_eq!(ranges(&map), [(0..=MAX, 'm')]);
    assert_eq!(map.read().gaps(..).next(), None);
    map.clear();
    assert!(map.is_empty());
    assert_eq!(map.read().find(7), Found::Gap(0..=MAX));
}

#[test]
fn values_of_any_size_and_alignment_are_kept() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[repr(align(128))]
    struct Wide(u8);
    let (none, byte, wide) = (RangeMap::new(), RangeMap::new(), RangeMap::new());
    for i in 0..40_usize {
        none.insert(i * 4..i * 4 + 3, ());
        byte.insert(i * 4..i * 4 + 3, i as u8);
        wide.insert(i * 4..i * 4 + 3, Wide(i as u8));
    }
    for i in 0..40_usize {
        assert_eq!(none.read().find(i * 4), Found::Value(i * 4..=i * 4 + 2, &()));
        assert_eq!(byte.read().get(i * 4), Some(&(i as u8)));
        assert_eq!(wide.read().get(i * 4 + 2), Some(&Wide(i as u8)));
        assert_eq!(wide.read().get(i * 4 + 3), None);
    }
    assert_eq!(ranges(&none).len(), 40);
}

#[test]
fn an_insertion_into_what_is_occupied_gives_the_value_back() {
    let map = map_of([(10..=19, 'a')]);
    let refused = map.try_insert_vacant(0..11, 'b').unwrap_err();
    assert_eq!((refused.value, refused.cause), ('b', InsertErrorKind::Occupied));
    assert_eq!(refused.to_string(), "the range is occupied");
    map.try_insert_vacant(0..10, 'b').unwrap();
    assert_eq!(ranges(&map), [(0..=9, 'b'), (10..=19, 'a')]);
}

#[test]
fn empty_ranges_are_refused() {
    let map = map_of([(10..=19, 'a')]);
    let refused = map.try_insert(5..5, 'b').unwrap_err();
    assert_eq!((refused.value, refused.cause), ('b', InsertErrorKind::InvalidRequest));
    assert!(catch_unwind(AssertUnwindSafe(|| map.insert(15..15, 'b'))).is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| map.remove(15..15))).is_err());
    assert_eq!(map.read().overlapping(15..15).next(), None);
    assert_eq!(map.read().overlapping(15..15).next_back(), None);
    assert_eq!(map.read().gaps(0..0).next(), None);
    assert_eq!(ranges(&map), [(10..=19, 'a')]);
}

#[test]
fn iterators_meet_in_the_middle() {
    let map: RangeMap<usize> = (0..100).map(|i| (i * 10..i * 10 + 5, i)).collect();
    let guard = map.read();
    let mut iter = guard.overlapping(12..=950);
    let (mut low, mut high) = (Vec::new(), Vec::new());
    while let Some((_, value)) = iter.next() {
        low.push(*value);
        high.extend(iter.next_back().map(|(_, value)| *value));
    }
    assert_eq!((iter.next(), iter.next_back()), (None, None));
    low.extend(high.into_iter().rev());
    assert_eq!(low, (1..=95).collect::<Vec<_>>());
}

#[test]
fn removing_leaves_what_sticks_out() {
    let map = map_of([(0..=9, 'a'), (10..=19, 'b'), (20..=29, 'c')]);
    map.remove(5..25);
    assert_eq!(ranges(&map), [(0..=4, 'a'), (25..=29, 'c')]);
    assert_eq!(map.read().gaps(..30).collect::<Vec<_>>(), [5..=24]);
    assert_eq!(map.read().gaps(5..=7).collect::<Vec<_>>(), [5..=7]);
}

#[test]
fn what_is_taken_can_be_kept() {
    let map = map_of([(0..=9, 'a'), (10..=19, 'b')]);
    let (range, value) = map.take(15).unwrap();
    assert_eq!((range, *value), (10..=19, 'b'));
    assert!(map.take(15).is_none());
    synchronize();
    assert_eq!(Arc::strong_count(&value), 1);
    assert_eq!(ranges(&map), [(0..=9, 'a')]);
}

#[test]
fn equal_neighbours_join_if_asked_to() {
    let map = map_of([(0..=9, 'a'), (10..=19, 'b'), (20..=29, 'a')]);
    map.insert_merge(10..20, 'a');
    assert_eq!(ranges(&map), [(0..=29, 'a')]);
    map.insert_merge(5..=5, 'b');
    assert_eq!(ranges(&map), [(0..=4, 'a'), (5..=5, 'b'), (6..=29, 'a')]);
}

#[test]
fn a_comparison_that_panics_leaves_the_map_usable() {
    #[derive(Clone, Copy, Debug)]
    struct Touchy(u32);
    impl PartialEq for Touchy {
        fn eq(&self, _: &Touchy) -> bool {
            panic!("do not compare me")
        }
    }
    let map = RangeMap::new();
    map.insert(0..10, Touchy(1));
    let result = catch_unwind(AssertUnwindSafe(|| map.insert_merge(10..20, Touchy(2))));
    assert_eq!(*result.unwrap_err().downcast::<&str>().unwrap(), "do not compare me");
    let values: Vec<_> = ranges(&map).into_iter().map(|(range, value)| (range, value.0)).collect();
    assert_eq!(values, [(0..=9, 1), (10..=19, 2)]);
    map.insert(5..15, Touchy(3)); // the lock is free, and no panic is left over
    drop(map);
}

#[test]
fn an_update_sees_every_piece_once_in_order() {
    let map = map_of([(10..=19, 'a'), (30..=39, 'b')]);
    let mut seen = Vec::new();
    let c = Arc::new('c');
    map.update(15..35, |range, value| {
        seen.push((range, value.map(|value| **value)));
        value.is_some().then(|| Arc::clone(&c))
    });
    assert_eq!(seen, [(15..=19, Some('a')), (20..=29, None), (30..=34, Some('b'))]);
    assert_eq!(ranges(&map), [(10..=14, 'a'), (15..=19, 'c'), (30..=34, 'c'), (35..=39, 'b')]);
    map.update(.., |_, _| Some(Arc::clone(&c)));
    assert_eq!(ranges(&map), [(0..=MAX, 'c')]);
    map.clear();
    synchronize();
    assert_eq!(Arc::strong_count(&c), 1);
}

#[test]
fn an_update_that_panics_changes_nothing() {
    let map: RangeMap<usize> = (0..100).map(|i| (i * 10..i * 10 + 5, i)).collect();
    let before = ranges(&map);
    let mut calls = 0;
    let result = catch_unwind(AssertUnwindSafe(|| {
        map.update(.., |_, _| {
            calls += 1;
            assert!(calls < 70, "enough");
            Some(Arc::new(7))
        });
    }));
    assert_eq!(*result.unwrap_err().downcast::<&str>().unwrap(), "enough");
    assert_eq!(calls, 70);
    assert_eq!(ranges(&map), before);
}

#[test]
fn places_are_found_by_size_alignment_and_fit() {
    let map = map_of([(0..=0x10ff, 'a'), (0x3000..=0x3fff, 'b')]);
    let window = 0..0x5000;
    assert_eq!(map.alloc(Area::new(0x100), window.clone(), 'c').unwrap(), 0x1100);
    assert_eq!(map.alloc(Area::new(0x100).align(0x1000), window.clone(), 'd').unwrap(), 0x2000);
    assert_eq!(map.alloc(Area::new(0x100).highest(), window.clone(), 'e').unwrap(), 0x4f00);
    let none = map.alloc(Area::new(0x2000), window.clone(), 'f').unwrap_err();
    assert_eq!((none.value, none.cause), ('f', AllocErrorKind::Busy));
    for area in [Area::new(0), Area::new(0x5001), Area::new(1).align(3), Area::new(1).align(0)] {
        let refused = map.alloc(area, window.clone(), 'g').unwrap_err();
        assert_eq!(refused.cause, AllocErrorKind::InvalidRequest, "{:?}", area);
    }
    assert_eq!(map.alloc(Area::new(1), 5..5, 'g').unwrap_err().value, 'g');
}

#[test]
fn many_lookups_at_once_are_single_lookups() {
    let map: RangeMap<usize> = (0..5000).map(|i| (i * 10..i * 10 + 5, i)).collect();
    let keys: Vec<usize> = (0..2000).map(|i| i * 7919 % 60_000).collect();
    let guard = map.read();
    let mut values = vec![None; keys.len()];
    guard.get_many(&keys, &mut values);
    for (key, value) in keys.iter().zip(values) {
        assert_eq!(value, guard.get(*key));
    }
    guard.get_many(&[], &mut []);
    assert!(catch_unwind(AssertUnwindSafe(|| guard.get_many(&[1], &mut []))).is_err());
}

#[test]
fn a_snapshot_and_its_map_go_their_own_ways() {
    let map: RangeMap<usize> = (0..1000).map(|i| (i * 10..i * 10 + 5, i)).collect();
    let before = ranges(&map);
    let copy = map.snapshot();
    let second = copy.clone();
    map.remove(100..5000);
    copy.insert(.., 1);
    assert_eq!(ranges(&second), before);
    assert_eq!(ranges(&copy), [(0..=MAX, 1)]);
    drop(map);
    drop(copy);
    assert_eq!(ranges(&second), before);
}

#[test]
fn entries_are_read_and_changed_under_the_lock() {
    let map = map_of([(10..=19, 'a')]);
    let mut lock = map.lock();
    assert_eq!(lock.entry(12).range(), 10..=19);
    assert_eq!(*lock.entry(12).or_fill_with(|| 'x'), 'a');
    assert_eq!(*lock.entry(25).or_insert_with(24..26, || 'b'), 'b');
    match lock.entry(12) {
        Entry::Occupied(mut entry) => {
            assert_eq!(*entry.replace('c'), 'a');
            assert_eq!((entry.range(), *entry.get()), (10..=19, 'c'));
            assert_eq!(*entry.remove(), 'c');
        }
        Entry::Vacant(_) => panic!("it is occupied"),
    }
    match lock.entry(12) {
        Entry::Vacant(entry) => {
            assert_eq!(entry.gap(), 0..=23);
            assert_eq!(*entry.fill('d'), 'd');
        }
        Entry::Occupied(_) => panic!("it is removed"),
    }
    assert_eq!(lock.get(23), Some(&'d'));
    assert_eq!(lock.find(24), Found::Value(24..=25, &'b'));
    lock.insert(26.., 'e');
    lock.remove(5..=5);
    assert_eq!(lock.iter().rev().map(|(_, v)| *v).collect::<String>(), "ebdd");
    assert_eq!(lock.gaps(..).collect::<Vec<_>>(), [5..=5]);
    let outside = catch_unwind(AssertUnwindSafe(|| match map_of([(0..=4, 'a')]).lock().entry(5) {
        Entry::Vacant(entry) => drop(entry.insert(4..6, 'b')),
        Entry::Occupied(_) => unreachable!(),
    }));
    assert!(outside.unwrap_err().downcast::<String>().unwrap().contains("not inside the gap"));
    drop(lock);
    map.insert(0..1, 'f');
}

#[test]
fn a_map_is_shown_as_a_map() {
    assert_eq!(format!("{:?}", map_of([(1..=2, 'a'), (3..=3, 'b')])), "{1..=2: 'a', 3..=3: 'b'}");
}
