//! The settings of a list, which are drawn once from the seed.

use std::cmp::Ordering;
use std::path::PathBuf;
use std::sync::Arc;

use cairndb::env::random::Random;
use cairndb::env::{Background, MemEnv};
use cairndb::{
    Add, Append, Comparator, Compression, Durability, KeyspaceOptions, Max, MergeOperator, Options,
};

use crate::data::{KeyShape, ValueMix};

/// The key orders that a list may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Bytewise,
    /// Reverse bytewise order. Equal keys are identical.
    Reverse,
    /// Order by length, then bytewise. Does not declare that equal keys are identical.
    Shortlex,
    /// Ignores the case of ASCII letters, so equal keys may differ.
    FoldCase,
}

/// Those that need a comparator.
pub(crate) const COMPARED: [Order; 3] = [Order::Reverse, Order::Shortlex, Order::FoldCase];

impl Comparator for Order {
    fn name(&self) -> &'static str {
        match self {
            Order::Bytewise => "model.Bytewise",
            Order::Reverse => "model.Reverse",
            Order::Shortlex => "model.Shortlex",
            Order::FoldCase => "model.FoldCase",
        }
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Order::Bytewise => a.cmp(b),
            Order::Reverse => b.cmp(a),
            Order::Shortlex => a.len().cmp(&b.len()).then_with(|| a.cmp(b)),
            Order::FoldCase => {
                let fold = |bytes: &[u8]| bytes.to_ascii_lowercase();
                fold(a).cmp(&fold(b))
            }
        }
    }

    fn equality_is_identity(&self) -> bool {
        *self == Order::Reverse
    }
}

/// The merge operator, if any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    None,
    Add,
    Append,
    Max,
}

impl Operator {
    fn get(self) -> Option<Arc<dyn MergeOperator>> {
        match self {
            Operator::None => None,
            Operator::Add => Some(Arc::new(Add)),
            Operator::Append => Some(Arc::new(Append)),
            Operator::Max => Some(Arc::new(Max)),
        }
    }
}

/// The keyspaces besides the default one. The first is in bytewise order.
pub(crate) const NAMES: [&str; 2] = ["plain", "ordered"];

/// The environment, and the way in which background work runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In memory. The list steps the jobs.
    Stepped,
    /// In memory, with threads.
    Threads,
    /// On disk, with threads.
    Disk,
}

/// The kind of operations that are most frequent in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    Writes,
    Reads,
    Scans,
    /// Flushes, compactions and reopenings every few operations.
    Restless,
}

/// The settings of a list.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) seed: u64,
    pub(crate) order: Order,
    pub(crate) operator: Operator,
    pub(crate) place: Place,
    pub(crate) mood: Mood,
    pub(crate) budget: usize,
    pub(crate) compression: Compression,
    pub(crate) mapped: Option<bool>,
    pub(crate) filter_bits: u32,
    pub(crate) verify_always: bool,
    pub(crate) value_file: u64,
    pub(crate) durability: Durability,
    pub(crate) keys: KeyShape,
    pub(crate) key_count: u32,
    pub(crate) values: ValueMix,
    pub(crate) ops: usize,
    /// Maximum total size in bytes of the operands of one key that a job holds.
    pub(crate) operands_held: usize,
    /// Of eight operations, so many are on keyspaces with names.
    pub(crate) named: u64,
}

fn pick<T: Copy>(random: &mut Random, list: &[T]) -> T {
    list[random.index(list.len())]
}

