// SPDX-License-Identifier: MIT
//! Times `mapletree::RangeMap` beside other maps of Rust: nanoseconds an operation, the median of some
//! runs. Usage: mapletree-bench [COUNT...], how many ranges (default: 1000 and 100000).

mod maps;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::RwLock;
use std::time::Instant;

use crossbeam_skiplist::SkipMap;
use mapletree::RangeMap;

use maps::{range, Map, Shared, STEP};

const RUNS: usize = 3;
const LOOKUPS: usize = 100_000;
const WRITES: usize = 20_000;

/// Places in an order that no prefetcher guesses: each of `count` about equally often.
fn shuffled(count: usize, length: usize) -> Vec<usize> {
    let mut x = 0x9e37_79b9_7f4a_7c15_u64;
    let next = || {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        (x % count as u64) as usize
    };
    std::iter::repeat_with(next).take(length).collect()
}

/// Nanoseconds for each of `operations` that `run` makes: the median of the runs.
fn time(operations: usize, mut run: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..RUNS)
        .map(|_| {
            let began = Instant::now();
            run();
            began.elapsed().as_nanos() as f64 / operations as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[RUNS / 2]
}

fn row(name: &str, cells: &[Option<f64>]) {
    print!("| {name:<22} |");
    for cell in cells {
        match cell {
            Some(nanoseconds) => print!(" {nanoseconds:>8.1} |"),
            None => print!("        – |"),
        }
    }
    println!();
}

/// A map that gives wrong answers is not timed.
fn check<M: Map>(map: &mut M, count: usize) {
    for i in [0, 1, count / 2, count - 1] {
        assert_eq!(map.get(range(i).start), Some(i as u64), "{}", M::NAME);
        assert_eq!(map.get(range(i).end - 1), Some(i as u64), "{}", M::NAME);
        assert_eq!(map.get(range(i).end), None, "{}", M::NAME);
        map.replace(i, 7);
        assert_eq!(map.get(range(i).start + 3), Some(7), "{}", M::NAME);
        map.replace(i, i as u64);
    }
    assert_eq!(map.sum(), (0..count as u64).sum(), "{}", M::NAME);
}

/// Lookup, the same batched where there is that, a step of iteration, replacing a range's value.
fn alone<M: Map>(map: &mut M, count: usize, many: Option<f64>) -> Vec<Option<f64>> {
    let places = shuffled(count, LOOKUPS);
    let lookup = time(LOOKUPS, || {
        let found = places.iter().filter(|i| map.get(**i * STEP + 5).is_some()).count();
        assert_eq!(found, LOOKUPS);
    });
    let step = time(count, || assert!(std::hint::black_box(map.sum()) > 0));
    let replace = time(WRITES, || {
        places[..WRITES].iter().for_each(|i| map.replace(*i, *i as u64));
    });
    vec![Some(lookup), many, Some(step), Some(replace)]
}

/// A lookup while another thread replaces values without pause; and how many found nothing, although
/// there is a value in each range all the time.
fn beside_writer<M: Shared>(map: &M, count: usize) -> (f64, usize) {
    let places = shuffled(count, LOOKUPS);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for i in places.iter().rev().cycle() {
                map.replace_shared(*i, *i as u64);
                if stop.load(Relaxed) {
                    break;
                }
            }
        });
        let mut found = 0;
        let lookup = time(LOOKUPS, || {
            found += places.iter().filter(|i| map.get(**i * STEP + 5).is_some()).count();
        });
        stop.store(true, Relaxed);
        (lookup, RUNS * LOOKUPS - found)
    })
}

fn compare<M: Map>(count: usize) {
    let mut map = M::build(count);
    check(&mut map, count);
    let mut cells = alone(&mut map, count, None);
    cells.push(None);
    row(M::NAME, &cells);
}

fn compare_shared<M: Shared>(count: usize) {
    let mut map = M::build(count);
    check(&mut map, count);
    let mut cells = alone(&mut map, count, None);
    let (lookup, missed) = beside_writer(&map, count);
    cells.push(Some(lookup));
    row(M::NAME, &cells);
    if missed > 0 {
        println!("| | {missed} lookups beside the writer found nothing |");
    }
}

/// As the others; but a guard is kept over all lookups, and they are made 64 at a time.
fn in_one_guard(count: usize) {
    let map = RangeMap::<u64>::build(count);
    let keys: Vec<usize> = shuffled(count, LOOKUPS).iter().map(|i| i * STEP + 5).collect();
    let guard = map.read();
    let lookup = time(LOOKUPS, || {
        assert_eq!(keys.iter().filter(|key| guard.get(**key).is_some()).count(), LOOKUPS);
    });
    let many = time(LOOKUPS, || {
        let mut values = [None; 64];
        for keys in keys.chunks(64) {
            guard.get_many(keys, &mut values[..keys.len()]);
            assert!(values[..keys.len()].iter().all(Option::is_some));
        }
    });
    row("  ... under one guard", &[Some(lookup), Some(many), None, None, None]);
}

fn main() {
    let counts: Vec<usize> = std::env::args()
        .skip(1)
        .map(|text| match text.parse() {
            Ok(count) if count > 1 => count,
            _ => panic!("{text:?} is no number of ranges above 1"),
        })
        .collect();
    let counts = if counts.is_empty() { vec![1_000, 100_000] } else { counts };
    for count in counts {
        println!(
            "| {count} ranges: ns | lookup | of 64 | step | replace | lookup beside a writer |"
        );
        println!("|---|---|---|---|---|---|");
        compare_shared::<RangeMap<u64>>(count);
        in_one_guard(count);
        compare::<rangemap::RangeMap<usize, u64>>(count);
        compare::<BTreeMap<usize, (usize, u64)>>(count);
        compare_shared::<RwLock<BTreeMap<usize, (usize, u64)>>>(count);
        compare_shared::<SkipMap<usize, (usize, u64)>>(count);
        compare::<imbl::OrdMap<usize, (usize, u64)>>(count);
        println!();
    }
}
