//! The sources of a flush or merge as one stream of entries, forward only.
//!
//! Readers merge with a heap ([`crate::read::merging_iter`]), which costs nothing where one source has what they
//! ask for, and goes both ways. A job sees every entry of every source, and where keys are random the next one is of
//! another source each time. So here a [loser tree](LoserTree) says which is next; the heads of a run's keys are taken for
//! a page at a time; and the match for the entry after the current one is played before that is used: who moves the
//! current one knows that its key has no other version, where the heads before and behind it differ, and need not
//! keep a copy of it. With the readers' heap a fifth of a random load's processor time was spent on finding
//! what is next.
//! Where one source runs on, as of keys that came in order, nothing is played from a page's beginning up to where the
//! nearest other key would stand in it.
//!
//! Equal keys come newest source first: sources are given newest first, and over one key a newer source's entries
//! are all newer, so sequence numbers need not be compared across sources - they may be elided in tables.
//!
//! Invariants:
//! 1. The tree's winner is `next`, where that is known by a match, else the current entry; all other sources stand in it.
//! 2. Heads are all of one kind, so that two can be compared.

use std::cmp::Ordering;

use cairndb_base::{HeadRule, Kind, Order, Result, SeqNo};
use cairndb_format::table::EntryIn;
use cairndb_mem::MemCursor;

use crate::jobs::loser_tree::{LoserTree, Place};
use crate::read::source::Source;

/// Most heads of a run's page that are taken at once: a page of classic values has half as many, and one of many runs
/// is to take no more than a kilobyte or two for them.
const HEADS_AHEAD: usize = 128;

/// Where heads come from.
#[derive(Debug)]
enum Heads {
    /// The entries: memtables of one hint keep heads that order among each other.
    Kept,
    /// The keys.
    Taken(HeadRule),
    /// Nowhere: in a custom order they would say nothing.
    None,
}

/// Heads of a run's page, and which of them is the current entry's.
#[derive(Debug, Default)]
struct PageHeads {
    heads: Vec<u64>,
    at: usize,
    /// The length of their keys, where the heads hold all of them that is not the prefix; else 0.
    key_len: usize,
}

/// What is known of a key and of the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// They are the same.
    None,
    /// They differ.
    Sure,
    /// Whole keys have to be compared.
    Unknown,
}

/// Who is next of two sources of equal heads.
#[derive(Clone, Copy)]
struct Ties<'a> {
    sources: &'a [Source],
    ahead: &'a [PageHeads],
    order: &'a Order,
    /// The source that plays for the entry behind the one it is at.
    peeking: Option<usize>,
}

impl Ties<'_> {
    #[inline]
    fn before(&self, a: Place, b: Place) -> bool {
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
    sources: Vec<Source>,
    order: Order,
    heads: Heads,
    ahead: Vec<PageHeads>,
    tree: LoserTree,
    current: Place,
    /// The entry behind the current one, where it is known without a step.
    next: Option<Place>,
    /// That one is sure to have another key than the current one.
    changes: bool,
    /// Steps that are sure to stay before all other sources.
    free: usize,
    /// The current key, beside the one before the last step.
    change: Change,
    /// The first so many sources only hide entries of the others.
    hiders: usize,
}

