//! Settings of followers, and of writers that are followed.

use std::time::Duration;

use crate::state::options::Options;

impl Options {
    /// Opens the database to read it while another process may write it; writes fail with
    /// `ReadOnly`. Any number of processes may follow, and none of them keeps a writer out. Unlike
    /// a [read-only](Options::read_only) handle, a follower sees what is written after the open.
    ///
    /// Each read outside a snapshot sees every write that was acknowledged with
    /// [`Durability::Os`](crate::Durability::Os) or [`Durability::Sync`](crate::Durability::Sync)
    /// before it began; writes at [`Durability::None`](crate::Durability::None) are seen after
    /// their flush. Batches are seen whole. Without a writer a follower shows the last state, and
    /// follows when one comes.
    ///
    /// A follower writes into no file of the database but `SHARED`, where it states which files it
    /// needs. It takes memory for a copy of the log that is not in tables yet (up to 256
    /// MiB, see [`Options::memory_budget`]), outside its budget. `false` by default.
    ///
    /// ```
    /// # fn main() -> cairndb::Result<()> {
    /// # let dir = tempfile::tempdir().unwrap();
    /// let db = cairndb::Db::open(&dir)?;
    /// // In another process, or here:
    /// let follower = cairndb::Options::new().follow().open(&dir)?;
    /// db.put(b"granite", b"grey")?;
    /// assert_eq!(follower.get(b"granite")?.as_deref(), Some(&b"grey"[..]));
    /// # Ok(()) }
    /// ```
    pub fn follow(mut self) -> Options {
        self.following.follow = true;
        self
    }

    /// Makes a follower show the state of its last [`Db::refresh`](crate::Db::refresh) or
    /// [`Db::wait_for`](crate::Db::wait_for), instead of the newest one at each read. `false` by
    /// default: a read that has to look for new writes costs a few instructions if there are none.
    pub fn manual_refresh(mut self, manual: bool) -> Options {
        self.following.manual_refresh = manual;
        self
    }

    /// Limits for how long a follower holds files after it last saw new writes or was refreshed.
    /// After that, a writer that has removed files from the database may revoke the follower's
    /// snapshots, cursors and current state; the next read then looks for new writes. None by
    /// default: only the writer's [limit on space](Options::reader_space_max) revokes anything.
    pub fn reader_lease(mut self, lease: Duration) -> Options {
        self.following.lease = Some(lease);
        self
    }

    /// Limits the space of the files that this handle, as the writer, keeps only because followers
    /// need them. Beyond it the oldest views are revoked: their reads fail with `Revoked`. By
    /// default as many bytes as the tables take, but at least 1 GiB. On a full disk followers keep
    /// nothing.
    pub fn reader_space_max(mut self, bytes: u64) -> Options {
        self.following.space_max = Some(bytes);
        self
    }
}
