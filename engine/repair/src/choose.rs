//! Chooses the manifest that describes the source best.

use cairndb_base::{Error, ErrorKind, FileNumber, Order, Result};
use cairndb_env::Dir;
use cairndb_format::manifest::read_current;
use cairndb_format::name;

use crate::described::Described;
use crate::findings::Findings;
use crate::report::{DoubtKind, KeySpan, Loss};
use crate::survey::Survey;

/// Returns what the best manifest describes, or `None` if none is readable.
///
/// That is the one that describes the latest state, and among equals the one that `CURRENT` names.
/// `CURRENT` may be an old copy, and an older manifest may still be in the directory; the numbers
/// in a manifest only grow, so they show which is later.
///
/// # Errors
/// `FormatTooNew`.
pub(super) fn choose(
    dir: &dyn Dir,
    survey: &Survey,
    findings: &mut Findings,
) -> Result<Option<Described>> {
    let named = named_manifest(dir, survey, findings);
    let mut best: Option<Described> = None;
    let mut others = Vec::new();
    let mut unreadable = named.filter(|named| !survey.manifests.contains(named));
    for number in survey.manifests.iter().copied() {
        let described = match Described::read(dir, number) {
            Ok(described) => described,
            Err(error) if error.kind() == ErrorKind::FormatTooNew => return Err(error),
            Err(error) => {
                findings.harmless(&error);
                unreadable = unreadable.max(Some(number));
                continue;
            }
        };
        // A manifest cut to its header, or damaged, may describe less than an older one.
        if described.is_damaged() || described.comparator.is_none() {
            unreadable = unreadable.max(Some(number));
        }
        let is_better = best.as_ref().is_none_or(|best| {
            let progress = described.progress().cmp(&best.progress());
            progress.is_gt() || progress.is_eq() && named != Some(best.number)
        });
        others.extend(if is_better {
            best.replace(described)
        } else {
            Some(described)
        });
    }
    if let Some(described) = &mut best {
        // Without the later manifest, this one is as good as one whose last edits are lost.
        described.superseded = unreadable.is_some_and(|later| later > described.number);
        // The latest first: a name belongs to the keyspace that had it last.
        others.sort_by_key(|other| std::cmp::Reverse(other.progress()));
        for other in others {
            described.add_lost(other);
        }
        report_gaps(described, findings);
        if named != Some(described.number) && !described.is_damaged() {
            findings.doubt(
                DoubtKind::Manifest,
                KeySpan::all(),
                "CURRENT does not name the manifest: a later one may be missing",
            );
        }
    }
    Ok(best)
}

/// Returns the number of the manifest that `CURRENT` names, if it is readable.
fn named_manifest(dir: &dyn Dir, survey: &Survey, findings: &mut Findings) -> Option<u64> {
    let named = match read_current(dir) {
        Ok(named) => named.map(|number| number.0),
        Err(error) => {
            findings.harmless(&error);
            return None;
        }
    };
    let missing = match named {
        None => "the file is missing".to_owned(),
        Some(named) if !survey.manifests.contains(&named) => {
            let manifest = name::manifest(FileNumber(named));
            format!("the file names {manifest}, which is missing")
        }
        Some(_) => return named,
    };
    findings.note(name::CURRENT.to_owned(), 0, &missing);
    named
}

/// Reports the lost edits of the chosen manifest.
fn report_gaps(described: &Described, findings: &mut Findings) {
    let file = name::manifest(FileNumber(described.number));
    findings.report.manifest = Some(file.clone());
    for (offset, end) in &described.gaps {
        findings.lose(Loss {
            file: file.clone(),
            offset: *offset,
            bytes: end - offset,
            keys: KeySpan::all(),
            older: true,
            reason: "edits of the manifest are damaged: tables and log segments that they named \
                     were found by their contents"
                .to_owned(),
        });
    }
    if described.is_damaged() {
        findings.doubt(
            DoubtKind::Manifest,
            KeySpan::all(),
            "edits of the manifest are lost: a table or log segment that is missing, or that had \
             been replaced, may not be recognised as such, and deletions of ranges may be lost",
        );
    }
}

/// Checks that `described` has the order that the caller passed.
///
/// # Errors
/// `InvalidArgument` with the name of the comparator that is needed.
pub(super) fn check_order(described: &Described, order: &Order) -> Result<()> {
    match &described.comparator {
        Some(stored) if stored != order.name() => Err(Error::invalid(
            "the database has another comparator; repair it with the one it was created with",
        )
        .file(name::manifest(FileNumber(described.number)))
        .expected(stored)
        .found(order.name())),
        _ => Ok(()),
    }
}
