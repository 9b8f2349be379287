//! Sources of a flush or compaction, merged into one stream of entries, forward only.
//!
//! Readers merge with a heap ([`crate::read::merging_iter`]), which costs nothing while one source
//! has all requested entries, and works in both directions. A job sees every entry of every source,
//! and with random keys each entry is in a different source from the last. With the readers' heap,
//! finding the next entry took a considerable part of a random load. Jobs therefore work
//! differently:
//! - A [loser tree](LoserTree) finds the next entry.
//! - The heads of a run's keys are computed for a page at a time.
//! - The match for the next entry is played before the current one is used. If the head of the
//!   current entry differs from the heads before and after it, its key has no other version and
//!   need not be copied.
//! - If one source continues, as with sequential keys, no match is played from the start of a page
//!   up to the position of the nearest other key.
//!
//! Of equal keys the newest source comes first. Sources are ordered newest first, and for one key
//! all entries of a newer source are newer, so sequence numbers are not compared across sources;
//! tables may have elided them.
//!
//! Invariants:
//! 1. The winner of the tree is `next` if a match determined it, otherwise the current entry. All
//!    other sources are in the tree.
//! 2. All heads are of one kind, so that any two are comparable.

use std::cmp::Ordering;

use cairndb_base::{HeadRule, Kind, Order, Result, SeqNo};
use cairndb_format::table::EntryIn;
use cairndb_mem::MemCursor;

use crate::jobs::loser_tree::{LoserPlace, LoserTree};
use crate::read::source::MergeSource;
use crate::read::source::hidden::ranges_applied;

/// Maximum number of heads of a run's page that are taken at a time: twice as many as a page of
/// typical values has. In a compaction of many runs, each should take only one or two kilobytes for
/// its heads.
const HEADS_AHEAD: usize = 128;

/// Origin of the heads.
#[derive(Debug)]
enum Heads {
    /// Taken from the entries: memtables with one prefix hint keep comparable heads.
    Kept,
    /// Computed from the keys.
    Taken(HeadRule),
    /// None, because heads are meaningless in a custom order.
    None,
}

/// Heads of a run's page, and the index of the current entry's head.
#[derive(Debug, Default)]
struct PageHeads {
    heads: Vec<u64>,
    at: usize,
    /// Length of the keys, if the heads hold all bytes after the prefix; otherwise 0.
    key_len: usize,
}

/// Relation of a key to the key before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// The keys are equal.
    None,
    /// The keys differ.
    Sure,
    /// The whole keys must be compared.
    Unknown,
}

/// Decides between two sources with equal heads.
#[derive(Clone, Copy)]
struct Ties<'a> {
    sources: &'a [MergeSource],
    ahead: &'a [PageHeads],
    order: &'a Order,
    /// Source that plays for the entry after its current one.
    peeking: Option<usize>,
}

impl Ties<'_> {
    #[inline]
    fn before(&self, a: LoserPlace, b: LoserPlace) -> bool {
        let newer = a.source < b.source;
        let len = self.ahead[a.source].key_len;
        if len > 0 && len == self.ahead[b.source].key_len {
            return newer;
        }
        let keys = self.compare(a.source, b.source);
        keys.is_lt() || keys.is_eq() && newer
    }

    #[inline(never)]
    fn compare(&self, a: usize, b: usize) -> Ordering {
        let key = |source: usize| self.sources[source].key();
        match self.peeking {
            Some(source) if source == a => self.sources[a].compare_next(key(b)),
            Some(source) if source == b => self.sources[b].compare_next(key(a)).reverse(),
            _ => self.order.compare(key(a), key(b)),
        }
    }
}

/// Sorted sources, newest first, as one stream.
#[derive(Debug)]
pub(crate) struct Inputs {
    sources: Vec<MergeSource>,
    order: Order,
    heads: Heads,
    ahead: Vec<PageHeads>,
    tree: LoserTree,
    current: LoserPlace,
    /// Entry after the current one, if it is known without a step.
    next: Option<LoserPlace>,
    /// Whether `next` certainly has a different key from the current entry.
    changes: bool,
    /// Number of steps that certainly stay before all other sources.
    free: usize,
    /// Relation of the current key to the key before the last step.
    change: Change,
    /// Number of leading sources that only hide entries of the others.
    hiders: usize,
}

