//! What a follower asks the writer to do: leases are recorded by the writer alone.
//!
//! One request at a time, whose words the asking process keeps locked. A ticket is odd while they
//! are written, so a process that dies meanwhile leaves nothing that the writer would read.

use cairndb_base::{Error, Result, SeqNo};

use crate::layout::{REQUEST_AT, SERVES_WORD};
use crate::log_reader::SharedLog;
use crate::shared::Shared;
use crate::sync::{Ordering, fence};

/// Word of the request's ticket. The process that asks keeps it locked.
const TICKET: usize = REQUEST_AT;
/// Word of what is asked for.
const KIND: usize = REQUEST_AT + 1;
/// Word of the sequence number to begin after, plus 1; 0: now.
const AFTER: usize = REQUEST_AT + 2;
/// Word of the maximum number of bytes.
const BYTES_MAX: usize = REQUEST_AT + 3;
/// Word of the length of the name.
const NAME_LEN: usize = REQUEST_AT + 4;
/// Word of the ticket that was answered last.
const ANSWERED: usize = REQUEST_AT + 5;
/// Word of the answer.
const ANSWER: usize = REQUEST_AT + 6;
/// First word of the name.
const NAME: usize = REQUEST_AT + 8;
/// Number of words of the name.
const NAME_WORDS: usize = 32;

/// What a follower asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// A lease.
    Lease {
        /// Its name.
        name: String,
        /// Where it begins; `None`: at what is durable.
        after: Option<SeqNo>,
        /// Maximum number of bytes that are kept for it.
        bytes_max: u64,
    },
    /// The end of a lease.
    Drop {
        /// Its name.
        name: String,
    },
    /// That the consumer of a lease needs nothing up to a sequence number.
    Acknowledge {
        /// Its name.
        name: String,
        /// The sequence number.
        seq: SeqNo,
    },
}

/// What the writer answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The manifest has it.
    Done,
    /// There is no such lease.
    Unknown,
    /// The log is no longer kept from there on.
    FellOff,
    /// The writer could not record it.
    Failed,
}

/// A request that waits for its answer.
#[derive(Debug)]
pub struct Asked<'s> {
    shared: &'s Shared,
    ticket: u64,
    /// Whether it stays although nobody waits for the answer.
    stays: bool,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        if !self.stays && self.answer().is_none() {
            // Nobody does later what was reported as failed.
            self.shared
                .word(TICKET)
                .store(self.ticket + 1, Ordering::Release);
        }
        self.shared.file().unlock(TICKET);
    }
}

impl Asked<'_> {
    /// Leaves an acknowledgement to the writer, without waiting for it.
    pub fn leave(mut self) {
        self.stays = true;
    }

    /// Returns the answer, once there is one.
    pub fn answer(&self) -> Option<Answer> {
        if self.shared.load(ANSWERED) != self.ticket {
            return None;
        }
        Some(match self.shared.load(ANSWER) {
            0 => Answer::Done,
            1 => Answer::Unknown,
            2 => Answer::FellOff,
            _ => Answer::Failed,
        })
    }
}

