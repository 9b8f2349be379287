//! How a handle follows another process, or is followed.

use std::time::Duration;

/// How a handle follows another process, or is followed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Following {
    pub(crate) follow: bool,
    pub(crate) manual_refresh: bool,
    pub(crate) lease: Option<Duration>,
    /// Limit on the space that followers of this handle may hold.
    pub(crate) space_max: Option<u64>,
}
