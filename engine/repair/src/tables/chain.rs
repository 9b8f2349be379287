//! A chain: tables that share no key, read one after the other, page by page.
//!
//! A damaged page is a loss whose span reaches from the last key before it to the first key after
//! it. The loss is recorded when that key is known. If the counts of the table show that no entry
//! is missing, the damaged pages were part of the index.

use std::collections::VecDeque;
use std::sync::Arc;

use cairndb_base::limits::PAGE_BYTES;
use cairndb_base::{Error, FileNumber, Kind, Order, Result, SeqNo};
use cairndb_env::Dir;
use cairndb_format::table::{EntryMark, Salvaged, SalvagedPage, TableSalvage};

use crate::findings::Findings;
use crate::keyspaces::Keyspaces;
use crate::report::Loss;
use crate::survey::opened;
use crate::tables::Plan;

/// Pages that were found damaged, and the key before them.
struct Hole {
    first_page: u32,
    pages: u32,
    before: Option<Vec<u8>>,
    error: Error,
}

/// The table that is being read.
struct Open {
    plan: Arc<Plan>,
    salvage: TableSalvage,
    page: Option<SalvagedPage>,
    index: usize,
    mark: EntryMark,
    /// Number of entries found so far.
    found: u64,
    /// Number of pages that hold data, if it is known.
    data_pages: Option<u32>,
    /// Damage since the last intact data page.
    hole: Option<Hole>,
    /// Losses that are certain only if entries turn out to be missing.
    losses: Vec<Loss>,
    /// Key and mark of the last entry.
    last: Option<(Vec<u8>, EntryMark)>,
}

/// Tables in key order that share no key.
pub(crate) struct Chain {
    dir: Arc<dyn Dir>,
    keyspaces: Arc<Keyspaces>,
    section: u8,
    /// Age from which on no table is older.
    oldest: usize,
    waiting: VecDeque<Arc<Plan>>,
    open: Option<Open>,
    key: Vec<u8>,
    /// Last key of the tables before this one.
    floor: Option<Vec<u8>>,
}

impl Chain {
    /// Returns a chain at its first entry. `tables` are in key order.
    ///
    /// # Errors
    /// `FormatTooNew`.
    pub(crate) fn new(
        dir: &Arc<dyn Dir>,
        (keyspaces, section): (&Arc<Keyspaces>, u8),
        oldest: usize,
        tables: impl IntoIterator<Item = Arc<Plan>>,
        findings: &mut Findings,
    ) -> Result<Chain> {
        let mut chain = Chain {
            dir: Arc::clone(dir),
            keyspaces: Arc::clone(keyspaces),
            section,
            oldest,
            waiting: tables.into_iter().collect(),
            open: None,
            key: Vec::new(),
            floor: None,
        };
        chain.find_entry(findings)?;
        Ok(chain)
    }

    pub(crate) fn valid(&self) -> bool {
        self.open.is_some()
    }

    pub(crate) fn key(&self) -> &[u8] {
        &self.key
    }

    pub(crate) fn mark(&self) -> EntryMark {
        let none = EntryMark {
            seq: 0,
            kind: Kind::Delete,
        };
        self.open.as_ref().map_or(none, |open| open.mark)
    }

    pub(crate) fn age(&self) -> usize {
        self.open.as_ref().map_or(usize::MAX, |open| open.plan.age)
    }

    /// Returns up to which sequence number deletions of ranges were applied to the current table.
    pub(crate) fn ranges_applied(&self) -> SeqNo {
        let open = self.open.as_ref();
        open.map_or(0, |open| open.plan.ranges_applied)
    }

    pub(crate) fn is_guessed(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.plan.guessed)
    }

    /// Replaces the contents of `out` with the current value.
    ///
    /// # Errors
    /// `Corruption` if it is lost.
    pub(crate) fn value_into(&self, out: &mut Vec<u8>) -> Result<()> {
        let open = self.open.as_ref();
        if let Some((open, page)) = open.and_then(|open| Some((open, open.page.as_ref()?))) {
            return page.value_into(open.index, out);
        }
        out.clear();
        Ok(())
    }

    /// Goes to the next entry.
    ///
    /// # Errors
    /// `FormatTooNew`.
    pub(crate) fn advance(&mut self, findings: &mut Findings) -> Result<()> {
        if let Some(open) = &mut self.open {
            open.index += 1;
        }
        self.find_entry(findings)
    }

    /// Goes to the first entry at or after the current place.
    fn find_entry(&mut self, findings: &mut Findings) -> Result<()> {
        let keyspaces = Arc::clone(&self.keyspaces);
        let order = keyspaces.order(self.section);
        loop {
            let Some(open) = &mut self.open else {
                let Some(plan) = self.waiting.pop_front() else {
                    return Ok(());
                };
                self.open = Open::new(&*self.dir, order, plan, findings);
                continue;
            };
            if let Some(page) = open.page.as_ref().filter(|page| open.index < page.count()) {
                page.key_into(open.index, &mut self.key);
                let file = &open.plan.file;
                if !findings.admits(&keyspaces, self.section, &self.key, file) {
                    open.found += 1;
                } else if open.take_entry(order, self.floor.as_deref(), &self.key)
                    && open.mark.seq <= open.plan.seq_limit
                {
                    return Ok(());
                }
                open.index += 1;
                continue;
            }
            let more = open.turn_page(self.oldest)?;
            if !more && let Some(open) = self.open.take() {
                let last = open.last.as_ref().map(|(key, _)| key.clone());
                self.floor = last.or(self.floor.take());
                open.finish(self.oldest, findings);
            }
        }
    }
}

