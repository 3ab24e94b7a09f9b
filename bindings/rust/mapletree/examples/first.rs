// SPDX-License-Identifier: MIT
//! The Rust lines of the README.
use mapletree::RangeMap;

fn main() {
    let map = RangeMap::new();
    map.insert(0x1000..0x5000, "file");
    map.insert(0x2000..0x3000, "heap"); // cuts what is there

    let guard = map.read(); // no lock: writers go on
    assert_eq!(guard.get(0x2fff), Some(&"heap"));
    for (range, name) in guard.iter() {
        println!("{range:#x?} {name}");
    }
}
