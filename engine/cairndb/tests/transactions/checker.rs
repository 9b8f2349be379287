//! Checks that a history of transactions can be put into one order.
//!
//! Every key holds a list, and every write appends an identifier to it, so the final list of a key
//! is the order of its writes (the method of Kingsbury and Alvaro, "Elle", VLDB 2020). From reads
//! of lists follow the dependencies between transactions: who wrote before whom, who read whose
//! write, and who read before a write. If they have a cycle, no order explains the history. With
//! the times at which transactions began and ended added, the order must also be the real one.

use std::collections::{HashMap, HashSet};

/// Identifies a transaction; it is also what the transaction appends.
pub(crate) type Id = u32;

/// A committed transaction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Done {
    pub(crate) id: Id,
    /// Keys read, each with the list without the transaction's own writes.
    pub(crate) reads: Vec<(u32, Vec<Id>)>,
    /// Keys appended to, each once.
    pub(crate) appends: Vec<u32>,
    /// Those of them that the transaction read in order to append to them.
    pub(crate) updates: Vec<u32>,
    /// Moments before the start and after the commit, by a common clock.
    pub(crate) began: u64,
    pub(crate) ended: u64,
}

/// The order of the writes of each key.
pub(crate) type Lists = HashMap<u32, Vec<Id>>;

/// What a history shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    /// Number of dependencies between transactions.
    pub(crate) dependencies: usize,
}

/// Checks that the writes of committed transactions, and no others, are in the lists, each once,
/// and that every read was of a moment: the start of the final list.
pub(crate) fn check_writes(history: &[Done], lists: &Lists) -> Result<(), String> {
    let mut expected: HashSet<(u32, Id)> = HashSet::new();
    for done in history {
        expected.extend(done.appends.iter().map(|key| (*key, done.id)));
    }
    for (key, list) in lists {
        for id in list {
            if !expected.remove(&(*key, *id)) {
                return Err(format!("key {key} has {id} twice, or without a commit"));
            }
        }
    }
    if let Some((key, id)) = expected.iter().next() {
        return Err(format!("key {key} has lost the write of {id}"));
    }
    for done in history {
        for (key, seen) in &done.reads {
            let (id, list) = (done.id, list_of(lists, *key));
            if !list.starts_with(seen) {
                return Err(format!("{id} read {seen:?} of key {key}, never its list"));
            }
        }
    }
    Ok(())
}

/// Checks that a transaction that updated a key had read everything before its own write.
pub(crate) fn check_updates(history: &[Done], lists: &Lists) -> Result<(), String> {
    for done in history {
        let updated = done.reads.iter();
        for (key, seen) in updated.filter(|(key, _)| done.updates.contains(key)) {
            let (id, list) = (done.id, list_of(lists, *key));
            if list.get(seen.len()) != Some(&id) {
                return Err(format!("{id} overwrote an update of key {key} unseen"));
            }
        }
    }
    Ok(())
}

fn list_of(lists: &Lists, key: u32) -> &[Id] {
    lists.get(&key).map_or(&[], Vec::as_slice)
}

/// Checks that the dependencies of the history have no cycle.
pub(crate) fn check_order(history: &[Done], lists: &Lists) -> Result<Shown, String> {
    let mut graph = Graph::over(history);
    for list in lists.values() {
        for pair in list.windows(2) {
            graph.add(pair[0], pair[1]);
        }
    }
    for done in history {
        for (key, seen) in &done.reads {
            if let Some(last) = seen.last() {
                graph.add(*last, done.id);
            }
            let list = list_of(lists, *key);
            if let Some(next) = list.get(seen.len()).filter(|next| **next != done.id) {
                graph.add(done.id, *next);
            }
        }
    }
    let dependencies = graph.edges;
    graph.add_times(history);
    match graph.cycle() {
        None => Ok(Shown { dependencies }),
        Some(ids) => Err(format!("no order explains these transactions: {ids:?}")),
    }
}

/// Transactions, then the moments at which one ended, in order.
struct Graph {
    nodes: HashMap<Id, usize>,
    ids: Vec<Option<Id>>,
    after: Vec<Vec<usize>>,
    edges: usize,
}

impl Graph {
    fn over(history: &[Done]) -> Graph {
        let ids: Vec<Option<Id>> = history.iter().map(|done| Some(done.id)).collect();
        let nodes = history.iter().enumerate();
        Graph {
            nodes: nodes.map(|(node, done)| (done.id, node)).collect(),
            after: vec![Vec::new(); ids.len()],
            ids,
            edges: 0,
        }
    }

