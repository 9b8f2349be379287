//! The measured part of a row.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Instant;

use super::Runner;
use super::counted::Counted;
use super::readers;
use super::totals::Totals;
use crate::engine::{Cursor as _, Durability, Engine, Role, Session, Store};
use crate::fault::Fault;
use crate::measure::bare::Bare;
use crate::measure::loops::{self, Report, Task, deletions, storeless};
use crate::workload::definition::{Action, Order, Workload};
use crate::workload::model::{Model, Word};

/// The combined results of the threads of a row.
struct Joined {
    reports: Result<Vec<Report>, Fault>,
    /// Number of keys after the row.
    records: u64,
    before: Counted,
}

/// Deletes `count` ranges that have half of the `num` keys: of equal parts the first half each.
fn delete_ranges(
    session: &mut impl Session,
    model: &Model,
    num: u64,
    count: u64,
) -> Result<Totals, Fault> {
    let (mut first, mut end) = (model.layout().buffer(), model.layout().buffer());
    let range = |at: u64| {
        let (from, next) = (at * num / count, (at + 1) * num / count);
        from..from + (next - from) / 2
    };
    let start = Instant::now();
    for keys in (0..count).map(range) {
        session.delete_range(first.set(keys.start), end.set(keys.end))?;
    }
    let totals = Totals::timed(start, count);
    for index in (0..count).flat_map(range) {
        let at = usize::try_from(index).unwrap_or(usize::MAX);
        model.store(at, Word::ABSENT);
    }
    Ok(totals)
}