impl Config {
    /// Draws the settings of list `seed`.
    pub(crate) fn draw(seed: u64) -> Config {
        let mut random = Random::new(seed.wrapping_mul(0x9E37_79B9).wrapping_add(17));
        let random = &mut random;
        let order = match random.below(10) {
            0..6 => Order::Bytewise,
            6 | 7 => Order::Reverse,
            8 => Order::Shortlex,
            _ => Order::FoldCase,
        };
        let operator = match random.index(5) {
            0 => Operator::None,
            1 => Operator::Add,
            2 | 3 => Operator::Append,
            _ => Operator::Max,
        };
        let place = match random.below(16) {
            0..13 => Place::Stepped,
            13 | 14 => Place::Threads,
            _ => Place::Disk,
        };
        let mood = match random.index(6) {
            0 => Mood::Writes,
            1 | 2 => Mood::Reads,
            3 | 4 => Mood::Scans,
            _ => Mood::Restless,
        };
        let keys = match order {
            Order::FoldCase => KeyShape::Letters,
            _ => KeyShape::draw(random),
        };
        let key_count = match random.below(4) {
            0 => 40,
            1 => 400,
            2 => 3_000,
            _ => 12_000,
        };
        Config {
            seed,
            order,
            operator,
            place,
            mood,
            budget: (256 << 10) << random.below(6),
            compression: pick(random, &[Compression::None, Compression::Fast]),
            mapped: pick(random, &[None, Some(true), Some(false)]),
            filter_bits: pick(random, &[0, 10]),
            verify_always: random.below(4) == 0,
            value_file: pick(random, &[0, 100_000, cairndb::VALUE_FILE_BYTES_DEFAULT]),
            durability: match random.index(4) {
                0 => Durability::None,
                1 | 2 => Durability::Os,
                _ => Durability::Sync,
            },
            key_count: key_count.min(keys.count_max()),
            keys,
            values: ValueMix::draw(random, matches!(operator, Operator::Add | Operator::Max)),
            ops: match mood {
                Mood::Restless => 3_000,
                _ => 20_000,
            },
            // Drawn last, so that the lists of known seeds do not change.
            operands_held: pick(random, &[64 << 20, 64 << 20, 2_000, 200]),
            named: pick(random, &[0, 2, 4, 6]),
        }
    }

    /// Returns the options with which the list's database is opened in `env`, with comparators for
    /// `orders`.
    pub(crate) fn options(&self, env: Option<&Arc<MemEnv>>, orders: &[Order]) -> Options {
        let mut options = Options::new()
            .memory_budget(self.budget)
            .compression(self.compression)
            .filter_bits_per_key(self.filter_bits)
            .verify_always(self.verify_always)
            .value_file_bytes(self.value_file)
            .durability(self.durability)
            .fold_limits(1 << 30, self.operands_held)
            .create_if_missing(true);
        if let Some(env) = env {
            options = options.env(env.clone());
        }
        if let Some(mapped) = self.mapped {
            options = options.mapped(mapped);
        }
        for order in orders {
            options = options.register_comparator(Arc::new(*order));
        }
        if self.order != Order::Bytewise {
            options = options.comparator(Arc::new(self.order));
        }
        match self.operator.get() {
            Some(operator) => options.merge_operator(operator),
            None => options,
        }
    }

    /// Draws the order out of `orders`, the operator and the options of a keyspace. Each time that
    /// it is created they may be others.
    pub(crate) fn keyspace(
        &self,
        name: &str,
        births: u64,
        orders: &[Order],
    ) -> (Order, Operator, KeyspaceOptions) {
        let random = &mut Random::new(self.seed ^ births << 40);
        let mut options = KeyspaceOptions::new();
        let order = if name == NAMES[0] {
            Order::Bytewise
        } else {
            pick(random, orders)
        };
        if order != Order::Bytewise {
            options = options.comparator(order.name());
        }
        let operator = match self.values {
            ValueMix::Counters => pick(random, &[Operator::Add, Operator::Append, Operator::Max]),
            _ => pick(random, &[Operator::None, Operator::Append]),
        };
        if let Some(operator) = operator.get() {
            options = options.merge_operator(operator.name());
        }
        if let Some(compression) = pick(random, &[None, Some(Compression::None)]) {
            options = options.compression(compression);
        }
        if let Some(bytes) = pick(random, &[None, Some(20), Some(1_000)]) {
            options = options.value_bytes(bytes);
        }
        (order, operator, options)
    }

    /// Returns the list's environment, or `None` if it runs on disk.
    pub(crate) fn env(&self) -> Option<Arc<MemEnv>> {
        match self.place {
            Place::Stepped => Some(MemEnv::new(Background::Stepped)),
            Place::Threads => Some(MemEnv::new(Background::Threads)),
            Place::Disk => None,
        }
    }

    /// Returns path `n` of a database, in memory or below `root`.
    pub(crate) fn path(&self, root: Option<&tempfile::TempDir>, n: u32) -> PathBuf {
        let base = root.map_or_else(|| PathBuf::from("/model"), |root| root.path().to_owned());
        base.join(format!("db{n}"))
    }
}