impl<'s> SharedLog<'s> {
    /// Asks the writer; `None` if another process is asking. Threads of one process take turns.
    ///
    /// # Errors
    /// Those of the lock; `InvalidArgument` if the name is too long.
    pub fn ask(self, request: &Request) -> Result<Option<Asked<'s>>> {
        let (Request::Lease { name, .. }
        | Request::Drop { name }
        | Request::Acknowledge { name, .. }) = request;
        if name.len() > NAME_WORDS * 8 {
            return Err(Error::invalid("the name of a lease is too long").found(name.len()));
        }
        if !self.shared.file().try_lock(TICKET)? {
            return Ok(None);
        }
        if self.is_left() {
            self.shared.file().unlock(TICKET);
            return Ok(None);
        }
        let store = |word, value| self.shared.word(word).store(value, Ordering::Relaxed);
        let ticket = self.shared.load(TICKET) | 1;
        store(TICKET, ticket);
        fence(Ordering::SeqCst);
        match request {
            Request::Lease {
                after, bytes_max, ..
            } => {
                store(KIND, 1);
                store(AFTER, after.map_or(0, |after| after + 1));
                store(BYTES_MAX, *bytes_max);
            }
            Request::Drop { .. } => store(KIND, 2),
            Request::Acknowledge { seq, .. } => {
                store(KIND, 3);
                store(AFTER, seq + 1);
            }
        }
        store(NAME_LEN, name.len() as u64);
        for (at, bytes) in name.as_bytes().chunks(8).enumerate() {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            store(NAME + at, u64::from_le_bytes(word));
        }
        self.shared
            .word(TICKET)
            .store(ticket + 1, Ordering::Release);
        Ok(Some(Asked {
            shared: self.shared,
            ticket: ticket + 1,
            stays: false,
        }))
    }

    /// Returns whether an acknowledgement was left to the writer.
    fn is_left(self) -> bool {
        let ticket = self.shared.load(TICKET);
        let is_new = ticket.is_multiple_of(2) && ticket != self.shared.load(ANSWERED);
        is_new && self.shared.load(KIND) == 3
    }

    /// Announces that requests are looked for.
    pub fn serve(self) {
        self.shared.word(SERVES_WORD).store(1, Ordering::Release);
    }

    /// Returns whether the writer looks for requests.
    pub fn is_served(self) -> bool {
        self.shared.load(SERVES_WORD) == 1
    }

    /// Returns a request that was not answered, and its ticket.
    pub fn requested(self) -> Option<(u64, Request)> {
        let ticket = self.shared.load(TICKET);
        let is_new = ticket.is_multiple_of(2) && ticket != self.shared.load(ANSWERED);
        // That of a process that has ended is not carried out, unless it was left to the writer.
        let waits = || self.shared.file().is_locked(TICKET).unwrap_or(false);
        if !is_new || !self.is_left() && !waits() {
            return None;
        }
        let relaxed = |word| self.shared.word(word).load(Ordering::Relaxed);
        let len = usize::try_from(relaxed(NAME_LEN)).ok()?;
        let words = (NAME..NAME + NAME_WORDS).map(relaxed);
        let bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).take(len).collect();
        let (kind, after, bytes_max) = (relaxed(KIND), relaxed(AFTER), relaxed(BYTES_MAX));
        fence(Ordering::SeqCst);
        if relaxed(TICKET) != ticket {
            return None;
        }
        let name = String::from_utf8(bytes).ok();
        let name = name.filter(|name| (1..NAME_WORDS * 8).contains(&name.len()))?;
        let after = after.checked_sub(1);
        let request = match (kind, after) {
            (1, after) => Request::Lease {
                name,
                after,
                bytes_max,
            },
            (2, _) => Request::Drop { name },
            (3, Some(seq)) => Request::Acknowledge { name, seq },
            _ => return None,
        };
        Some((ticket, request))
    }

    /// Answers a request.
    pub fn answer(self, ticket: u64, answer: Answer) {
        let code = match answer {
            Answer::Done => 0,
            Answer::Unknown => 1,
            Answer::FellOff => 2,
            Answer::Failed => 3,
        };
        self.shared.word(ANSWER).store(code, Ordering::Relaxed);
        self.shared.word(ANSWERED).store(ticket, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use cairndb_env::implement::SharedHeap;

    use super::*;
    use crate::layout::WORDS;

    #[test]
    fn a_request_is_answered_once() -> Result<()> {
        let file = SharedHeap::new(WORDS);
        let [writer, one, two] = [1, 2, 3].map(|it| Shared::set_up(file.open(it), "SHARED"));
        let (writer, one, two) = (writer?, one?, two?);
        let [writer, one, two] = [&writer, &one, &two].map(SharedLog::of);
        let request = Request::Lease {
            name: "a name that needs several words".to_owned(),
            after: Some(0),
            bytes_max: 77,
        };
        let asked = one.ask(&request)?.expect("nobody else asks");
        assert!(two.ask(&request)?.is_none());
        let (ticket, found) = writer.requested().expect("it was asked");
        assert_eq!(found, request);
        assert_eq!(asked.answer(), None);
        writer.answer(ticket, Answer::FellOff);
        assert_eq!(asked.answer(), Some(Answer::FellOff));
        assert!(writer.requested().is_none());
        drop(asked);
        let name = "n".repeat(255);
        let asked = two.ask(&Request::Drop { name: name.clone() })?;
        assert_eq!(writer.requested().unwrap().1, Request::Drop { name });
        assert_eq!(asked.expect("nobody else asks").answer(), None);
        writer.serve();
        assert!(one.is_served());
        // The asker has not waited for the answer.
        assert!(writer.requested().is_none());
        let name = "n".to_owned();
        let left = Request::Acknowledge { name, seq: 7 };
        one.ask(&left)?.expect("nobody else asks").leave();
        assert!(two.ask(&request)?.is_none(), "it is not overwritten");
        let (ticket, found) = writer.requested().expect("it was left");
        assert_eq!(found, left);
        writer.answer(ticket, Answer::Done);
        assert!(two.ask(&request)?.is_some());
        Ok(())
    }
}
