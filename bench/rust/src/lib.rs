// SPDX-License-Identifier: MIT
//! Maps of Rust behind the benchmark's interface: each implements `Ranges`, and `export!` gives
//! its functions C names.

mod btree;
#[cfg(feature = "crates")]
mod interval;
#[cfg(feature = "imbl")]
mod persistent;
#[cfg(feature = "sharing")]
mod sharing;
#[cfg(feature = "crates")]
mod skiplist;
#[cfg(feature = "crates")]
mod treeindex;

/// `struct range` of engine.h; entries are integers here.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Range {
    pub first: u64,
    pub last: u64,
    pub entry: usize,
}

/// What engine.h asks of a map. `visit` calls back in order, or backwards where the map can.
pub trait Ranges: Sized {
    fn create() -> Self;
    fn load(&self, index: u64) -> usize;
    /// Changes take a pointer: the concurrent maps are changed beside their readers, through a
    /// shared reference; for the others the caller has excluded everybody else.
    unsafe fn insert(map: *mut Self, range: Range);
    unsafe fn store(map: *mut Self, range: Range);
    unsafe fn erase(map: *mut Self, range: Range) -> bool;
    unsafe fn resize(map: *mut Self, range: Range, last: u64);
    fn visit(&self, backward: bool, each: impl FnMut(u64, u64, usize));
    fn dup(&self) -> Self;
}

/// What `store` does, by what a map of first indexes offers: `before` the first range that begins at or below an
/// index, `at_or_above` the first that begins there or above.
#[macro_export]
macro_rules! store_over {
    ($range:expr, $before:expr, $at_or_above:expr, $insert:expr, $remove:expr) => {{
        let range: $crate::Range = $range;
        let mut rest: Option<(u64, usize)> = None;
        if range.first > 0 {
            if let Some((first, tail)) = $before(range.first - 1) {
                if tail.0 > range.last {
                    rest = Some(tail);
                }
                if tail.0 >= range.first {
                    $insert(first, (range.first - 1, tail.1));
                }
            }
        }
        while let Some((first, tail)) = $at_or_above(range.first) {
            if first > range.last {
                break;
            }
            $remove(first);
            if tail.0 > range.last {
                rest = Some(tail);
            }
        }
        if let Some(tail) = rest {
            $insert(range.last + 1, tail);
        }
        $insert(range.first, (range.last, range.entry));
    }};
}

/// Calls `each` for every range of a map from first indexes to last ones and entries.
#[macro_export]
macro_rules! pairs {
    ($map:expr, $backward:expr, $each:ident) => {
        if $backward {
            $map.iter().rev().for_each(|(&first, tail)| $each(first, tail.0, tail.1));
        } else {
            $map.iter().for_each(|(&first, tail)| $each(first, tail.0, tail.1));
        }
    };
}

#[macro_export]
macro_rules! export {
    ($map:ty, $create:ident, $destroy:ident, $load:ident, $insert:ident, $store:ident,
     $erase:ident, $resize:ident, $sum:ident, $list:ident, $dup:ident, $independent:ident,
     $chained:ident) => {
        mod exported {
            use super::*;
            use $crate::{Range, Ranges};

            #[no_mangle]
            pub extern "C" fn $create() -> *mut $map {
                Box::into_raw(Box::new(<$map as Ranges>::create()))
            }

            #[no_mangle]
            pub unsafe extern "C" fn $destroy(map: *mut $map) {
                drop(Box::from_raw(map));
            }

            #[no_mangle]
            pub unsafe extern "C" fn $load(map: *const $map, index: u64) -> usize {
                Ranges::load(&*map, index)
            }

            #[no_mangle]
            pub unsafe extern "C" fn $insert(map: *mut $map, range: *const Range) -> bool {
                <$map as Ranges>::insert(map, *range);
                true
            }

            #[no_mangle]
            pub unsafe extern "C" fn $store(map: *mut $map, range: *const Range) -> bool {
                <$map as Ranges>::store(map, *range);
                true
            }

            #[no_mangle]
            pub unsafe extern "C" fn $erase(map: *mut $map, range: *const Range) -> bool {
                <$map as Ranges>::erase(map, *range)
            }

            #[no_mangle]
            pub unsafe extern "C" fn $resize(
                map: *mut $map,
                range: *const Range,
                last: u64,
            ) -> bool {
                <$map as Ranges>::resize(map, *range, last);
                true
            }

            #[no_mangle]
            pub unsafe extern "C" fn $sum(map: *const $map, backward: bool) -> u64 {
                let mut sum = 0u64;
                Ranges::visit(&*map, backward, |_, last, entry| {
                    sum = sum.wrapping_add(last).wrapping_add(entry as u64)
                });
                sum
            }

            #[no_mangle]
            pub unsafe extern "C" fn $list(
                map: *const $map,
                backward: bool,
                out: *mut Range,
                max: usize,
            ) -> usize {
                let mut count = 0;
                Ranges::visit(&*map, backward, |first, last, entry| {
                    if count < max {
                        *out.add(count) = Range { first, last, entry };
                    }
                    count += 1;
                });
                count
            }

            #[no_mangle]
            pub unsafe extern "C" fn $dup(map: *const $map) -> *mut $map {
                Box::into_raw(Box::new(Ranges::dup(&*map)))
            }

            #[no_mangle]
            pub unsafe extern "C" fn $independent(
                map: *const $map,
                keys: *const u64,
                count: usize,
            ) -> u64 {
                let keys = std::slice::from_raw_parts(keys, count);
                keys.iter()
                    .fold(0, |sum: u64, &key| sum.wrapping_add(Ranges::load(&*map, key) as u64))
            }

            #[no_mangle]
            pub unsafe extern "C" fn $chained(
                map: *const $map,
                keys: *const u64,
                count: usize,
            ) -> u64 {
                let (mut sum, mut last) = (0u64, 0u64);
                for &key in std::slice::from_raw_parts(keys, count) {
                    last = Ranges::load(&*map, key.wrapping_add(last & 1)) as u64;
                    sum = sum.wrapping_add(last);
                }
                sum
            }
        }
    };
}
