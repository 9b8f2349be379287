//! Removing what no moment that is kept needs.
//!
//! A record says first what is about to be removed. A backup that runs meanwhile comes upon that
//! record when it appends its next one, and uploads what it had counted on again, under another
//! name. So what is removed is never needed, however long the removal takes.

use std::collections::BTreeSet;
use std::time::Duration;

use cairndb_base::{Error, ErrorKind, Result, watch};

use crate::backup::chain::{Appended, Chain};
use crate::catalog::{Catalog, number_in};
use crate::records::{BASES, Body, CHAIN, DATA, Prune};
use crate::repository::{Repository, hash_in};

/// Number of attempts while a backup appends records.
const TRIES: u32 = 20;

/// What is kept.
///
/// ```
/// use cairndb_backup::Retention;
/// use std::time::Duration;
///
/// let retention = Retention::new().age(Duration::from_secs(30 * 86_400)).bases(3);
/// # let _ = retention;
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use = "nothing is pruned before `Repository::prune`"]
pub struct Retention {
    age: Option<Duration>,
    bases: u64,
}

impl Default for Retention {
    fn default() -> Retention {
        Retention {
            age: None,
            bases: 1,
        }
    }
}

/// What was removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PruneReport {
    /// Number of objects that were removed.
    pub objects: u64,
    /// Their bytes, as stored.
    pub bytes: u64,
    /// Number of bases that are left.
    pub bases: u64,
}

impl Retention {
    /// Returns what keeps the newest base only.
    pub fn new() -> Retention {
        Retention::default()
    }

    /// Keeps every moment of this age or younger.
    pub fn age(mut self, age: Duration) -> Retention {
        self.age = Some(age);
        self
    }

    /// Keeps at least this many bases, with all moments after the oldest of them. Default: 1, which
    /// is also the minimum.
    pub fn bases(mut self, bases: u64) -> Retention {
        self.bases = bases.max(1);
        self
    }
}

impl Repository {
    /// Removes what no moment needs that `retention` keeps, and what interrupted backups have left.
    /// A backup may run meanwhile. With `dry_run` nothing is removed.
    ///
    /// # Errors
    /// Those of the place; `Corruption` if the list of backups is damaged, so that it is unknown
    /// what is needed; `Locked` if a backup appends records too fast. The call can be repeated.
    pub fn prune(&self, retention: Retention, dry_run: bool) -> Result<PruneReport> {
        for _ in 0..TRIES {
            let catalog = Catalog::read(self)?;
            let Some(plan) = self.plan(&catalog, retention)? else {
                return Ok(PruneReport::default());
            };
            // Damage of what is removed anyway does no harm.
            let first = plan.prune.first;
            let is_kept =
                |error: &&Error| error.file_name().is_none_or(|it| number_in(it) >= first);
            if let Some(error) = catalog.damage.iter().find(is_kept) {
                return Err(error.clone());
            }
            if let Some(damaged) = plan.damaged.first() {
                let message = "what is to be kept needs a damaged object; back up first, so that it \
                               is sent again";
                let error = Error::corruption(message).file(&**damaged);
                return Err(error.directory(self.place().url().as_ref()));
            }
            if dry_run || plan.report.objects == 0 {
                return Ok(plan.report);
            }
            let mut chain = Chain::end_of(self, &catalog);
            match chain.append(self, Body::Prune(plan.prune.clone()), &[]) {
                Ok(Appended::Done { .. }) => {
                    self.remove(&plan)?;
                    return Ok(plan.report);
                }
                Ok(Appended::Pruned(_)) => {}
                Err(error) if error.kind() == ErrorKind::Locked => {}
                Err(error) => return Err(error),
            }
        }
        let message = "a backup appends records too fast; try again";
        Err(Error::new(ErrorKind::Locked, message).directory(self.place().url().as_ref()))
    }

