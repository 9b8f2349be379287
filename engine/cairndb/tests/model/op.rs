//! The operations of a list, and their random generation.

use cairndb::env::random::Random;
use cairndb::{Durability, Job};

use crate::config::{Config, Mood, Place};
use crate::data::ValueSpec;

/// The target of a cursor move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    First,
    Last,
    Seek(u32),
    SeekForPrev(u32),
}

/// A walk: step `n` goes backward if bit `n % 64` of `turns` is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Walk {
    pub(crate) turns: u64,
    pub(crate) steps: u16,
}

impl Walk {
    pub(crate) fn back(self, step: u16) -> bool {
        self.turns >> (step % 64) & 1 == 1
    }
}

/// One bound of a range: an inclusive or exclusive key, or no bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Open,
    With(u32),
    Without(u32),
}

/// The way in which a database is closed before it is reopened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closing {
    Close,
    Drop,
    /// The database is not closed; a copy of its files is opened.
    Kill,
}

/// The source of a read: the database, or a snapshot by its slot.
pub(crate) type Through = Option<u8>;

/// One operation. A key is an index into the list's keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Put(u32, ValueSpec, Option<Durability>),
    Delete(u32, Option<Durability>),
    Merge(u32, ValueSpec),
    /// Deletes the keys from one to before another, or to the end.
    DeleteRange(u32, Option<u32>, Option<Durability>),
    /// Changes drawn from this seed, so many.
    Batch(u64, u16, Option<Durability>),
    /// Consecutive keys from this one, so many, in order.
    Load(u32, u16, ValueSpec),
    Get(u32, Through),
    GetInto(u32, Through),
    Contains(u32),
    /// Keys drawn from this seed, so many.
    MultiGet(u64, u16),
    /// A cursor that lives for one operation.
    Cursor(Through, Target, Walk),
    /// A cursor that is held, in this place, while the database changes.
    Hold(u8, Through),
    Move(u8, Option<Target>, Walk),
    Release(u8),
    Range(Through, End, End, Walk),
    /// The prefix of a key, so long.
    Prefix(Through, u32, u16, Walk),
    Snapshot(u8),
    Forget(u8),
    /// Scans everything, backward if set.
    Scan(Through, bool),
    Size(u32, u32),
    Property(u8),
    Flush,
    Compact(End, End),
    /// Drops the keyspace. The next delete creates it again.
    Drop,
    Step(Job),
    Idle,
    /// Apply all changes to a copy.
    Follow,
    /// From a snapshot, or of everything; and whether the list goes on in it.
    Fork(Through, bool),
    Reopen(Closing),
}

impl Op {
    /// Returns whether the operation needs its keyspace.
    pub(crate) fn is_in_keyspace(self) -> bool {
        !matches!(
            self,
            Op::Snapshot(_)
                | Op::Forget(_)
                | Op::Move(..)
                | Op::Release(_)
                | Op::Property(_)
                | Op::Flush
                | Op::Step(_)
                | Op::Idle
                | Op::Follow
                | Op::Fork(..)
                | Op::Reopen(_)
        )
    }
}

/// The number of a keyspace, 0 for the default one, and an operation.
pub(crate) type Turn = (u8, Op);

/// Maximum number of snapshots, and of cursors, held at a time.
pub(crate) const PLACES: u8 = 4;

/// The effect of a batch on one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Put(u32, ValueSpec),
    Delete(u32),
    Merge(u32, ValueSpec),
    /// From the first key to before the second.
    DeleteRange(u32, u32),
}

impl Change {
    pub(crate) fn key(self) -> u32 {
        let (Change::Put(key, _)
        | Change::Delete(key)
        | Change::Merge(key, _)
        | Change::DeleteRange(key, _)) = self;
        key
    }
}

/// Draws operations.
#[derive(Debug)]
pub(crate) struct Generator<'a> {
    config: &'a Config,
    random: Random,
    /// The next sequential key.
    next: u32,
}

