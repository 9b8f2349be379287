//! `Chain`: the end of the records, to which one program appends.

use cairndb::Place;
use cairndb_base::{Error, ErrorKind, Result};

use crate::catalog::Catalog;
use crate::hex::to_hex;
use crate::records::{Body, Prune, Record, Writer, chain_name, with_header};
use crate::repository::{Owner, Repository};

/// Time after which a program that has said nothing is taken for dead.
const SILENT_MS: u64 = 40_000;

/// The end of the records.
#[derive(Debug)]
pub(crate) struct Chain {
    writer: Writer,
    next: u64,
    last_hash: String,
}

/// How an append has ended.
#[derive(Debug)]
pub(crate) enum Appended {
    Done {
        number: u64,
        bytes: u64,
        /// What was appended, now or by an attempt that seemed to fail.
        body: Body,
    },
    /// Nothing was appended: this comes first.
    Pruned(Prune),
}

impl Chain {
    /// Makes this program the one that appends.
    ///
    /// # Errors
    /// `Locked` if another one does, and `takes_over` is not set; those of the place.
    pub(crate) fn claim(
        repository: &Repository,
        catalog: &Catalog,
        takes_over: bool,
    ) -> Result<Chain> {
        let chain = Chain::end_of(repository, catalog);
        let owner = repository
            .owner()?
            .filter(|owner| !owner.ended && !takes_over);
        let Some(owner) = owner else {
            return Ok(chain);
        };
        let silent = repository.env().wall_ms().abs_diff(owner.time_ms);
        let died = owner.writer.host == chain.writer.host
            && (owner.writer.process == chain.writer.process || !is_alive(owner.writer.process));
        if died || silent > SILENT_MS {
            return Ok(chain);
        }
        let message = "another program backs up to this place; stop it, or wait for 40 seconds if \
                       it was killed";
        Err(Error::new(ErrorKind::Locked, message)
            .directory(repository.place().url().as_ref())
            .found(describe(&owner.writer)))
    }

    /// Returns the end of the records, for a program that appends one.
    pub(crate) fn end_of(repository: &Repository, catalog: &Catalog) -> Chain {
        let host = rustix::system::uname()
            .nodename()
            .to_string_lossy()
            .into_owned();
        Chain {
            writer: Writer {
                session: repository.env().random_u64(),
                host,
                process: std::process::id(),
            },
            next: catalog.next,
            last_hash: catalog.last_hash.clone(),
        }
    }

    /// Returns the number of the next record.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Appends a record.
    ///
    /// # Errors
    /// `Locked` if another program has appended one; those of the place.
    pub(crate) fn append(
        &mut self,
        repository: &Repository,
        body: Body,
        rest: &[u8],
    ) -> Result<Appended> {
        let number = self.next;
        let record = Record {
            previous: self.last_hash.clone(),
            writer: self.writer.clone(),
            written_ms: repository.env().wall_ms(),
            body: body.clone(),
        };
        if let Some((hash, bytes)) = repository.create(number, &with_header(&record, rest))? {
            self.last_hash = to_hex(&hash);
            self.next += 1;
            return Ok(Appended::Done {
                number,
                bytes,
                body,
            });
        }
        let (found, _, hash) = repository.record(number)?;
        if found.writer == self.writer {
            // An attempt that seemed to fail. It had the same contents.
            self.last_hash = hash;
            self.next += 1;
            return Ok(Appended::Done {
                number,
                bytes: 0,
                body: found.body,
            });
        }
        if let Body::Prune(prune) = found.body {
            self.last_hash = hash;
            self.next += 1;
            return Ok(Appended::Pruned(prune));
        }
        let message = "another program has taken over this place, so this one stops; let only one \
                       back up to a place";
        Err(Error::new(ErrorKind::Locked, message)
            .file(chain_name(number))
            .directory(repository.place().url().as_ref())
            .found(describe(&found.writer)))
    }

    /// Informs others who writes, and up to where the place has everything.
    pub(crate) fn inform(&self, repository: &Repository, place: Place, ended: bool) -> Result<()> {
        repository.note_owner(&Owner {
            writer: self.writer.clone(),
            time_ms: repository.env().wall_ms(),
            incarnation: place.incarnation,
            seq: place.seq,
            ended,
        })
    }
}

fn describe(writer: &Writer) -> String {
    format!("process {} on {}", writer.process, writer.host)
}

/// Returns whether a process of this host is alive, or may be.
fn is_alive(process: u32) -> bool {
    let process = i32::try_from(process)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    process.is_some_and(|process| {
        rustix::process::test_kill_process(process) != Err(rustix::io::Errno::SRCH)
    })
}