    /// Decides what is removed; `None` if there is no base.
    fn plan(&self, catalog: &Catalog, retention: Retention) -> Result<Option<Plan>> {
        let Some(oldest) = catalog.oldest_kept(retention, self.env().wall_ms()) else {
            return Ok(None);
        };
        let base = &catalog.bases[oldest].base;
        let needed = catalog.pieces.values().find(|piece| {
            piece.timeline > base.timeline
                || piece.timeline == base.timeline && piece.until > base.seq
        });
        let first = needed.map_or(base.number, |piece| piece.number.min(base.number));
        let kept = catalog.kept_objects(oldest, first);
        let newest = catalog.kept_objects(catalog.bases.len() - 1, catalog.next);
        let damaged = self.damaged()?.into_iter();
        let mut plan = Plan {
            damaged: damaged.filter(|it| newest.contains(&**it)).collect(),
            prune: Prune {
                first,
                kept_from: base.number,
                objects: Vec::new(),
            },
            records: Vec::new(),
            report: PruneReport {
                bases: (catalog.bases.len() - oldest) as u64,
                ..PruneReport::default()
            },
        };
        for folder in [BASES, CHAIN] {
            let limit = if folder == BASES { base.number } else { first };
            for object in self.place().list(folder, "")? {
                let name = format!("{folder}/{}", object.name);
                // Other files are not ours.
                if (1..limit).contains(&number_in(&name)) {
                    plan.report.count(object.bytes);
                    plan.records.push(name);
                }
            }
        }
        for object in self.place().list(DATA, "")? {
            let name = format!("{DATA}/{}", object.name);
            if hash_in(&name).is_some() && !kept.contains(&*name) {
                plan.report.count(object.bytes);
                plan.prune.objects.push(name);
            }
        }
        Ok(Some(plan))
    }

    fn remove(&self, plan: &Plan) -> Result<()> {
        // Bases first: what they list is then not looked for.
        for name in plan.records.iter().chain(&plan.prune.objects) {
            watch::check()?;
            self.place().remove(name)?;
        }
        Ok(())
    }
}

/// What is removed.
struct Plan {
    prune: Prune,
    /// Objects of the newest base that were found damaged.
    damaged: Vec<String>,
    /// Bases, then records of the chain.
    records: Vec<String>,
    report: PruneReport,
}

impl PruneReport {
    fn count(&mut self, bytes: u64) {
        self.objects += 1;
        self.bytes += bytes;
    }
}

impl Catalog {
    /// Returns the index of the oldest base that is needed.
    fn oldest_kept(&self, retention: Retention, now_ms: u64) -> Option<usize> {
        let newest = self.bases.len().checked_sub(1)?;
        let count = usize::try_from(retention.bases).unwrap_or(usize::MAX);
        let by_count = (newest + 1).saturating_sub(count);
        let Some(age) = retention.age else {
            return Some(by_count);
        };
        let age = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
        let limit = now_ms.saturating_sub(age);
        // The one before the first that is younger: moments after the limit begin with it. A clock
        // that was wrong for a while must not make young ones old.
        let mut bases = self.bases.iter();
        let younger = bases.position(|it| it.base.taken_ms > limit);
        let by_age = younger.map_or(newest, |younger| younger.saturating_sub(1));
        Some(by_count.min(by_age))
    }

    /// Returns the objects with contents that bases from `oldest` on, and records from `first` on,
    /// list.
    fn kept_objects(&self, oldest: usize, first: u64) -> BTreeSet<&str> {
        let bases = self.bases[oldest..].iter().map(|it| &it.base);
        let of_bases = bases.flat_map(|base| {
            let extents = base.extents.iter().map(|it| &*it.object);
            base.tables.iter().map(|it| &*it.object).chain(extents)
        });
        let pieces = self.pieces.range(first..).map(|(_, piece)| piece);
        let of_pieces = pieces.flat_map(|piece| piece.extents.iter().map(|it| &*it.object));
        of_bases.chain(of_pieces).collect()
    }

    /// Returns all objects with contents that are listed.
    pub(crate) fn objects(&self) -> BTreeSet<String> {
        let objects = self.kept_objects(0, 0).into_iter();
        objects.map(str::to_owned).collect()
    }
}
