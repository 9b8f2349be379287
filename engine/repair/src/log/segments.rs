//! Decides which log segments are read, and in which order.
//!
//! With a manifest these are the segments that it lists as live, and those that continue them: each
//! header names the previous segment. Without one, they are the newest segment and those before it
//! that continue each other up to it. A later version of an entry in such a chain is in the chain,
//! too, so a segment of it that had already been flushed does no harm.

use std::collections::BTreeSet;

use cairndb_base::FileNumber;
use cairndb_env::Dir;
use cairndb_format::log::SegmentHeader;
use cairndb_format::manifest::SegmentRecord;
use cairndb_format::name;

use crate::described::Described;
use crate::findings::Findings;
use crate::report::{KeySpan, Loss};
use crate::survey::{LogFile, Survey, records_of};

/// One segment to be read.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    /// Name of its file; empty if the file is missing.
    pub(crate) file: String,
    pub(crate) header: SegmentHeader,
    /// Whether the header is intact, so that what it says about the previous segment holds.
    pub(crate) intact: bool,
    /// Number of bytes of the file that belong to the segment.
    pub(crate) bytes: u64,
    /// Whether the file was found. A segment that was never started has none, or one with another
    /// segment.
    pub(crate) found: bool,
}

/// Returns the segments to be read, oldest first.
pub(crate) fn plan(
    dir: &dyn Dir,
    survey: &Survey,
    described: Option<&Described>,
    findings: &mut Findings,
) -> Vec<Planned> {
    let mut planned: Vec<Planned> = match described {
        Some(described) if described.closed && !described.is_damaged() => return Vec::new(),
        Some(described) => {
            let live = described.segments.values();
            live.map(|record| named(dir, survey, record)).collect()
        }
        None => Vec::new(),
    };
    // A manifest that lost edits, or is an old copy, lacks segments, too.
    let has_live = planned.iter().any(|segment| segment.found);
    let is_partial = described.is_none_or(Described::is_damaged);
    if is_partial || !has_live {
        let after = described.map_or(0, |described| described.last_seq);
        add_newest_chain(survey, after, &mut planned);
    }
    add_followers(survey, &mut planned);
    planned.sort_by_key(|segment| (segment.header.start_seq, segment.header.segment));
    report_missing(&planned, findings);
    planned
}

/// Returns a segment that the manifest lists.
fn named(dir: &dyn Dir, survey: &Survey, record: &SegmentRecord) -> Planned {
    let own_name = name::log(FileNumber(record.file));
    let has_header = |log: &&LogFile| {
        let header = log.header;
        header.is_some_and(|it| it.segment == record.segment && it.salt == record.salt)
    };
    let by_header = survey.logs.iter().find(has_header);
    let known = by_header.and_then(|log| log.header);
    // A damaged header need not be read: the manifest has all that the records are bound to.
    let inferred = SegmentHeader {
        segment: record.segment,
        salt: record.salt,
        previous_segment: 0,
        previous_end: 0,
        start_seq: record.start_seq,
    };
    let by_records = || {
        let headless = survey.logs.iter().filter(|log| !log.intact);
        let counted = headless.map(|log| (records_of(dir, log, &inferred), log));
        let best = counted.max_by_key(|(records, log)| (*records, log.name == own_name));
        let found = best.filter(|(records, log)| *records > 0 || log.name == own_name);
        found.map(|(_, log)| log)
    };
    let file = by_header.or_else(by_records);
    Planned {
        file: file.map_or(own_name.clone(), |log| log.name.clone()),
        header: match known {
            Some(header) if by_header.is_some_and(|log| log.intact) => header,
            _ => inferred,
        },
        intact: by_header.is_some_and(|log| log.intact),
        bytes: record.bytes,
        found: file.is_some(),
    }
}

fn is_planned(planned: &[Planned], header: &SegmentHeader) -> bool {
    planned.iter().any(|segment| {
        let known = &segment.header;
        known.segment == header.segment && known.salt == header.salt
    })
}

fn from_file(log: &LogFile, header: SegmentHeader) -> Planned {
    Planned {
        file: log.name.clone(),
        header,
        intact: log.intact,
        bytes: log.bytes,
        found: true,
    }
}

/// Returns all segments in the directory, the newest first.
fn all(survey: &Survey) -> Vec<(&LogFile, SegmentHeader)> {
    let known = survey.logs.iter();
    let known = known.filter_map(|log| Some((log, log.header?)));
    let mut all: Vec<_> = known.filter(|(_, header)| header.segment != 0).collect();
    all.sort_by_key(|(_, header)| std::cmp::Reverse((header.start_seq, header.segment)));
    all
}

/// Adds the newest segment and those that lead to it, as far as they may hold entries after the
/// sequence number `after`.
fn add_newest_chain(survey: &Survey, after: u64, planned: &mut Vec<Planned>) {
    let all = all(survey);
    let mut next = all.first().copied();
    let mut seen = BTreeSet::new();
    while let Some((log, header)) = next {
        if !seen.insert((header.segment, header.salt)) {
            return;
        }
        if !is_planned(planned, &header) {
            planned.push(from_file(log, header));
        }
        if header.start_seq <= after || header.previous_segment == 0 || !log.intact {
            return;
        }
        next = all.iter().copied().find(|(_, earlier)| {
            earlier.segment == header.previous_segment && earlier.start_seq <= header.start_seq
        });
    }
}

/// Adds segments that continue the last planned one.
fn add_followers(survey: &Survey, planned: &mut Vec<Planned>) {
    let newest = |planned: &[Planned]| {
        let found = planned.iter().filter(|segment| segment.found);
        found
            .map(|segment| segment.header)
            .max_by_key(|header| (header.start_seq, header.segment))
    };
    let all = all(survey);
    while let Some(last) = newest(planned) {
        let follower = all.iter().find(|(log, header)| {
            log.intact
                && header.previous_segment == last.segment
                && header.segment > last.segment
                && header.start_seq >= last.start_seq
                && !is_planned(planned, header)
        });
        let Some((log, header)) = follower else {
            return;
        };
        planned.push(from_file(log, *header));
    }
}

/// Reports segments without a file that lie before one that was started.
fn report_missing(planned: &[Planned], findings: &mut Findings) {
    let Some(last) = planned.iter().rposition(|segment| segment.intact) else {
        return;
    };
    for segment in &planned[..last] {
        if !segment.found {
            findings.lose(Loss {
                file: segment.file.clone(),
                offset: 0,
                bytes: segment.bytes,
                keys: KeySpan::all(),
                older: true,
                reason: "the log segment is missing".to_owned(),
            });
        }
    }
}