impl Inputs {
    pub(crate) fn new(sources: Vec<MergeSource>, order: Order) -> Inputs {
        let hint = sources.first().and_then(MergeSource::hint);
        let heads = if !order.is_bytewise() {
            Heads::None
        } else if hint.is_some() && sources.iter().all(|source| source.hint() == hint) {
            Heads::Kept
        } else {
            Heads::Taken(HeadRule::new(&order, shared_prefix(&sources).to_vec()))
        };
        Inputs {
            ahead: sources.iter().map(|_| PageHeads::default()).collect(),
            sources,
            order,
            heads,
            tree: LoserTree::default(),
            current: LoserPlace::END,
            next: None,
            changes: false,
            free: 0,
            change: Change::Unknown,
            hiders: 0,
        }
    }

    /// Makes the first `hiders` sources only hide entries of the others. Their own entries are not
    /// moved.
    pub(crate) fn hidden_by(self, hiders: usize) -> Inputs {
        assert!(
            hiders < self.sources.len(),
            "at least one source has entries to move"
        );
        Inputs { hiders, ..self }
    }

    /// Returns whether some sources only hide.
    #[inline]
    pub(crate) fn has_hiders(&self) -> bool {
        self.hiders > 0
    }

    /// Returns whether the current entry belongs to a source that only hides.
    #[inline]
    pub(crate) fn only_hides(&self) -> bool {
        self.current.source < self.hiders
    }

    /// Moves to the first entry.
    pub(crate) fn first(&mut self) -> Result<()> {
        for source in &mut self.sources {
            source.first()?;
        }
        self.begin();
        Ok(())
    }

    /// Moves to the first entry at or after `(key, seq)`.
    pub(crate) fn seek(&mut self, key: &[u8], seq: SeqNo) -> Result<()> {
        for source in &mut self.sources {
            source.seek(key, seq)?;
        }
        self.begin();
        Ok(())
    }

    fn begin(&mut self) {
        let places: Vec<LoserPlace> = (0..self.sources.len()).map(|at| self.arrive(at)).collect();
        let ties = Ties {
            sources: &self.sources,
            ahead: &self.ahead,
            order: &self.order,
            peeking: None,
        };
        self.current = self.tree.begin(&places, |a, b| ties.before(a, b));
        self.free = 0;
        self.change = Change::Unknown;
        self.look_behind();
    }

    /// Returns the position of a source that has possibly entered another page.
    fn arrive(&mut self, at: usize) -> LoserPlace {
        let source = &self.sources[at];
        if !source.valid() {
            return LoserPlace::END;
        }
        let head = match &self.heads {
            Heads::None => 0,
            Heads::Kept => source.kept_head().unwrap_or_default(),
            Heads::Taken(rule) => {
                let ahead = &mut self.ahead[at];
                ahead.at = 0;
                ahead.key_len = source.heads_ahead(rule, HEADS_AHEAD, &mut ahead.heads);
                ahead.heads[0]
            }
        };
        LoserPlace { head, source: at }
    }

    /// Plays the match for the entry after the current one, if its source knows that entry.
    #[inline]
    fn look_behind(&mut self) {
        (self.next, self.changes) = (None, false);
        let at = self.current.source;
        let Some(source) = self.sources.get(at) else {
            return;
        };
        let head = match &self.heads {
            Heads::None => None,
            Heads::Kept => source.next_kept_head(),
            Heads::Taken(_) => {
                let ahead = &self.ahead[at];
                ahead.heads.get(ahead.at + 1).copied()
            }
        };
        let Some(head) = head else {
            return;
        };
        let place = LoserPlace { head, source: at };
        let differs = head != self.current.head;
        if self.free > 0 {
            self.free -= 1;
            (self.next, self.changes) = (Some(place), differs || source.unique());
            return;
        }
        let next = self.play(place, at, Some(at));
        (self.next, self.changes) = (Some(next), next.head != self.current.head);
    }

    /// Lets the source `at` play again with `place`.
    #[inline]
    fn play(&mut self, place: LoserPlace, at: usize, peeking: Option<usize>) -> LoserPlace {
        let ties = Ties {
            sources: &self.sources,
            ahead: &self.ahead,
            order: &self.order,
            peeking,
        };
        self.tree.replay(at, place, |a, b| ties.before(a, b))
    }

