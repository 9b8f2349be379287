//! Checks of a tree, for tests.

use super::{Block, Path, Tree};
use crate::node::NodeRef;
use crate::sync::Ordering;

impl Tree {
    /// Checks that `path` equals the path that a search finds.
    pub(crate) fn check_path(
        &self,
        path: &Path,
        head: u64,
        is_before: &impl Fn(NodeRef<'_>) -> bool,
    ) {
        let mut found = Path {
            steps: path.steps,
            levels: 0,
        };
        self.find_path(&mut found, head, is_before);
        assert_eq!(path.levels, found.levels);
        assert_eq!(path.steps[..path.levels], found.steps[..path.levels]);
    }

    /// Calls `visit` with all nodes in order, and checks heads, levels and links.
    pub(crate) fn check(&self, visit: &mut impl FnMut(NodeRef<'_>)) {
        check_block(self.root(), visit);
    }
}

fn check_block(block: &Block, visit: &mut impl FnMut(NodeRef<'_>)) {
    let heads = block
        .heads
        .each_ref()
        .map(|head| head.load(Ordering::Relaxed));
    let count = block.count.load(Ordering::Relaxed);
    assert!(heads.is_sorted() && heads[count..].iter().all(|&head| head == u64::MAX));
    for (at, &head) in heads.iter().enumerate().take(count) {
        let first = block.first_node(at).head();
        assert!(
            head == first || head == 0 && at == 0,
            "level {}",
            block.level
        );
        if block.level == 0 {
            visit(block.node(at));
        } else {
            let child = block.child(at);
            assert_eq!(child.level + 1, block.level);
            check_block(child, visit);
        }
    }
}