impl<'a> Generator<'a> {
    pub(crate) fn new(config: &'a Config, seed: u64) -> Generator<'a> {
        Generator {
            config,
            random: Random::new(seed),
            next: 0,
        }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random.below(bound)
    }

    fn number(&mut self, bound: u32) -> u32 {
        u32::try_from(self.below(u64::from(bound))).expect("below a u32")
    }

    fn small(&mut self, bound: u64) -> u16 {
        u16::try_from(self.below(bound)).expect("small")
    }

    /// Draws a key to write: a few keys are hot, and some are written in order.
    fn key(&mut self) -> u32 {
        let count = self.config.key_count;
        match self.below(8) {
            0 | 1 => {
                self.next = (self.next + 1) % count;
                self.next
            }
            2 => self.number(count.min(10)),
            _ => self.number(count),
        }
    }

    /// Draws a key to look up: sometimes a neighbour of a written one.
    fn probe(&mut self) -> u32 {
        let other = u32::from(self.below(5) == 0) * self.config.key_count;
        self.key() + other
    }

    fn value(&mut self) -> ValueSpec {
        self.config.values.value(&mut self.random)
    }

    fn operand(&mut self) -> ValueSpec {
        let len = self.number(9);
        let seed = self.value().seed;
        ValueSpec { seed, len }
    }

    fn durability(&mut self) -> Option<Durability> {
        match self.below(40) {
            0 => Some(Durability::Sync),
            1 => Some(Durability::None),
            2..6 => Some(Durability::Os),
            _ => None,
        }
    }

    fn through(&mut self) -> Through {
        (self.below(4) == 0).then(|| self.place())
    }

    fn place(&mut self) -> u8 {
        u8::try_from(self.below(u64::from(PLACES))).expect("small")
    }

    fn target(&mut self) -> Target {
        match self.below(12) {
            0 => Target::First,
            1 => Target::Last,
            2..8 => Target::Seek(self.probe()),
            _ => Target::SeekForPrev(self.probe()),
        }
    }

    fn walk(&mut self) -> Walk {
        let turns = match self.below(5) {
            0 | 1 => 0,
            2 => u64::MAX,
            3 => self.random.next_u64(),
            _ => 0xffff_0000_00ff_0f00 >> self.below(16),
        };
        let most = if self.below(10) == 0 { 400 } else { 24 };
        let steps = self.small(most);
        Walk { turns, steps }
    }

    fn end(&mut self) -> End {
        match self.below(5) {
            0 => End::Open,
            1 | 2 => End::With(self.probe()),
            _ => End::Without(self.probe()),
        }
    }

    /// Draws the number of a keyspace.
    fn space(&mut self) -> u8 {
        let named = self.below(8) < self.config.named;
        u8::from(named) << self.below(2)
    }

    /// Draws a change of a batch, most often in the keyspace `space`.
    pub(crate) fn change_near(&mut self, space: u8) -> (u8, Change) {
        let near = self.below(3) > 0;
        (if near { space } else { self.space() }, self.change())
    }

    fn change(&mut self) -> Change {
        match self.below(50) {
            0..30 => Change::Put(self.key(), self.value()),
            30..39 => Change::Delete(self.key()),
            39 => Change::DeleteRange(self.probe(), self.key()),
            _ => Change::Merge(self.key(), self.operand()),
        }
    }

    /// Draws the keys of a `multi_get`.
    pub(crate) fn probes(&mut self, len: u16) -> Vec<u32> {
        (0..len).map(|_| self.probe()).collect()
    }

    fn write(&mut self) -> Op {
        match self.below(100) {
            0..60 => Op::Put(self.key(), self.value(), self.durability()),
            60..77 => Op::Delete(self.key(), self.durability()),
            77..80 => {
                let end = (self.below(8) > 0).then(|| self.probe());
                Op::DeleteRange(self.probe(), end, self.durability())
            }
            80..94 => Op::Merge(self.key(), self.operand()),
            94..99 => {
                let len = self.small(40);
                Op::Batch(self.random.next_u64(), len, self.durability())
            }
            _ => {
                let len = self.small(200);
                Op::Load(self.key(), len, self.value())
            }
        }
    }

    fn read(&mut self) -> Op {
        match self.below(100) {
            0..30 => Op::Get(self.probe(), self.through()),
            30..70 => Op::GetInto(self.probe(), self.through()),
            70..90 => Op::Contains(self.probe()),
            90..95 => {
                let len = self.small(30);
                Op::MultiGet(self.random.next_u64(), len)
            }
            _ => self.scan(),
        }
    }

    fn scan(&mut self) -> Op {
        let through = self.through();
        match self.below(200) {
            0..80 => Op::Cursor(through, self.target(), self.walk()),
            80..82 => Op::Hold(self.place(), through),
            82..130 => {
                let target = (self.below(3) == 0).then(|| self.target());
                Op::Move(self.place(), target, self.walk())
            }
            130..133 => Op::Release(self.place()),
            133..170 => Op::Range(through, self.end(), self.end(), self.walk()),
            170..190 => {
                let len = self.small(20);
                Op::Prefix(through, self.probe(), len, self.walk())
            }
            190..193 => Op::Snapshot(self.place()),
            193..196 => Op::Forget(self.place()),
            196 => Op::Scan(through, self.below(2) == 0),
            197..199 => Op::Size(self.probe(), self.probe()),
            _ => Op::Property(u8::try_from(self.below(8)).expect("small")),
        }
    }

    fn job(&mut self) -> Job {
        match self.random.index(8) {
            0 | 1 => Job::Flush,
            2 => Job::Compact,
            3 => Job::IdleCompact,
            4 | 5 => Job::Persist,
            6 => Job::Reap,
            _ => Job::DropValues,
        }
    }

    fn upkeep(&mut self) -> Op {
        match self.below(100) {
            0..60 if self.config.place == Place::Stepped => Op::Step(self.job()),
            0..66 => Op::Flush,
            66..72 => Op::Drop,
            72..84 => Op::Compact(self.end(), self.end()),
            84..87 => Op::Compact(End::Open, End::Open),
            87..89 => Op::Idle,
            89 => Op::Follow,
            90 | 91 => Op::Fork(self.through(), self.below(4) == 0),
            92..95 => Op::Reopen(Closing::Close),
            95..97 => Op::Reopen(Closing::Drop),
            _ => Op::Reopen(Closing::Kill),
        }
    }

    /// Draws the next operation and its keyspace.
    pub(crate) fn turn(&mut self) -> Turn {
        (self.space(), self.op())
    }

    fn op(&mut self) -> Op {
        let (writes, reads, scans, upkeep) = match self.config.mood {
            Mood::Writes => (800, 150, 46, 4),
            Mood::Reads => (250, 700, 48, 2),
            Mood::Scans => (300, 100, 596, 4),
            Mood::Restless => (600, 200, 150, 50),
        };
        match self.below(writes + reads + scans + upkeep) {
            n if n < writes => self.write(),
            n if n < writes + reads => self.read(),
            n if n < writes + reads + scans => self.scan(),
            _ => self.upkeep(),
        }
    }
}
