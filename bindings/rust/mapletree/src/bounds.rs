// SPDX-License-Identifier: MIT
//! Ranges as their users write them, and as the library takes them.

use std::ops::{Bound, RangeBounds};

/// First and last index of `range`, or `None` if it is empty or reversed.
pub(crate) fn inclusive<R: RangeBounds<usize>>(range: R) -> Option<(usize, usize)> {
    let first = match range.start_bound() {
        Bound::Included(&first) => first,
        Bound::Excluded(&before) => before.checked_add(1)?,
        Bound::Unbounded => 0,
    };
    let last = match range.end_bound() {
        Bound::Included(&last) => last,
        Bound::Excluded(&end) => end.checked_sub(1)?,
        Bound::Unbounded => usize::MAX,
    };
    if first <= last {
        Some((first, last))
    } else {
        None
    }
}

/// The same; panics if the range is empty or reversed.
#[track_caller]
pub(crate) fn nonempty<R: RangeBounds<usize>>(range: R) -> (usize, usize) {
    match inclusive(range) {
        Some(bounds) => bounds,
        None => panic!("the range is empty, or begins behind its end"),
    }
}

#[cfg(test)]
mod tests {
    use super::inclusive;
    use std::ops::Bound::{Excluded, Included, Unbounded};

    #[test]
    fn bounds_of_every_kind_become_first_and_last() {
        const MAX: usize = usize::MAX;
        assert_eq!(inclusive(..), Some((0, MAX)));
        assert_eq!(inclusive(3..), Some((3, MAX)));
        assert_eq!(inclusive(..3), Some((0, 2)));
        assert_eq!(inclusive(..=3), Some((0, 3)));
        assert_eq!(inclusive(MAX..=MAX), Some((MAX, MAX)));
        assert_eq!(inclusive((Excluded(3), Unbounded)), Some((4, MAX)));
        assert_eq!(inclusive((Excluded(3), Included(4))), Some((4, 4)));
    }

    #[test]
    #[allow(clippy::reversed_empty_ranges)]
    fn empty_ranges_are_none() {
        assert_eq!(inclusive(3..3), None);
        assert_eq!(inclusive(..0), None);
        assert_eq!(inclusive(4..=3), None);
        assert_eq!(inclusive((Excluded(usize::MAX), Unbounded)), None);
        assert_eq!(inclusive((Excluded(3), Excluded(4))), None);
    }
}