    fn add(&mut self, before: Id, after: Id) {
        if before != after {
            let (before, after) = (self.nodes[&before], self.nodes[&after]);
            self.after[before].push(after);
            self.edges += 1;
        }
    }

    /// Adds that a transaction that ended before another began comes first: through a chain of
    /// moments, because all pairs would be too many.
    fn add_times(&mut self, history: &[Done]) {
        let ends = history
            .iter()
            .zip(0..)
            .map(|(done, node)| (done.ended, node));
        let mut ends: Vec<(u64, usize)> = ends.collect();
        ends.sort_unstable();
        let first = self.ids.len();
        for (index, (_, node)) in ends.iter().enumerate() {
            self.ids.push(None);
            self.after.push(Vec::new());
            self.after[*node].push(first + index);
            if index > 0 {
                self.after[first + index - 1].push(first + index);
            }
        }
        for (node, done) in history.iter().enumerate() {
            let ended = ends.partition_point(|(end, _)| *end < done.began);
            if let Some(last) = ended.checked_sub(1) {
                self.after[first + last].push(node);
            }
        }
    }

    /// Returns the transactions of a part of the graph in which each depends on another of them.
    fn cycle(&self) -> Option<Vec<Id>> {
        let mut waiting = vec![0_usize; self.after.len()];
        for after in self.after.iter().flatten() {
            waiting[*after] += 1;
        }
        let mut ready: Vec<usize> = (0..waiting.len()).filter(|n| waiting[*n] == 0).collect();
        let mut ordered = 0;
        while let Some(node) = ready.pop() {
            ordered += 1;
            for after in &self.after[node] {
                waiting[*after] -= 1;
                if waiting[*after] == 0 {
                    ready.push(*after);
                }
            }
        }
        if ordered == waiting.len() {
            return None;
        }
        let left = (0..waiting.len()).filter(|node| waiting[*node] > 0);
        Some(left.filter_map(|node| self.ids[node]).take(20).collect())
    }
}

fn done(id: Id, reads: &[(u32, &[Id])], appends: &[u32], time: (u64, u64)) -> Done {
    let reads = reads.iter().map(|(key, seen)| (*key, seen.to_vec()));
    Done {
        id,
        reads: reads.collect(),
        appends: appends.to_vec(),
        updates: appends.to_vec(),
        began: time.0,
        ended: time.1,
    }
}

#[test]
fn the_checker_finds_write_skew() {
    let lists = Lists::from([(1, vec![10]), (2, vec![20])]);
    let history = |seen: &[Id]| {
        let first = done(10, &[(2, &[])], &[1], (0, 9));
        [first, done(20, &[(1, seen)], &[2], (0, 9))]
    };
    let skewed = history(&[]);
    check_writes(&skewed, &lists).unwrap();
    check_updates(&skewed, &lists).unwrap();
    assert!(check_order(&skewed, &lists).is_err());
    let ordered = check_order(&history(&[10]), &lists).unwrap();
    assert_eq!(ordered.dependencies, 2);
}

#[test]
fn the_checker_finds_lost_updates_and_dirty_reads() {
    let lists = Lists::from([(1, vec![10, 20])]);
    let lost = [
        done(10, &[(1, &[])], &[1], (0, 9)),
        done(20, &[(1, &[])], &[1], (0, 9)),
    ];
    assert!(check_updates(&lost, &lists).is_err());
    let dirty = [
        done(10, &[], &[1], (0, 9)),
        done(20, &[(1, &[10, 30])], &[1], (0, 9)),
    ];
    assert!(check_writes(&dirty, &lists).is_err());
    let vanished = [done(10, &[], &[1], (0, 9)), done(20, &[], &[1, 2], (0, 9))];
    assert!(check_writes(&vanished, &lists).is_err());
}

#[test]
fn the_checker_finds_reads_of_the_past() {
    let lists = Lists::from([(1, vec![10])]);
    let check = |times: [(u64, u64); 2]| {
        let first = done(10, &[], &[1], times[0]);
        check_order(&[first, done(20, &[(1, &[])], &[], times[1])], &lists)
    };
    assert!(check([(0, 1), (2, 3)]).is_err());
    check([(0, 2), (1, 3)]).unwrap();
}
