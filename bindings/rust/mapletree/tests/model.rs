// SPDX-License-Identifier: MIT
//! Random operations on a `RangeMap` and on a model of it, a `BTreeMap` from each range's first
//! index to its last and its value. SEED repeats a run, CASES says how many sequences there are.

use mapletree::{Area, Found, RangeMap};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

const MAX: usize = usize::MAX;

#[derive(Clone, Debug)]
enum Op {
    Insert(RangeInclusive<usize>, u8),
    InsertVacant(RangeInclusive<usize>, u8),
    InsertMerge(RangeInclusive<usize>, u8),
    Remove(RangeInclusive<usize>),
    Take(usize),
    /// Values below the number become one greater, others are removed, gaps of the range are filled.
    Update(RangeInclusive<usize>, u8),
    Alloc(usize, u32, bool, RangeInclusive<usize>, u8),
    Fill(usize, u8),
    Snapshot,
    /// Go on with the snapshot that was taken last.
    Return,
}

#[derive(Clone, Default)]
struct Model(BTreeMap<usize, (usize, u8)>);

impl Model {
    fn pieces(&self, range: &RangeInclusive<usize>) -> Vec<(usize, usize, u8)> {
        let whole = self.0.iter().map(|(&first, &(last, value))| (first, last, value));
        whole.filter(|&(first, last, _)| first <= *range.end() && last >= *range.start()).collect()
    }

    fn gaps(&self, range: &RangeInclusive<usize>) -> Vec<RangeInclusive<usize>> {
        let (mut gaps, mut next) = (Vec::new(), Some(*range.start()));
        for (first, last, _) in self.pieces(range) {
            let from = next.expect("ranges do not overlap");
            if first > from {
                gaps.push(from..=first - 1);
            }
            next = last.checked_add(1);
        }
        match next {
            Some(from) if from <= *range.end() => gaps.push(from..=*range.end()),
            _ => {}
        }
        gaps
    }

    fn remove(&mut self, range: &RangeInclusive<usize>) {
        for (first, last, value) in self.pieces(range) {
            self.0.remove(&first);
            if first < *range.start() {
                self.0.insert(first, (range.start() - 1, value));
            }
            if last > *range.end() {
                self.0.insert(range.end() + 1, (last, value));
            }
        }
    }

    fn insert(&mut self, range: &RangeInclusive<usize>, value: u8) {
        self.remove(range);
        self.0.insert(*range.start(), (*range.end(), value));
    }

    fn insert_merge(&mut self, range: &RangeInclusive<usize>, value: u8) {
        self.remove(range);
        let (mut first, mut last) = (*range.start(), *range.end());
        let around = first.saturating_sub(1)..=last.saturating_add(1);
        for (from, to, other) in self.pieces(&around) {
            if other == value {
                first = first.min(from);
                last = last.max(to);
                self.0.remove(&from);
            }
        }
        self.0.insert(first, (last, value));
    }

    fn place(
        &self,
        size: usize,
        align: usize,
        top: bool,
        window: &RangeInclusive<usize>,
    ) -> Option<usize> {
        let gaps = self.gaps(window);
        let lowest = |gap: &RangeInclusive<usize>| {
            let start = gap.start().checked_add(align - 1)? & !(align - 1);
            (start <= *gap.end() && gap.end() - start >= size - 1).then_some(start)
        };
        let highest = |gap: &RangeInclusive<usize>| {
            let start = gap.end().checked_sub(size - 1)? & !(align - 1);
            (start >= *gap.start()).then_some(start)
        };
        if top {
            gaps.iter().rev().find_map(highest)
        } else {
            gaps.iter().find_map(lowest)
        }
    }
}

/// Indexes close to one another, and to both ends.
fn index() -> impl Strategy<Value = usize> {
    prop_oneof![4 => 0..200_usize, 1 => (0..20_usize).prop_map(|below| MAX - below)]
}

fn range() -> impl Strategy<Value = RangeInclusive<usize>> {
    let near = (index(), 0..12_usize).prop_map(|(first, more)| first..=first.saturating_add(more));
    let far = (index(), index()).prop_map(|(a, b)| a.min(b)..=a.max(b));
    prop_oneof![9 => near, 1 => far]
}

fn op() -> impl Strategy<Value = Op> {
    let value = 0..4_u8;
    prop_oneof![
        8 => (range(), value.clone()).prop_map(|(range, value)| Op::Insert(range, value)),
        2 => (range(), value.clone()).prop_map(|(range, value)| Op::InsertVacant(range, value)),
        2 => (range(), value.clone()).prop_map(|(range, value)| Op::InsertMerge(range, value)),
        2 => range().prop_map(Op::Remove),
        1 => index().prop_map(Op::Take),
        1 => (range(), value.clone()).prop_map(|(range, value)| Op::Update(range, value)),
        2 => (1..9_usize, 0..5_u32, any::<bool>(), range(), value.clone())
            .prop_map(|(size, align, top, range, value)| Op::Alloc(size, align, top, range, value)),
        1 => (index(), value).prop_map(|(index, value)| Op::Fill(index, value)),
        1 => Just(Op::Snapshot),
        1 => Just(Op::Return),
    ]
}

/// Both, and what both were when the last snapshot was taken.
struct Pair {
    map: RangeMap<u8>,
    model: Model,
    snapshot: Option<(RangeMap<u8>, Model)>,
}