    /// Moves to the next entry.
    #[inline]
    pub(crate) fn step(&mut self) -> Result<()> {
        let left = self.current;
        let Some(source) = self.sources.get_mut(left.source) else {
            return Ok(());
        };
        source.next()?;
        let (key_len, changes) = (self.ahead[left.source].key_len, self.changes);
        self.current = match self.next {
            Some(next) => {
                self.ahead[left.source].at += 1;
                next
            }
            None => self.arrive_and_play(left.source),
        };
        let len = self
            .ahead
            .get(self.current.source)
            .map_or(0, |ahead| ahead.key_len);
        self.change = if changes || self.current.head != left.head {
            Change::Sure
        } else if len > 0 && len == key_len {
            Change::None
        } else {
            Change::Unknown
        };
        self.look_behind();
        Ok(())
    }

    #[inline(never)]
    fn arrive_and_play(&mut self, at: usize) -> LoserPlace {
        let place = self.arrive(at);
        let winner = self.play(place, at, None);
        self.free = 0;
        if winner.source == at && matches!(self.heads, Heads::Taken(_)) {
            let ties = Ties {
                sources: &self.sources,
                ahead: &self.ahead,
                order: &self.order,
                peeking: None,
            };
            let second = self.tree.second(at, |a, b| ties.before(a, b));
            self.free = match self.sources.get(second.source) {
                Some(second) => self.sources[at].steps_before(second.key(), true),
                None => usize::MAX,
            };
        }
        winner
    }

    #[inline]
    pub(crate) fn valid(&self) -> bool {
        !self.current.is_end()
    }

    /// Returns the relation of the current key to the key before the last step.
    #[inline]
    pub(crate) fn change(&self) -> Change {
        self.change
    }

    /// Returns whether the entry after the current one certainly has a different key.
    #[inline]
    pub(crate) fn changes(&self) -> bool {
        self.changes
    }

    /// Returns the memtable if it is the only source and the order is bytewise. After moving it,
    /// the caller calls [`Inputs::note_moved`].
    #[inline]
    pub(crate) fn lone_memtable(&mut self) -> Option<&mut MemCursor> {
        match self.sources.as_mut_slice() {
            [MergeSource::Mem(cursor)] if self.order.is_bytewise() => Some(cursor),
            _ => None,
        }
    }

    /// Updates the state after [`Inputs::lone_memtable`] was moved.
    pub(crate) fn note_moved(&mut self) {
        self.current = self.arrive(0);
        self.change = Change::Unknown;
        self.look_behind();
    }

    #[inline]
    fn source(&self) -> Option<&MergeSource> {
        self.sources.get(self.current.source)
    }

    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        self.source().map_or(&[], MergeSource::key)
    }

    #[inline]
    pub(crate) fn seq(&self) -> SeqNo {
        self.source().map_or(0, MergeSource::seq)
    }

    /// Returns the sequence number up to which deletions of ranges have been applied to the current
    /// entry, if its own is stored as 0.
    pub(crate) fn ranges_applied(&self) -> SeqNo {
        self.source().map_or(0, ranges_applied)
    }

    #[inline]
    pub(crate) fn kind(&self) -> Kind {
        self.source().map_or(Kind::Delete, MergeSource::kind)
    }

    /// Returns the current entry, with its value as stored if it can be copied verbatim.
    #[inline]
    pub(crate) fn entry(&mut self) -> Result<EntryIn<'_>> {
        match self.sources.get_mut(self.current.source) {
            Some(source) => source.entry(),
            None => Ok(EntryIn::default()),
        }
    }

    /// Returns the current value, decoded.
    #[inline]
    pub(crate) fn value(&mut self) -> Result<&[u8]> {
        let Some(source) = self.sources.get_mut(self.current.source) else {
            return Ok(&[]);
        };
        source.load_value()?;
        Ok(source.value())
    }
}

/// Returns the prefix that all keys share, as far as the sources determine it. A prefix that some
/// keys lack costs comparisons, never the order.
fn shared_prefix(sources: &[MergeSource]) -> &[u8] {
    let shared = |a: &'_ [u8], b: &[u8]| a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let prefixes = sources.iter().map(MergeSource::prefix);
    prefixes
        .reduce(|a, b| &a[..shared(a, b)])
        .unwrap_or_default()
}
