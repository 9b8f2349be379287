//! Conversion of a LevelDB directory in place: its entries become tables of this format.
//!
//! 1. The LevelDB database is opened and checked, and the space is estimated. Until here nothing
//!    has changed.
//! 2. `leveldb-original/` receives a mark that it is unfinished, then links to all files.
//! 3. The live entries are written to tables and value files under unused numbers, as the output
//!    of a compaction would be, and synced.
//! 4. Everything is read back: number and hash of the entries must be those that LevelDB's files
//!    gave.
//! 5. A manifest is written and synced, and `CURRENT` is replaced. This is the only moment at which
//!    the directory changes from one store to the other.
//! 6. LevelDB's names are removed, then the mark.
//!
//! `docs/format/directory.md` lists what a crash leaves at each step, and what the next attempt
//! does with it. Invariants: no file of LevelDB is written, and none is removed before `CURRENT` is
//! durable and the links are; after an error before step 5, the directory is as it was.

#![forbid(unsafe_code)]

mod estimate;
mod identify;
mod originals;
mod protocol;
mod report;
mod source;
mod verify;
mod write;

use std::fmt;
use std::sync::Arc;

use cairndb_env::{Dir, Env};
use cairndb_files::DatabaseSettings;
pub use cairndb_leveldb::Recovery;

pub use identify::{Owner, owner};
pub use protocol::{plan, upgrade};
pub use report::{
    Progress, UpgradeOutcome, UpgradePlan, UpgradeProgress, UpgradeReport, UpgradeStep,
};

/// The directory to convert, and how its files are to be written.
pub struct Target {
    /// The environment of the directory.
    pub env: Arc<dyn Env>,
    /// The directory.
    pub dir: Arc<dyn Dir>,
    /// How the new files are written.
    pub settings: DatabaseSettings,
    /// What to do with damage of LevelDB's logs.
    pub recovery: Recovery,
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target")
            .field("dir", &self.dir.path())
            .finish_non_exhaustive()
    }
}
