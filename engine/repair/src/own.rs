//! One of our own directories as the input of a repair.

use std::sync::Arc;

use cairndb_base::{Order, Result};
use cairndb_env::Dir;

use crate::choose::{check_order, choose};
use crate::described::Described;
use crate::findings::Findings;
use crate::keyspaces::{Comparators, Keyspaces};
use crate::log::runs::Runs;
use crate::log::segments;
use crate::log::{LogExtent, LogReader};
use crate::merge::source::{MergeSource, Sources, Stated};
use crate::survey::Survey;
use crate::tables::Planner;
use crate::tables::chain::Chain;
use crate::values::SourceValues;

/// A directory, and what its manifest describes.
pub(super) struct OwnSource<'a> {
    from: &'a Arc<dyn Dir>,
    keyspaces: Arc<Keyspaces>,
    survey: Survey,
    described: Option<Described>,
    include_unnamed: bool,
}

impl<'a> OwnSource<'a> {
    /// Chooses the manifest, and finds tables under other names.
    ///
    /// # Errors
    /// `InvalidArgument` if the manifest names another comparator, or one of a keyspace that is not
    /// known; `FormatTooNew`.
    pub(super) fn new(
        from: &'a Arc<dyn Dir>,
        (order, comparators): (&Order, &Comparators),
        mut survey: Survey,
        include_unnamed: bool,
        findings: &mut Findings,
    ) -> Result<OwnSource<'a>> {
        let described = choose(&**from, &survey, findings)?;
        if let Some(described) = &described {
            check_order(described, order)?;
        }
        let keyspaces = Keyspaces::new(order, comparators, described.as_ref())?;
        let known = described.iter().flat_map(|it| it.tables.keys().copied());
        let known: Vec<u64> = known.collect();
        survey.find_swapped_tables(&**from, &known, findings)?;
        Ok(OwnSource {
            from,
            keyspaces: Arc::new(keyspaces),
            survey,
            described,
            include_unnamed,
        })
    }

    /// Returns the keyspaces of the directory.
    pub(super) fn keyspaces(&self) -> &Arc<Keyspaces> {
        &self.keyspaces
    }

    /// Returns the large values of the directory.
    pub(super) fn values(&self) -> SourceValues {
        SourceValues::new(self.from, self.survey.values.clone())
    }

    /// Returns whether the order of log and tables is not known.
    pub(super) fn log_is_guessed(&self) -> bool {
        self.described.is_none()
    }

    /// Returns the name of the merge operator that the manifest names.
    pub(super) fn merge_operator(&self) -> Option<String> {
        self.described.as_ref()?.merge_operator.clone()
    }

    /// Adds the sources of log and tables. Returns what else is known.
    ///
    /// # Errors
    /// `FormatTooNew`; the errors of writing runs.
    pub(super) fn add_sources(
        &self,
        runs: &mut Runs,
        sources: &mut Sources,
        findings: &mut Findings,
    ) -> Result<Stated> {
        let mut log = self.read_log(runs, findings)?;
        let described = self.described.iter();
        let ranges = described.flat_map(|it| it.deleted_ranges.iter().cloned());
        log.ranges.extend(ranges);
        for (section, run) in runs.finish()? {
            sources[usize::from(*section)].push(MergeSource::log(run)?);
        }
        self.add_tables(sources, &log, findings)?;
        let known = self.described.as_ref().map_or(0, |it| it.last_seq);
        Ok(Stated {
            last_seq: known.max(log.last),
            ranges: log.ranges,
        })
    }

    fn read_log(&self, runs: &mut Runs, findings: &mut Findings) -> Result<LogExtent> {
        let described = self.described.as_ref();
        let segments = segments::plan(&**self.from, &self.survey, described, findings);
        let durable = described.map_or(0, |described| described.last_seq);
        LogReader::new(&**self.from, &segments, durable, runs, findings).read()
    }

    /// Adds a source for each list of tables.
    fn add_tables(
        &self,
        sources: &mut Sources,
        log: &LogExtent,
        findings: &mut Findings,
    ) -> Result<()> {
        let described = self.described.as_ref();
        let known = described.map(|described| described.last_seq);
        let planner = Planner {
            dir: self.from,
            keyspaces: &self.keyspaces,
            survey: &self.survey,
            described,
            ranges: &log.ranges,
            include_unnamed: self.include_unnamed,
            log_is_later: log
                .first
                .zip(known)
                .is_some_and(|(first, known)| first > known + 1)
                || log.first.is_none() && described.is_some_and(|described| !described.closed),
        };
        let tables = planner.plan(findings)?;
        for ((section, chains), sources) in (0..).zip(tables.chains).zip(sources) {
            for chain in chains {
                let of = (&self.keyspaces, section);
                let chain = Chain::new(self.from, of, tables.oldest, chain, findings)?;
                sources.push(MergeSource::Tables(Box::new(chain)));
            }
        }
        Ok(())
    }
}
