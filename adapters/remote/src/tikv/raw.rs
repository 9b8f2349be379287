//! Raw mode: single keys without transactions, in one round trip each.
//!
//! By default the client repeats a write when its answer is lost. A compare-and-set that was
//! applied would then compare with its own value, and a put could overwrite what another client
//! wrote in between. Writes go through a client that sends once, and are repeated here if they were
//! refused.

use std::time::Duration;

use cairndb_store::{CallOptions, Direction, Entry, Error, ErrorKind, Result, Scan, Value};
use tikv_client::{Backoff, RawClient};

use crate::face::{AsyncScan, Deadline, Pending};
use crate::paging::Progress;
use crate::tikv::closed::Closed;
use crate::tikv::errors::{Sent, convert, is_refused};
use crate::tikv::reads::{entry, limit_of, page_of, range_of, until};

/// Returns the error of what raw mode does not have.
pub(super) fn unsupported(what: &str) -> Error {
    Error::new(
        ErrorKind::NotSupported,
        format!("TiKV in raw mode has no {what}; open the store without mode=raw"),
    )
}

/// The result of a write, and whether it was refused before.
struct Written<T> {
    answer: T,
    repeated: bool,
}

/// Writes `key` with `call` and a client that sends once. Repeats it, until the deadline, only if
/// it was refused.
async fn write<T, F>(
    client: &RawClient,
    key: &[u8],
    deadline: &mut Deadline,
    call: impl Fn(RawClient) -> F,
) -> Result<Written<T>>
where
    F: Future<Output = tikv_client::Result<T>>,
{
    let once = client.with_backoff(Backoff::no_backoff());
    let mut repeated = false;
    loop {
        let error = match deadline.wait(call(once.clone())).await {
            Some(Ok(answer)) => return Ok(Written { answer, repeated }),
            Some(Err(error)) => error,
            None => return Err(deadline.exceeded().with_kind(ErrorKind::OutcomeUnknown)),
        };
        if !is_refused(&error) {
            return Err(convert(error, Sent::Write));
        }
        deadline.pause(convert(error, Sent::Nothing)).await?;
        // Without its own repetition the client keeps asking the same server. A read, which it does
        // repeat, makes it look for the right one.
        match get(client, key, deadline).await {
            Err(error) if error.kind() == ErrorKind::DeadlineExceeded => return Err(error),
            _ => repeated = true,
        }
    }
}

/// Puts or deletes one key.
pub(super) async fn set(
    client: &RawClient,
    key: &[u8],
    value: Option<&[u8]>,
    deadline: &mut Deadline,
) -> Result<()> {
    let call = |client: RawClient| async move {
        match value {
            Some(value) => client.put(key.to_vec(), value.to_vec()).await,
            None => client.delete(key.to_vec()).await,
        }
    };
    write(client, key, deadline, call).await.map(drop)
}

/// Compares and sets one key.
pub(super) async fn compare_and_set(
    client: &RawClient,
    key: &[u8],
    expected: Option<&[u8]>,
    new: Option<&[u8]>,
    deadline: &mut Deadline,
) -> Result<bool> {
    let Some(new) = new else {
        return Err(unsupported("compare-and-delete"));
    };
    let call = |client: RawClient| async move {
        let expected = expected.map(<[u8]>::to_vec);
        client
            .compare_and_swap(key.to_vec(), expected, new.to_vec())
            .await
    };
    let written = write(client, key, deadline, call).await?;
    outcome(&written, expected, new)
}

/// Returns whether a compare-and-set has set `new`.
fn outcome(
    written: &Written<(Option<Vec<u8>>, bool)>,
    expected: Option<&[u8]>,
    new: &[u8],
) -> Result<bool> {
    let (found, done) = &written.answer;
    // Its own value, from an attempt that only seemed to be refused, or that of another client.
    if !done && written.repeated && found.as_deref() == Some(new) && expected != Some(new) {
        return Err(Error::new(
            ErrorKind::OutcomeUnknown,
            "the value was set meanwhile, by this call or by another client",
        ));
    }
    Ok(*done)
}

/// A scan, whose pages are of different moments.
pub(super) struct RawScan {
    pub(super) client: RawClient,
    progress: Progress,
    options: CallOptions,
    timeout: Duration,
    closed: Closed,
}

impl RawScan {
    pub(super) fn new(
        client: &RawClient,
        scan: &Scan,
        options: &CallOptions,
        timeout: Duration,
        closed: &Closed,
    ) -> RawScan {
        RawScan {
            client: client.clone(),
            progress: Progress::of(scan),
            options: *options,
            timeout,
            closed: closed.clone(),
        }
    }

    async fn read(&mut self) -> Result<Vec<Entry>> {
        self.closed.check()?;
        if self.progress.ended() {
            return Ok(Vec::new());
        }
        let deadline = Deadline::of(&self.options, self.timeout);
        let (pairs, limit) = loop {
            let (range, limit) = (range_of(&self.progress.rest), limit_of(&self.progress));
            let pairs = match self.progress.rest.direction {
                Direction::Ascending => {
                    until(&deadline, Box::pin(self.client.scan(range, limit))).await
                }
                Direction::Descending => {
                    until(&deadline, Box::pin(self.client.scan_reverse(range, limit))).await
                }
            };
            if let Some(pairs) = page_of(pairs, &mut self.progress)? {
                break (pairs, limit);
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

#[cfg(test)]
mod tests {
    use cairndb_store::ErrorKind;

    use super::{Written, outcome};

    #[test]
    fn a_compare_and_set_that_meets_its_own_value_is_not_taken_for_a_failure() {
        let answer = |found: Option<&[u8]>, done: bool, repeated: bool| Written {
            answer: (found.map(<[u8]>::to_vec), done),
            repeated,
        };
        let (old, new): (Option<&[u8]>, &[u8]) = (Some(b"1"), b"2");
        // After a repetition the value that is found may be that of the first attempt.
        let own = outcome(&answer(Some(new), false, true), old, new).expect_err("unknown");
        assert_eq!(own.kind(), ErrorKind::OutcomeUnknown, "{own}");
        let created = outcome(&answer(Some(new), false, true), None, new).expect_err("unknown");
        assert_eq!(created.kind(), ErrorKind::OutcomeUnknown, "{created}");
        // What was sent once is answered exactly, and so is a value that it cannot have set.
        for (found, done, repeated, expected) in [
            (Some(new), false, false, old),
            (Some(&b"3"[..]), false, true, old),
            (None, false, true, old),
            (old, true, true, old),
            (Some(new), true, true, Some(new)),
        ] {
            let answer = answer(found, done, repeated);
            assert_eq!(outcome(&answer, expected, new).ok(), Some(done));
        }
    }
}