impl Pair {
    fn apply(&mut self, op: &Op) -> Result<(), TestCaseError> {
        let (map, model) = (&self.map, &mut self.model);
        match op.clone() {
            Op::Insert(range, value) => {
                map.insert(range.clone(), value);
                model.insert(&range, value);
            }
            Op::InsertVacant(range, value) => {
                let vacant = model.pieces(&range).is_empty();
                prop_assert_eq!(map.try_insert_vacant(range.clone(), value).is_ok(), vacant);
                if vacant {
                    model.insert(&range, value);
                }
            }
            Op::InsertMerge(range, value) => {
                map.insert_merge(range.clone(), value);
                model.insert_merge(&range, value);
            }
            Op::Remove(range) => {
                map.remove(range.clone());
                model.remove(&range);
            }
            Op::Take(index) => {
                let taken =
                    map.take(index).map(|(range, value)| (*range.start(), *range.end(), *value));
                prop_assert_eq!(taken, model.pieces(&(index..=index)).pop());
                if let Some((first, last, _)) = taken {
                    model.remove(&(first..=last));
                }
            }
            Op::Update(range, limit) => update(map, model, &range, limit)?,
            Op::Alloc(size, align, top, window, value) => {
                let area = Area::new(size).align(1 << align);
                let area = if top { area.highest() } else { area };
                let place = model.place(size, 1 << align, top, &window);
                prop_assert_eq!(map.alloc(area, window, value).ok(), place);
                if let Some(start) = place {
                    model.insert(&(start..=start + (size - 1)), value);
                }
            }
            Op::Fill(index, value) => {
                map.lock().entry(index).or_fill_with(|| value);
                for gap in model.gaps(&(0..=MAX)) {
                    if gap.contains(&index) {
                        model.insert(&gap, value);
                    }
                }
            }
            Op::Snapshot => self.snapshot = Some((map.snapshot(), model.clone())),
            Op::Return => {
                if let Some((map, model)) = self.snapshot.take() {
                    self.map = map;
                    self.model = model;
                }
            }
        }
        Ok(())
    }

    fn compare(&self, window: &RangeInclusive<usize>) -> Result<(), TestCaseError> {
        let (map, model) = (&self.map, &self.model);
        map.check().map_err(TestCaseError::fail)?;
        let guard = map.read();
        let plain =
            |(range, value): (RangeInclusive<usize>, &u8)| (*range.start(), *range.end(), *value);
        let all = model.pieces(&(0..=MAX));
        prop_assert_eq!(guard.iter().map(plain).collect::<Vec<_>>(), all.clone());
        let mut down: Vec<_> = guard.iter().rev().map(plain).collect();
        down.reverse();
        prop_assert_eq!(down, all);
        let over = guard.overlapping(window.clone()).map(plain);
        prop_assert_eq!(over.collect::<Vec<_>>(), model.pieces(window));
        prop_assert_eq!(guard.gaps(window.clone()).collect::<Vec<_>>(), model.gaps(window));
        prop_assert_eq!(guard.gaps(..).collect::<Vec<_>>(), model.gaps(&(0..=MAX)));
        for index in [*window.start(), *window.end()] {
            let found = match guard.find(index) {
                Found::Value(range, value) => (*range.start(), *range.end(), Some(*value)),
                Found::Gap(range) => (*range.start(), *range.end(), None),
            };
            let piece = model.pieces(&(index..=index)).pop();
            let gap = model.gaps(&(0..=MAX)).into_iter().find(|gap| gap.contains(&index));
            let expected = piece.map(|(first, last, value)| (first, last, Some(value)));
            let expected = expected.or_else(|| gap.map(|gap| (*gap.start(), *gap.end(), None)));
            prop_assert_eq!(Some(found), expected);
            prop_assert_eq!(guard.get(index).copied(), found.2);
        }
        Ok(())
    }
}

fn update(
    map: &RangeMap<u8>,
    model: &mut Model,
    range: &RangeInclusive<usize>,
    limit: u8,
) -> Result<(), TestCaseError> {
    let mut seen = Vec::new();
    let next = |value: Option<u8>| match value {
        Some(value) if value < limit => Some(value + 1),
        Some(_) => None,
        None => Some(0),
    };
    map.update(range.clone(), |piece, value| {
        seen.push((piece, value.map(|value| **value)));
        next(value.map(|value| **value)).map(Arc::new)
    });
    let cut = |first: usize, last: usize| first.max(*range.start())..=last.min(*range.end());
    let mut expected: Vec<_> = model.gaps(range).into_iter().map(|gap| (gap, None)).collect();
    for (first, last, value) in model.pieces(range) {
        expected.push((cut(first, last), Some(value)));
    }
    expected.sort_by_key(|(piece, _)| *piece.start());
    prop_assert_eq!(&seen, &expected);
    for (piece, value) in expected {
        model.remove(&piece);
        if let Some(value) = next(value) {
            model.insert(&piece, value);
        }
    }
    Ok(())
}

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok().filter(|text| !text.is_empty())?;
    Some(text.parse().unwrap_or_else(|_| panic!("{} is a number, not {:?}", name, text)))
}

#[test]
fn a_map_is_what_its_model_is() {
    let seed = number("SEED").unwrap_or_else(|| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        now.expect("a clock behind 1970").as_nanos() as u64
    });
    println!("SEED={}", seed);
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let cases = number("CASES").unwrap_or(200) as u32;
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let sequences = prop::collection::vec((op(), range()), 1..80);
    let result = TestRunner::new_with_rng(config, rng).run(&sequences, |ops| {
        let mut pair = Pair { map: RangeMap::new(), model: Model::default(), snapshot: None };
        for (op, window) in &ops {
            pair.apply(op)?;
            pair.compare(window)?;
        }
        if let Some((map, model)) = pair.snapshot.take() {
            pair = Pair { map, model, snapshot: None };
            pair.compare(&(0..=MAX))?;
        }
        Ok(())
    });
    if let Err(error) = result {
        panic!("SEED={}: {}", seed, error);
    }
}