impl<E: Engine> Runner<'_, E> {
    /// Runs the row once. The answers of a reading row are still to be checked.
    pub(super) fn measure(&mut self, workload: &'static Workload) -> Result<Totals, Fault> {
        let before = self.costs.read(self.slot.store.as_ref());
        let mut totals = match workload.action {
            Action::Open => return self.reopen(workload),
            Action::Readers(kind) => return readers::run(self, workload, kind),
            Action::Stall | Action::SyncBurst => return self.threads(workload),
            _ if workload.is_engineless() => self.engineless(workload)?,
            _ if workload.is_event() => self.event(workload)?,
            _ => return self.threads(workload),
        };
        totals.before = before;
        Ok(totals)
    }

    /// Runs a single event.
    fn event(&mut self, workload: &Workload) -> Result<Totals, Fault> {
        let start = Instant::now();
        match workload.action {
            Action::Compact => {
                self.slot.opened()?.compact()?;
                Ok(Totals::timed(start, 1))
            }
            Action::DropKeyspaces => {
                let store = self.slot.opened()?;
                for index in 0..self.plan.keyspaces {
                    store.drop_keyspace(index)?;
                }
                let totals = Totals::timed(start, self.plan.keyspaces.into());
                self.contents.model.clear();
                Ok(totals)
            }
            Action::DeleteRanges => {
                let mut session = self.slot.shared()?.session(self.role(workload, 1))?;
                let count = Task::ops(self.plan, workload);
                delete_ranges(&mut session, &self.contents.model, self.plan.num, count)
            }
            Action::Flush => {
                self.slot.opened()?.flush()?;
                Ok(Totals::timed(start, 1))
            }
            Action::Wait => {
                let rested = self.slot.rest()?;
                Ok(Totals::took(rested.unwrap_or_else(|| start.elapsed()), 1))
            }
            Action::Verify => {
                let mut checked = Totals::default();
                self.contents
                    .judge(self.slot.store.as_ref())
                    .check(&mut checked)?;
                let mut totals = Totals::timed(start, checked.found.unwrap_or(1));
                totals.found = checked.found;
                totals.wrong = checked.wrong;
                Ok(totals)
            }
            _ => Err(Fault::new(
                "a row of many operations was taken for one event",
            )),
        }
    }

    /// Closes and reopens the store repeatedly.
    fn reopen(&mut self, workload: &Workload) -> Result<Totals, Fault> {
        let count = Task::ops(self.plan, workload);
        // The first close writes and syncs what the previous rows left, which can take milliseconds
        // that belong to them.
        self.slot.reopen()?;
        let before = self.costs.read(self.slot.store.as_ref());
        let start = Instant::now();
        for _ in 0..count {
            self.slot.reopen()?;
        }
        let mut totals = Totals::timed(start, count);
        totals.before = before;
        Ok(totals)
    }

    /// Runs the threads of a row that does not use a store.
    fn engineless(&self, workload: &Workload) -> Result<Totals, Fault> {
        let (mut totals, plan, pool) = (Totals::default(), self.plan, &self.contents.pool);
        let bare = &Bare::prepare(plan, workload)?;
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..plan.threads)
                .map(|thread| {
                    let own = (bare, thread);
                    scope.spawn(move || storeless::run_engineless(plan, pool, workload, own))
                })
                .collect();
            for thread in threads {
                if let Ok(report) = thread.join() {
                    totals.add(report?);
                }
            }
            Ok::<(), Fault>(())
        })?;
        totals.found = None;
        Ok(totals)
    }

    /// Runs the threads of a row over the store.
    fn threads(&mut self, workload: &'static Workload) -> Result<Totals, Fault> {
        let records = self.contents.model.keys() as u64;
        let additions = Task::additions(self.plan, workload);
        self.contents.make_room(additions)?;
        let joined = self.reports(workload, records)?;
        self.contents.shrink(joined.records);
        let mut totals = Totals::default();
        for report in joined.reports? {
            totals.add(report);
        }
        totals.before = joined.before;
        totals.join_texts();
        Ok(totals)
    }

    /// Returns the role of each of `sessions` sessions.
    pub(super) fn role(&self, workload: &Workload, sessions: u32) -> Role {
        let empty = self.contents.empty;
        let appending = match workload.action {
            Action::Fill(Order::Sequential) => empty && sessions == 1,
            Action::Append => true,
            _ => false,
        };
        Role {
            durability: self.slot.opened_for,
            appending,
            empty,
            sessions,
            changing: workload.changes(),
        }
    }

    /// Runs the threads over `records` keys.
    fn reports(&self, workload: &'static Workload, records: u64) -> Result<Joined, Fault> {
        let count = Task::threads(self.plan, workload);
        // In rows of turns, each thread has its own keys.
        let is_apart = matches!(workload.action, Action::Turns { .. });
        let (pool, model) = (&self.contents.pool, &self.contents.model);
        let task = Task {
            plan: self.plan,
            workload,
            rate: self.rate,
            capabilities: self.engine.capabilities(),
            pool,
            model,
            values: pool.set(workload.values),
            words: model.words(workload.values),
            records,
            next_record: AtomicU64::new(records),
            judged: self.contents.judged(),
            contended: workload.changes() && count > 1 && !is_apart,
            running: AtomicU32::new(Task::counted_threads(self.plan, workload)),
            // One more for this thread.
            barrier: Barrier::new(count as usize + 1),
        };
        let role = self.role(workload, count + u32::from(is_apart));
        let store = self.slot.shared()?;
        let (mut holder, mut held) = (None, None);
        if let Action::Turns { held: holds, .. } = workload.action {
            deletions::fill(&task, &mut store.session(Role::single(Durability::Os))?)?;
            if holds {
                let cursor = held.insert(holder.insert(store.session(role)?).cursor()?);
                cursor.first()?;
            }
            if self.plan.histogram {
                // Counting costs some engines time, as timing each operation does.
                store.count_passed_entries();
            }
        }
        let (reports, before) = self.run_threads(store, &task, role, count);
        Ok(Joined {
            reports,
            records: task.next_record.into_inner(),
            before,
        })
    }

    /// Runs threads until all have ended. Returns their reports, and the counters from before they
    /// started.
    fn run_threads(
        &self,
        store: &E::Store,
        task: &Task<'_>,
        role: Role,
        count: u32,
    ) -> (Result<Vec<Report>, Fault>, Counted) {
        let first_seed = self.plan.seed + self.ordinals.threads + 1;
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..count)
                .map(|index| {
                    scope.spawn(move || loops::run(store, task, role, index, first_seed + index))
                })
                .collect();
            let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
                thread
                    .join()
                    .unwrap_or_else(|_| Err(Fault::new("a thread of the row panicked")))
            };
            // The threads meet once when everything is prepared and again to start.
            task.barrier.wait();
            let before = self.costs.read(Some(store));
            task.barrier.wait();
            // All threads are joined explicitly: the scope would panic for a panicked thread that
            // was not joined.
            let ended: Vec<_> = threads.into_iter().map(join).collect();
            (ended.into_iter().collect(), before)
        })
    }
}
