//! Checks of a list and its tree, for tests.

use super::{APPENDED, List};
use crate::tree::Tree;

impl List {
    pub(crate) fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Checks the tree's order and that it contains enough of the list's nodes.
    pub(crate) fn check_tree(&self) {
        let mut node = self.sentinel();
        let mut passed = 0;
        self.tree.check(&mut |indexed| {
            node = node.next();
            while node.as_ptr() != indexed.as_ptr() {
                assert!(
                    node != self.sentinel(),
                    "the list must contain the tree's nodes in the same order"
                );
                passed += 1;
                assert!(
                    passed < APPENDED,
                    "a search must step over at most a few nodes"
                );
                node = node.next();
            }
            passed = 0;
        });
        while node.next() != self.sentinel() {
            node = node.next();
            passed += 1;
            assert!(
                passed < APPENDED,
                "a search must step over at most a few nodes"
            );
        }
    }
}
