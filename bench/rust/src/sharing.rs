// SPDX-License-Identifier: MIT
//! Two more maps whose snapshots share: rpds's persistent red-black tree, and concread's B+tree,
//! whose read transactions stand still beside its writer.

use crate::{pairs, store_over, Range, Ranges};

mod red_black {
    use super::*;
    use crate::export;
    use rpds::RedBlackTreeMap;

    type Map = RedBlackTreeMap<u64, (u64, usize)>;

    impl Ranges for Map {
        fn create() -> Self {
            RedBlackTreeMap::new()
        }

        #[inline]
        fn load(&self, index: u64) -> usize {
            match self.range(..=index).next_back() {
                Some((_, &(last, entry))) if index <= last => entry,
                _ => 0,
            }
        }

        unsafe fn insert(map: *mut Self, range: Range) {
            (*map).insert_mut(range.first, (range.last, range.entry));
        }

        unsafe fn store(map: *mut Self, range: Range) {
            store_over!(
                range,
                |index| (*map).range(..=index).next_back().map(|(&first, &tail)| (first, tail)),
                |index| (*map).range(index..).next().map(|(&first, &tail)| (first, tail)),
                |first, tail| (*map).insert_mut(first, tail),
                |first| (*map).remove_mut(&first)
            );
        }

        unsafe fn erase(map: *mut Self, range: Range) -> bool {
            (*map).remove_mut(&range.first)
        }

        unsafe fn resize(map: *mut Self, range: Range, last: u64) {
            if let Some(tail) = (*map).get_mut(&range.first) {
                tail.0 = last;
            }
        }

        #[inline]
        fn visit(&self, backward: bool, mut each: impl FnMut(u64, u64, usize)) {
            pairs!(self, backward, each);
        }

        fn dup(&self) -> Self {
            self.clone()
        }
    }

    export!(
        Map,
        redblack_create,
        redblack_destroy,
        redblack_load,
        redblack_insert,
        redblack_store,
        redblack_erase,
        redblack_resize,
        redblack_sum,
        redblack_list,
        redblack_dup,
        redblack_independent,
        redblack_chained
    );
}

mod transactions {
    use super::*;
    use crate::export;
    use concread::bptree::{BptreeMap, BptreeMapReadTxn};

    type Tree = BptreeMap<u64, (u64, usize)>;

    /// A map, or a view of one, which must not outlive it. Only the map is written.
    pub enum Map {
        Tree(Tree),
        View(BptreeMapReadTxn<'static, u64, (u64, usize)>),
    }

    impl Map {
        unsafe fn tree<'a>(map: *mut Self) -> &'a Tree {
            match &*map {
                Map::Tree(tree) => tree,
                Map::View(_) => unreachable!("a view is only read"),
            }
        }

        fn with<R>(
            &self,
            look: impl FnOnce(&BptreeMapReadTxn<'_, u64, (u64, usize)>) -> R,
        ) -> R {
            match self {
                Map::Tree(tree) => look(&tree.read()),
                Map::View(view) => look(view),
            }
        }
    }

    impl Ranges for Map {
        fn create() -> Self {
            Map::Tree(Tree::new())
        }

        fn load(&self, index: u64) -> usize {
            self.with(|view| match view.range(..=index).next_back() {
                Some((_, &(last, entry))) if index <= last => entry,
                _ => 0,
            })
        }

        unsafe fn insert(map: *mut Self, range: Range) {
            let mut writer = Map::tree(map).write();
            writer.insert(range.first, (range.last, range.entry));
            writer.commit();
        }

        unsafe fn store(map: *mut Self, range: Range) {
            let writer = std::cell::RefCell::new(Map::tree(map).write());
            store_over!(
                range,
                |index| {
                    let writer = writer.borrow();
                    let found = writer.range(..=index).next_back();
                    found.map(|(&first, &tail)| (first, tail))
                },
                |index| {
                    let writer = writer.borrow();
                    let found = writer.range(index..).next();
                    found.map(|(&first, &tail)| (first, tail))
                },
                |first, tail| writer.borrow_mut().insert(first, tail),
                |first| writer.borrow_mut().remove(&first)
            );
            writer.into_inner().commit();
        }

        unsafe fn erase(map: *mut Self, range: Range) -> bool {
            let mut writer = Map::tree(map).write();
            let found = writer.remove(&range.first).is_some();
            writer.commit();
            found
        }

        unsafe fn resize(map: *mut Self, range: Range, last: u64) {
            let mut writer = Map::tree(map).write();
            if let Some(tail) = writer.get_mut(&range.first) {
                tail.0 = last;
            }
            writer.commit();
        }

        fn visit(&self, backward: bool, mut each: impl FnMut(u64, u64, usize)) {
            self.with(|view| pairs!(view, backward, each));
        }

        fn dup(&self) -> Self {
            match self {
                Map::Tree(tree) => Map::View(unsafe { std::mem::transmute(tree.read()) }),
                Map::View(_) => unreachable!("views are of maps"),
            }
        }
    }

    export!(
        Map,
        transactions_create,
        transactions_destroy,
        transactions_load,
        transactions_insert,
        transactions_store,
        transactions_erase,
        transactions_resize,
        transactions_sum,
        transactions_list,
        transactions_dup,
        transactions_independent,
        transactions_chained
    );
}
