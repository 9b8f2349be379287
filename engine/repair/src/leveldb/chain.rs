//! LevelDB's tables that share no key, read one after the other, block by block.

use std::collections::VecDeque;
use std::sync::Arc;

use cairndb_base::{Error, ErrorKind, Kind, Order, Result, SeqNo};
use cairndb_env::Dir;
use cairndb_leveldb::{SalvagedBlock, TableSalvage, TableStep};

use super::table::LevelTable;
use crate::findings::Findings;
use crate::report::{KeySpan, Loss};

/// The table that is being read.
struct Open {
    table: LevelTable,
    salvage: TableSalvage,
    block: Option<SalvagedBlock>,
    /// Damage whose span ends with the next key.
    hole: Option<Loss>,
    any: bool,
}

/// Tables in key order that share no key.
pub(crate) struct LevelChain {
    dir: Arc<dyn Dir>,
    order: Order,
    waiting: VecDeque<LevelTable>,
    open: Option<Open>,
    /// Key and sequence number of the last entry.
    last: Option<(Vec<u8>, SeqNo)>,
}

impl LevelChain {
    /// Returns a chain at its first entry. `tables` are in key order.
    ///
    /// # Errors
    /// `NotSupported` for an unknown codec.
    pub(super) fn new(
        dir: &Arc<dyn Dir>,
        order: &Order,
        tables: VecDeque<LevelTable>,
        findings: &mut Findings,
    ) -> Result<LevelChain> {
        let mut chain = LevelChain {
            dir: Arc::clone(dir),
            order: order.clone(),
            waiting: tables,
            open: None,
            last: None,
        };
        chain.find_entry(findings)?;
        Ok(chain)
    }

    fn block(&self) -> Option<&SalvagedBlock> {
        self.open.as_ref()?.block.as_ref()
    }

    pub(crate) fn valid(&self) -> bool {
        self.open.is_some()
    }

    pub(crate) fn key(&self) -> &[u8] {
        self.block().map_or(&[], SalvagedBlock::key)
    }

    pub(crate) fn seq(&self) -> SeqNo {
        self.block().map_or(0, SalvagedBlock::seq)
    }

    pub(crate) fn kind(&self) -> Kind {
        self.block().map_or(Kind::Delete, SalvagedBlock::kind)
    }

    pub(crate) fn value(&self) -> &[u8] {
        self.block().map_or(&[], SalvagedBlock::value)
    }

    /// Goes to the next entry.
    ///
    /// # Errors
    /// `NotSupported` for an unknown codec.
    pub(crate) fn advance(&mut self, findings: &mut Findings) -> Result<()> {
        let (key, seq) = (self.key().to_vec(), self.seq());
        self.last = Some((key, seq));
        if let Some(block) = self.open.as_mut().and_then(|open| open.block.as_mut()) {
            block.next();
        }
        self.find_entry(findings)
    }

    /// Goes to the first entry at or after the current place that is in order.
    fn find_entry(&mut self, findings: &mut Findings) -> Result<()> {
        loop {
            let Some(open) = &mut self.open else {
                let Some(table) = self.waiting.pop_front() else {
                    return Ok(());
                };
                self.open = open_table(&*self.dir, &self.order, table, findings)?;
                continue;
            };
            if let Some(block) = open.block.as_mut().filter(|block| block.valid()) {
                let after = self.last.as_ref().is_none_or(|(key, seq)| {
                    let keys = self.order.compare(key, block.key());
                    keys.is_lt() || keys.is_eq() && block.seq() < *seq
                });
                if !after {
                    block.next();
                    continue;
                }
                if let Some(mut hole) = open.hole.take() {
                    let key = Some(block.key().to_vec());
                    hole.keys.last = hole.keys.last.take().or(key);
                    findings.lose(hole);
                }
                findings.report.kept.table_entries += 1;
                findings.report.kept.tables += u64::from(!std::mem::replace(&mut open.any, true));
                return Ok(());
            }
            let before = self.last.as_ref().map(|(key, _)| &key[..]);
            let more = open.turn_block(before)?;
            let ended = self.open.take_if(|_| !more);
            if let Some(open) = ended {
                let last = self.last.as_ref().map(|(key, _)| &key[..]);
                findings.report.lost.extend(open.loss_at_end(last));
            }
        }
    }
}

/// Opens a table. `None` if it cannot be opened, which is a loss.
fn open_table(
    dir: &dyn Dir,
    order: &Order,
    table: LevelTable,
    findings: &mut Findings,
) -> Result<Option<Open>> {
    let opened = dir
        .open_read(&table.file)
        .and_then(|file| TableSalvage::new(file, &*table.file, order));
    let salvage = match opened {
        Ok(salvage) => salvage,
        Err(error) => {
            findings.lose(Loss {
                file: table.file.clone(),
                offset: 0,
                bytes: table.bytes,
                keys: KeySpan::between(0, table.smallest.clone(), table.largest.clone()),
                older: true,
                reason: error.message().to_owned(),
            });
            return fatal(error).map(|()| None);
        }
    };
    let mut open = Open {
        table,
        salvage,
        block: None,
        hole: None,
        any: false,
    };
    if let Some(error) = open.salvage.index_error() {
        findings.harmless(error);
    }
    open.turn_block(None)?;
    Ok(Some(open))
}

impl Open {
    /// Returns the damage after the last key that was read. A table that is cut between two blocks
    /// shows it only by the key that the manifest names as its last.
    fn loss_at_end(self, last: Option<&[u8]>) -> Option<Loss> {
        let is_short = !self.salvage.has_index() && self.table.largest.as_deref() != last;
        let table = self.table;
        let cut = is_short.then(|| Loss {
            file: table.file,
            offset: table.bytes,
            bytes: 0,
            keys: KeySpan::between(
                0,
                last.filter(|_| self.any)
                    .map(<[u8]>::to_vec)
                    .or(table.smallest),
                None,
            ),
            older: true,
            reason: "the table is cut short".to_owned(),
        });
        let mut loss = self.hole.or(cut)?;
        loss.keys.last = loss.keys.last.take().or(table.largest);
        Some(loss)
    }

    /// Goes to the next intact block. Returns whether there is one.
    fn turn_block(&mut self, before: Option<&[u8]>) -> Result<bool> {
        self.block = None;
        while let Some(step) = self.salvage.advance()? {
            match step {
                TableStep::Block(block) => {
                    self.block = Some(block);
                    return Ok(true);
                }
                TableStep::Damage { error, bytes, last } => {
                    let first = before.filter(|_| self.any).map(<[u8]>::to_vec);
                    let first = first.or_else(|| self.table.smallest.clone());
                    match &mut self.hole {
                        Some(hole) => {
                            hole.bytes += bytes;
                            hole.keys.last = last;
                        }
                        None => {
                            self.hole = Some(Loss {
                                file: self.table.file.clone(),
                                offset: error.file_offset().unwrap_or(0),
                                bytes,
                                keys: KeySpan::between(0, first, last),
                                older: true,
                                reason: error.message().to_owned(),
                            });
                        }
                    }
                }
            }
        }
        Ok(false)
    }
}

/// Returns `error` unless it only says that something is damaged.
fn fatal(error: Error) -> Result<()> {
    match error.kind() {
        ErrorKind::NotSupported => Err(error),
        _ => Ok(()),
    }
}
