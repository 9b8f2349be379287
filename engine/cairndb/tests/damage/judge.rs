//! The permitted results of a damaged database.
//!
//! If the database was closed cleanly, every result is correct or an error that names a file, and
//! [`verify`] detects any damage to a file that the manifest names. If it was not closed cleanly,
//! it may also open as an earlier state of its history, provided that the open reports a cut. A
//! record that a later one marks as synced is never cut, and a second open returns the same state
//! as the first.

use cairndb::{Db, Error, ErrorKind, Options, verify};

use crate::images::{Entries, Files, Image, digest, files_of, place};
use crate::mutants::{Damage, Mutant, is_named};

/// The outcome of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    /// The mutation changed nothing.
    Same,
    /// Open failed.
    Refused,
    /// Some reads failed; the others were correct.
    Partly,
    /// The database opened with a reported cut.
    Cut,
    /// Every result was correct: the damage hit unused bytes.
    Right,
    /// The repaired checksum was accepted or rejected, and nothing broke.
    Survived,
}

/// The entries read before the first error, and that error.
struct Reading {
    entries: Vec<(Vec<u8>, Vec<u8>)>,
    error: Option<Error>,
}

/// A limit above the number of entries of any image.
const ENTRIES_MAX: usize = 100_000;

fn read(
    entries: impl Iterator<Item = cairndb::Result<(cairndb::Value, cairndb::Value)>>,
) -> Reading {
    let mut reading = Reading {
        entries: Vec::new(),
        error: None,
    };
    for entry in entries.take(ENTRIES_MAX) {
        match entry {
            Ok((key, value)) => reading.entries.push((key.into_vec(), value.into_vec())),
            Err(error) => reading.error = Some(error),
        }
    }
    reading
}

/// Checks that an error about damage names a file, and an offset if the damage is inside that file.
fn named(error: &Error, damage: &Damage) -> Result<(), String> {
    let file = error
        .file_name()
        .ok_or_else(|| format!("the error names no file: {error}"))?;
    let within = error.kind() == ErrorKind::Corruption && damage.is_within(file);
    if within && error.file_offset().is_none() {
        return Err(format!("the error names no offset: {error}"));
    }
    if matches!(
        error.kind(),
        ErrorKind::Io | ErrorKind::Poisoned | ErrorKind::Closed
    ) {
        return Err(format!("wrong error kind for damage: {error}"));
    }
    Ok(())
}

fn unlocked(mut files: Files) -> Files {
    files.remove("LOCK");
    files
}

/// Judges one mutant.
pub(crate) fn judge(image: &Image, mutant: &Mutant) -> Result<Verdict, String> {
    let Some(files) = mutant.files(image) else {
        return Ok(Verdict::Same);
    };
    let env = place(&files);
    let options = image
        .options
        .clone()
        .env(env.clone())
        .create_if_missing(false);
    let options = match mutant.seed % 3 {
        0 => options,
        1 => options.mapped(true),
        _ => options.mapped(false),
    };
    let verified = verify("/db", &options);
    if let Err(error) = &verified {
        named(error, &mutant.damage)?;
    }
    if unlocked(files_of(&env)) != unlocked(files.clone()) {
        return Err("verify changed a file".to_owned());
    }
    let db = match options.open("/db") {
        Ok(db) => db,
        Err(error) => {
            named(&error, &mutant.damage)?;
            if unlocked(files_of(&env)) != unlocked(files) {
                return Err(format!("a failed open changed a file: {error}"));
            }
            if verified.is_ok() {
                return Err(format!(
                    "verify accepts a database that open rejects: {error}"
                ));
            }
            return Ok(Verdict::Refused);
        }
    };
    if let Damage::Resealed { .. } = mutant.damage {
        return survive(&db, image, &mutant.damage);
    }
    if image.clean {
        closed(image, mutant, &db, verified.err().as_ref())
    } else {
        live(image, mutant, db, &options)
    }
}

/// Checks that reads of wrong but checksummed bytes do not panic or hang.
fn survive(db: &Db, image: &Image, damage: &Damage) -> Result<Verdict, String> {
    for reading in [read(db.iter()), read(db.iter().rev())] {
        reading
            .error
            .as_ref()
            .map_or(Ok(()), |error| named(error, damage))?;
    }
    for key in image.entries.keys() {
        db.get(key)
            .err()
            .as_ref()
            .map_or(Ok(()), |error| named(error, damage))?;
    }
    let mut cursor = db.cursor();
    for key in image.entries.keys().step_by(7) {
        let turned = cursor
            .seek(key)
            .and_then(|()| cursor.next())
            .and_then(|()| cursor.prev());
        turned
            .err()
            .as_ref()
            .map_or(Ok(()), |error| named(error, damage))?;
    }
    // A compaction may also fail.
    let _ = db.put(b"new", b"entry").and_then(|()| db.compact_range(..));
    let _ = db.close();
    Ok(Verdict::Survived)
}

