// SPDX-License-Identifier: MIT
//! Readers beside writers: short, to be run under sanitizers as well. MAPLETREE_ROUNDS: how many
//! writes each writer makes.

use mapletree::{Found, RangeMap};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::Barrier;
use std::thread;

const LAST: usize = 999;

/// A value that knows its range, as it was when it was stored.
struct Piece {
    first: usize,
    last: usize,
    text: String,
}

impl Piece {
    fn new(first: usize, last: usize) -> Piece {
        Piece { first, last, text: format!("{}-{}", first, last) }
    }

    fn is_whole(&self) -> bool {
        self.text == format!("{}-{}", self.first, self.last)
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        assert!(self.is_whole(), "dropped twice");
        self.text.clear();
    }
}

fn rounds() -> usize {
    std::env::var("MAPLETREE_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(3000)
}

/// The same on every run: only the interleaving is not.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

fn write(map: &RangeMap<Piece>, random: &mut Random) {
    let first = random.below(LAST + 1);
    let last = (first + random.below(20)).min(LAST);
    match random.below(8) {
        0 => map.remove(first..=last),
        1 => drop(map.take(first)),
        2 => drop(map.snapshot().take(first)),
        3 => drop(map.try_insert_vacant(first..=last, Piece::new(first, last))),
        4 => map.update(first..=last, |_, value| value.cloned()),
        5 => drop(map.lock().entry(first).or_fill_with(|| Piece::new(0, usize::MAX))),
        _ => map.insert(first..=last, Piece::new(first, last)),
    }
}

fn read(map: &RangeMap<Piece>, random: &mut Random) -> usize {
    let guard = map.read();
    let index = random.below(LAST + 1);
    if let Some(piece) = guard.get(index) {
        assert!(piece.is_whole() && piece.first <= index && index <= piece.last);
    }
    if let Found::Value(range, piece) = guard.find(index) {
        assert!(piece.is_whole() && range.contains(&index));
        assert!(piece.first <= *range.start() && *range.end() <= piece.last);
    }
    let mut end = None;
    for (range, piece) in guard.overlapping(index..) {
        assert!(piece.is_whole() && end < Some(*range.end()));
        end = Some(*range.end());
    }
    let kept = guard.get_arc(index);
    let mut values = [None; 3];
    guard.get_many(&[index, 0, LAST], &mut values);
    assert!(values.iter().flatten().all(|piece| piece.is_whole()));
    drop(guard);
    kept.map_or(0, |piece| piece.text.len())
}

#[test]
fn readers_see_whole_values_beside_writers() {
    let map = RangeMap::new();
    map.insert(.., Piece::new(0, usize::MAX)); // readers may be ahead of the writers
    let stop = AtomicBool::new(false);
    let seen = AtomicUsize::new(0);
    let start = Barrier::new(4);
    thread::scope(|scope| {
        for seed in 1..=2 {
            let (map, stop, seen, start) = (&map, &stop, &seen, &start);
            scope.spawn(move || {
                let mut random = Random(seed);
                start.wait();
                // Some always, even if the writers are done before this thread goes on.
                for looks in 0.. {
                    if looks >= 200 && stop.load(Relaxed) {
                        break;
                    }
                    seen.fetch_add(read(map, &mut random), Relaxed);
                }
            });
        }
        let writers: Vec<_> = (3..=4)
            .map(|seed| {
                let (map, start) = (&map, &start);
                scope.spawn(move || {
                    let mut random = Random(seed * 0x9e37_79b9);
                    start.wait();
                    (0..rounds()).for_each(|_| write(map, &mut random));
                })
            })
            .collect();
        let results: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        stop.store(true, Relaxed);
        results.into_iter().for_each(|result| result.unwrap());
    });
    map.check().unwrap();
    assert!(seen.load(Relaxed) > 0);
}