impl Inputs {
    pub(crate) fn new(sources: Vec<Source>, order: Order) -> Inputs {
        let hint = sources.first().and_then(Source::hint);
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
            current: Place::END,
            next: None,
            changes: false,
            free: 0,
            change: Change::Unknown,
            hiders: 0,
        }
    }

    /// The same, of which the first `hiders` sources only say what is hidden: their entries stay
    /// where they are.
    pub(crate) fn hidden_by(self, hiders: usize) -> Inputs {
        assert!(hiders < self.sources.len(), "something is to be hidden");
        Inputs { hiders, ..self }
    }

    /// Whether some sources only hide.
    #[inline]
    pub(crate) fn has_hiders(&self) -> bool {
        self.hiders > 0
    }

    /// Whether the current entry is one that only hides.
    #[inline]
    pub(crate) fn only_hides(&self) -> bool {
        self.current.source < self.hiders
    }

    /// Goes to the first entry of all.
    pub(crate) fn first(&mut self) -> Result<()> {
        for source in &mut self.sources {
            source.first()?;
        }
        self.begin();
        Ok(())
    }

    /// Goes to the first entry not before `(key, seq)`.
    pub(crate) fn seek(&mut self, key: &[u8], seq: SeqNo) -> Result<()> {
        for source in &mut self.sources {
            source.seek(key, seq)?;
        }
        self.begin();
        Ok(())
    }

    fn begin(&mut self) {
        let places: Vec<Place> = (0..self.sources.len()).map(|at| self.arrive(at)).collect();
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

    /// Where a source is that was moved to what may be another page.
    fn arrive(&mut self, at: usize) -> Place {
        let source = &self.sources[at];
        if !source.valid() {
            return Place::END;
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
        Place { head, source: at }
    }

    /// Plays the match for the entry behind the current one, where its source knows that entry.
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
        let place = Place { head, source: at };
        let differs = head != self.current.head;
        if self.free > 0 {
            self.free -= 1;
            (self.next, self.changes) = (Some(place), differs || source.unique());
            return;
        }
        let next = self.play(place, at, Some(at));
        (self.next, self.changes) = (Some(next), next.head != self.current.head);
    }

    /// Lets the source `at` play again, at `place`.
    #[inline]
    fn play(&mut self, place: Place, at: usize, peeking: Option<usize>) -> Place {
        let ties = Ties {
            sources: &self.sources,
            ahead: &self.ahead,
            order: &self.order,
            peeking,
        };
        self.tree.replay(at, place, |a, b| ties.before(a, b))
    }

    /// Goes one entry on.
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
    fn arrive_and_play(&mut self, at: usize) -> Place {
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

    /// Whether the current key is another than the one that the last step has left.
    #[inline]
    pub(crate) fn change(&self) -> Change {
        self.change
    }

    /// Whether the entry behind the current one is sure to have another key.
    #[inline]
    pub(crate) fn changes(&self) -> bool {
        self.changes
    }

    /// The memtable that all entries are of, where there is only one, in bytewise order. Whoever has moved it calls
    /// [`Inputs::note_moved`].
    #[inline]
    pub(crate) fn lone_memtable(&mut self) -> Option<&mut MemCursor> {
        match self.sources.as_mut_slice() {
            [Source::Mem(cursor)] if self.order.is_bytewise() => Some(cursor),
            _ => None,
        }
    }

    /// What there is to be known after [`Inputs::lone_memtable`] was moved.
    pub(crate) fn note_moved(&mut self) {
        self.current = self.arrive(0);
        self.change = Change::Unknown;
        self.look_behind();
    }

    #[inline]
    fn source(&self) -> Option<&Source> {
        self.sources.get(self.current.source)
    }

    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        self.source().map_or(&[], Source::key)
    }

    #[inline]
    pub(crate) fn seq(&self) -> SeqNo {
        self.source().map_or(0, Source::seq)
    }

    #[inline]
    pub(crate) fn kind(&self) -> Kind {
        self.source().map_or(Kind::Delete, Source::kind)
    }

    /// The current entry, its value verbatim where it can be copied so.
    #[inline]
    pub(crate) fn entry(&mut self) -> Result<EntryIn<'_>> {
        match self.sources.get_mut(self.current.source) {
            Some(source) => source.entry(),
            None => Ok(EntryIn::default()),
        }
    }

    /// The current value, decoded.
    #[inline]
    pub(crate) fn value(&mut self) -> Result<&[u8]> {
        let Some(source) = self.sources.get_mut(self.current.source) else {
            return Ok(&[]);
        };
        source.load_value()?;
        Ok(source.value())
    }
}

/// What all keys have in common, as far as the sources tell. A prefix that some keys do not have costs comparisons,
/// never order.
fn shared_prefix(sources: &[Source]) -> &[u8] {
    let shared = |a: &'_ [u8], b: &[u8]| a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let told = sources.iter().map(Source::prefix);
    told.reduce(|a, b| &a[..shared(a, b)]).unwrap_or_default()
}