/// Checks scans in both directions and gets, each up to its first error. Returns the first error.
fn right(
    db: &Db,
    entries: &Entries,
    reversed: bool,
    damage: &Damage,
) -> Result<Option<Error>, String> {
    let mut noticed = None;
    for backward in [false, true] {
        let reading = if backward {
            read(db.iter().rev())
        } else {
            read(db.iter())
        };
        let mut wanted: Vec<_> = entries
            .iter()
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect();
        if backward != reversed {
            wanted.reverse();
        }
        if !wanted.starts_with(&reading.entries) {
            return Err(format!(
                "a scan (backward {backward}) returned an entry that was not written"
            ));
        }
        if reading.error.is_none() && reading.entries.len() != wanted.len() {
            let (found, wanted) = (reading.entries.len(), wanted.len());
            return Err(format!(
                "a scan (backward {backward}) returned {found} of {wanted} entries"
            ));
        }
        noticed = noticed.or(reading.error);
    }
    for (key, value) in entries {
        match db.get(key) {
            Ok(Some(found)) if *found == **value => {}
            Ok(found) => {
                let found = found.map(|found| found.len());
                return Err(format!(
                    "a get of {} returns {found:?} bytes",
                    key.escape_ascii()
                ));
            }
            Err(error) => noticed = noticed.or(Some(error)),
        }
        let absent = [key.as_slice(), b"\x01"].concat();
        if !entries.contains_key(&absent) {
            match db.get(&absent) {
                Ok(None) => {}
                Ok(Some(_)) => return Err("a get found a key that never existed".to_owned()),
                Err(error) => noticed = noticed.or(Some(error)),
            }
        }
    }
    noticed
        .as_ref()
        .map_or(Ok(()), |error| named(error, damage))?;
    Ok(noticed)
}

/// Returns whether `verify` must detect the damage: bytes of a file that the manifest names were
/// changed or removed.
fn must_notice(image: &Image, mutant: &Mutant) -> bool {
    match &mutant.damage {
        Damage::Byte { file, .. } | Damage::Block { file, .. } | Damage::Delete { file } => {
            is_named(file)
        }
        Damage::Truncate { file, len } => is_named(file) && *len < image.files[file].len(),
        Damage::Swap { one, other } => is_named(&one.0) || is_named(&other.0),
        Damage::Rename { from, .. } => is_named(from),
        _ => false,
    }
}

fn closed(
    image: &Image,
    mutant: &Mutant,
    db: &Db,
    verified: Option<&Error>,
) -> Result<Verdict, String> {
    let noticed = right(db, &image.entries, image.reversed, &mutant.damage)?;
    if verified.is_none() {
        if let Some(error) = noticed {
            return Err(format!(
                "verify accepts a database whose read fails: {error}"
            ));
        }
        if must_notice(image, mutant) {
            return Err("verify did not detect the damage".to_owned());
        }
    }
    // A compaction of damaged tables fails or keeps all results correct. It never gives damaged
    // bytes a new checksum.
    if mutant.seed.is_multiple_of(4) {
        let compacted = db.put(
            b"",
            image.entries.get(b"".as_slice()).map_or(b"", |value| value),
        );
        let compacted = compacted.and_then(|()| db.compact_range(..));
        if let Err(error) = &compacted {
            named(error, &mutant.damage)?;
        }
        let mut entries = image.entries.clone();
        entries.entry(Vec::new()).or_default();
        right(db, &entries, image.reversed, &mutant.damage)?;
    }
    Ok(if verified.is_some() {
        Verdict::Partly
    } else {
        Verdict::Right
    })
}

fn live(image: &Image, mutant: &Mutant, db: Db, options: &Options) -> Result<Verdict, String> {
    let (forward, backward) = (read(db.iter()), read(db.iter().rev()));
    let errors = [&forward.error, &backward.error];
    for error in errors.iter().copied().flatten() {
        named(error, &mutant.damage)?;
    }
    if forward.error.is_some() || backward.error.is_some() {
        return Ok(Verdict::Partly);
    }
    let entries: Entries = forward.entries.into_iter().collect();
    let Some(place) = image.history.get(&digest(&entries)) else {
        return Err(format!(
            "{} entries that never existed at the same time",
            entries.len()
        ));
    };
    let report = db.open_report().clone();
    let cut = report.log_cut.is_some() || report.manifest_cut.is_some();
    let last = image.history[&digest(&image.entries)];
    // If a file looks as if a write never happened, the loss cannot be detected. The same holds for
    // a shorter manifest.
    let hidden = match &mutant.damage {
        Damage::Older { .. } => true,
        Damage::Truncate { file, .. } => file.starts_with("MANIFEST"),
        _ => false,
    };
    if *place < last && !cut && !hidden {
        return Err(format!(
            "state {place} of {last} without a reported cut: {report:?}"
        ));
    }
    if let Damage::Byte { file, at, .. } = &mutant.damage
        && image.is_synced(file, *at)
    {
        return Err(format!("a record marked as synced was cut: {report:?}"));
    }
    right(&db, &entries, image.reversed, &mutant.damage)?;
    db.close().map_err(|error| format!("closing: {error}"))?;
    drop(db);
    let again = options
        .open("/db")
        .map_err(|error| format!("second open: {error}"))?;
    if digest(&read(again.iter()).entries.into_iter().collect()) != digest(&entries) {
        return Err("the second open returned another state".to_owned());
    }
    Ok(if cut { Verdict::Cut } else { Verdict::Right })
}
