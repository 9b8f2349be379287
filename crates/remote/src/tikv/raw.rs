//! Raw mode: single keys without transactions, in one round trip each.

use std::time::Duration;

use cairndb_store::{CallOptions, Direction, Entry, Error, ErrorKind, Result, Scan, Value};
use tikv_client::RawClient;

use crate::face::{AsyncScan, Deadline, Pending};
use crate::paging::Progress;
use crate::tikv::errors::{Sent, convert};
use crate::tikv::reads::{entry, limit_of, range_of, until};

/// Returns the error of what raw mode does not have.
pub(super) fn unsupported(what: &str) -> Error {
    Error::new(
        ErrorKind::NotSupported,
        format!("TiKV in raw mode has no {what}; open the store without mode=raw"),
    )
}

/// Waits for a write until the deadline.
pub(super) async fn written<T>(
    deadline: &Deadline,
    call: impl Future<Output = tikv_client::Result<T>>,
) -> Result<T> {
    match deadline.wait(call).await {
        Some(result) => result.map_err(|error| convert(error, Sent::Write)),
        None => Err(deadline.exceeded().with_kind(ErrorKind::OutcomeUnknown)),
    }
}

/// Compares and sets one key.
pub(super) async fn compare_and_set(
    client: &RawClient,
    key: &[u8],
    expected: Option<&[u8]>,
    new: Option<&[u8]>,
    deadline: &Deadline,
) -> Result<bool> {
    let Some(new) = new else {
        return Err(unsupported("compare-and-delete"));
    };
    let expected = expected.map(<[u8]>::to_vec);
    let call = client.compare_and_swap(key.to_vec(), expected, new.to_vec());
    let (_, done) = written(deadline, call).await?;
    Ok(done)
}

/// A scan, whose pages are of different moments.
pub(super) struct RawScan {
    pub(super) client: RawClient,
    progress: Progress,
    options: CallOptions,
    timeout: Duration,
}

impl RawScan {
    pub(super) fn new(
        client: &RawClient,
        scan: &Scan,
        options: &CallOptions,
        timeout: Duration,
    ) -> RawScan {
        RawScan {
            client: client.clone(),
            progress: Progress::of(scan),
            options: *options,
            timeout,
        }
    }

    async fn read(&mut self) -> Result<Vec<Entry>> {
        if self.progress.ended() {
            return Ok(Vec::new());
        }
        let deadline = Deadline::of(&self.options, self.timeout);
        let (range, limit) = (range_of(&self.progress.rest), limit_of(&self.progress));
        let pairs = match self.progress.rest.direction {
            Direction::Ascending => {
                until(&deadline, Box::pin(self.client.scan(range, limit))).await?
            }
            Direction::Descending => {
                until(&deadline, Box::pin(self.client.scan_reverse(range, limit))).await?
            }
        };
        let page: Vec<Entry> = pairs.into_iter().map(entry).collect();
        let more = page.len() as u64 >= u64::from(limit);
        let _ = self.progress.advance(&page, more);
        Ok(self.progress.take(page))
    }
}

impl AsyncScan for RawScan {
    fn next_page(&mut self) -> Pending<'_, Vec<Entry>> {
        Box::pin(self.read())
    }
}

/// Returns the value of `key`.
pub(super) async fn get(
    client: &RawClient,
    key: &[u8],
    deadline: &Deadline,
) -> Result<Option<Value>> {
    let found = until(deadline, client.get(key.to_vec())).await?;
    Ok(found.map(Value::from))
}