impl Open {
    /// Opens a table. `None` if its file cannot be opened, which is a loss.
    fn new(dir: &dyn Dir, order: &Order, plan: Arc<Plan>, findings: &mut Findings) -> Option<Open> {
        let file = match opened(dir, &plan.file) {
            Ok(file) => file,
            Err(error) => {
                findings.lose(plan.loss_of_file(error.message(), true));
                return None;
            }
        };
        let dictionary = plan.dictionary.clone();
        let salvage = TableSalvage::new(file, FileNumber(plan.number), order, dictionary);
        Some(Open {
            data_pages: plan.data_pages,
            plan,
            salvage,
            page: None,
            index: 0,
            mark: EntryMark {
                seq: 0,
                kind: Kind::Delete,
            },
            found: 0,
            hole: None,
            losses: Vec::new(),
            last: None,
        })
    }

    /// Reads the mark of the entry at the index, with `key`. Returns whether the entry is in order.
    fn take_entry(&mut self, order: &Order, floor: Option<&[u8]>, key: &[u8]) -> bool {
        let Some(page) = &self.page else {
            return false;
        };
        self.mark = page.mark(self.index);
        let after = match (&self.last, floor) {
            (Some((last, mark)), _) => match order.compare(last, key) {
                std::cmp::Ordering::Less => true,
                std::cmp::Ordering::Equal => self.mark.seq < mark.seq,
                std::cmp::Ordering::Greater => false,
            },
            (None, Some(floor)) => order.compare(floor, key).is_lt(),
            (None, None) => true,
        };
        if !after {
            return false;
        }
        self.found += 1;
        match &mut self.last {
            Some((last, mark)) => {
                key.clone_into(last);
                *mark = self.mark;
            }
            None => self.last = Some((key.to_vec(), self.mark)),
        }
        true
    }

    /// Goes to the next intact data page. Returns whether there is one.
    fn turn_page(&mut self, oldest: usize) -> Result<bool> {
        self.page = None;
        self.index = 0;
        while let Some((number, salvaged)) = self.salvage.advance()? {
            match salvaged {
                Salvaged::Entries(page) => {
                    let mut first = Vec::new();
                    page.key_into(0, &mut first);
                    self.close_hole(Some(first), oldest);
                    self.page = Some(page);
                    return Ok(true);
                }
                Salvaged::Index { data_pages } => {
                    self.data_pages = self.data_pages.or(data_pages);
                }
                Salvaged::Damaged { error } => self.widen_hole(number, error),
            }
        }
        Ok(false)
    }

    fn widen_hole(&mut self, page: u32, error: Error) {
        match &mut self.hole {
            Some(hole) if hole.first_page + hole.pages == page => hole.pages += 1,
            // Index pages lie between: the damage after them is not that of entries.
            Some(_) => {}
            None => {
                self.hole = Some(Hole {
                    first_page: page,
                    pages: 1,
                    before: self.last.as_ref().map(|(key, _)| key.clone()),
                    error,
                });
            }
        }
    }

    /// Turns the damage before the key `after` into a loss.
    fn close_hole(&mut self, after: Option<Vec<u8>>, oldest: usize) {
        let Some(hole) = self.hole.take() else {
            return;
        };
        let loss = Loss {
            file: self.plan.file.clone(),
            offset: u64::from(hole.first_page) * PAGE_BYTES as u64,
            bytes: u64::from(hole.pages) * PAGE_BYTES as u64,
            keys: self.plan.span(
                hole.before.or_else(|| self.plan.smallest.clone()),
                after.or_else(|| self.plan.largest.clone()),
            ),
            older: self.plan.age < oldest,
            reason: hole.error.message().to_owned(),
        };
        self.losses.push(loss);
    }

    /// Decides at the end of the table which damage lost entries.
    fn finish(mut self, oldest: usize, findings: &mut Findings) {
        let plan = Arc::clone(&self.plan);
        let pages = self.salvage.pages();
        let data_pages = self.data_pages.or(plan.data_pages);
        let in_index = |hole: &Hole| data_pages.is_some_and(|data| hole.first_page >= data);
        if let Some(hole) = self.hole.take_if(|hole| in_index(hole)) {
            findings.harmless(&hole.error);
        }
        if let (Some(hole), Some(data)) = (&mut self.hole, data_pages) {
            hole.pages = hole.pages.min(data.saturating_sub(hole.first_page));
        }
        let is_cut = data_pages.map_or(plan.is_cut, |data| data > pages);
        if is_cut && self.hole.is_none() {
            self.hole = Some(Hole {
                first_page: pages,
                pages: data_pages.map_or(0, |data| data.saturating_sub(pages)),
                before: self.last.as_ref().map(|(key, _)| key.clone()),
                error: Error::corruption("table is cut short"),
            });
        }
        self.close_hole(None, oldest);
        findings.report.kept.tables += u64::from(self.found > 0);
        findings.report.kept.table_entries += self.found;
        if plan.entries.is_some_and(|entries| self.found >= entries) {
            for loss in self.losses {
                findings.note(loss.file, loss.offset, "index page is damaged");
            }
            return;
        }
        if self.losses.is_empty() && plan.entries.is_some() {
            findings.lose(plan.loss_of_file("fewer entries than the table should have", true));
        }
        for loss in self.losses {
            findings.lose(loss);
        }
    }
}
