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

pub(crate) mod estimate;
pub(crate) mod identify;
pub(crate) mod originals;
pub(crate) mod protocol;
pub(crate) mod report;
pub(crate) mod source;
pub(crate) mod verify;
pub(crate) mod write;

use std::sync::Arc;

use cairndb_env::{Dir, Env};
use cairndb_leveldb::Recovery;

use crate::state::context::ReadContext;
use crate::state::files::opener::TableOpener;
use crate::versions::settings::Settings;

/// The directory to convert, and how its tables are to be written.
pub(crate) struct UpgradeTarget {
    pub(crate) env: Arc<dyn Env>,
    pub(crate) dir: Arc<dyn Dir>,
    pub(crate) opener: Arc<TableOpener>,
    pub(crate) settings: Settings,
    pub(crate) context: ReadContext,
    /// What to do with damage of LevelDB's logs.
    pub(crate) recovery: Recovery,
}
