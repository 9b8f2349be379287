//! The settings that a run uses to open its database.

use std::cmp::Ordering;
use std::sync::Arc;

use cairndb::{
    Append, Comparator, Compression, MEMORY_BUDGET_MIN, Options, VALUE_FILE_BYTES_DEFAULT,
};
use cairndb_env::Env;
use cairndb_env::random::Random;

/// The settings of a run, either plain or random.
#[expect(
    clippy::struct_excessive_bools,
    reason = "the settings are independent of each other"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// Memory budget in bytes.
    pub budget: usize,
    /// Whether values are compressed.
    pub compress: bool,
    /// Filter bits per key.
    pub filter_bits: u32,
    /// Forces mapped reads (`true`) or `pread` (`false`).
    pub mapped: Option<bool>,
    /// Whether every page is verified at every read.
    pub verify_always: bool,
    /// Whether keys have reverse order.
    pub reverse: bool,
    /// Length at which value files are closed.
    pub value_file: u64,
    /// Whether a lease holds the log for a consumer of changes.
    pub leased: bool,
}

impl Setup {
    /// Returns settings with the smallest budget and defaults for everything else.
    pub fn plain() -> Setup {
        Setup {
            budget: MEMORY_BUDGET_MIN,
            compress: true,
            filter_bits: 10,
            mapped: None,
            verify_always: false,
            reverse: false,
            value_file: VALUE_FILE_BYTES_DEFAULT,
            leased: false,
        }
    }

    /// Returns random settings. Small budgets are more likely than large ones.
    pub fn random(random: &mut Random) -> Setup {
        Setup {
            budget: MEMORY_BUDGET_MIN << [0, 0, 0, 1, 2][random.index(5)],
            compress: random.below(3) > 0,
            filter_bits: [10, 10, 0, 4][random.index(4)],
            mapped: [None, Some(true), Some(false)][random.index(3)],
            verify_always: random.below(4) == 0,
            reverse: random.below(6) == 0,
            value_file: [0, 20_000, VALUE_FILE_BYTES_DEFAULT][random.index(3)],
            leased: random.below(3) == 0,
        }
    }

    /// Returns the options to open the database in `env`, which create it if it is missing.
    pub fn options(&self, env: Arc<dyn Env>) -> Options {
        let compression = if self.compress {
            Compression::Fast
        } else {
            Compression::None
        };
        let mut options = Options::new()
            .env(env)
            .create_if_missing(true)
            .memory_budget(self.budget)
            .compression(compression)
            .filter_bits_per_key(self.filter_bits)
            .verify_always(self.verify_always)
            .value_file_bytes(self.value_file)
            .merge_operator(Arc::new(Append))
            .register_comparator(Arc::new(Reverse));
        if let Some(mapped) = self.mapped {
            options = options.mapped(mapped);
        }
        if self.reverse {
            options = options.comparator(Arc::new(Reverse));
        }
        options
    }
}

/// Reverse bytewise order.
#[derive(Debug)]
pub struct Reverse;

impl Comparator for Reverse {
    fn name(&self) -> &'static str {
        "testkit.reverse"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        b.cmp(a)
    }
}
