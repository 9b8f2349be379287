//! Backups.

mod backup;
mod catalog;
mod contents;
mod hex;
mod key;
mod moments;
mod object;
mod pace;
mod place;
mod places;
mod prune;
mod records;
mod repository;
mod restore;
mod verify;

pub use backup::{Backup, BackupOptions, BackupReport};
pub use contents::Contents;
pub use key::Key;
pub use moments::{Moment, Moments};
pub use place::{Download, Object, Place, Upload};
#[cfg(any(feature = "s3", feature = "gcs", feature = "azure"))]
pub use places::Objects;
pub use places::{Directory, open_place};
pub use prune::{PruneReport, Retention};
pub use repository::Repository;
pub use restore::{Restore, RestoreReport};
pub use verify::{Backups, VerifyReport};
