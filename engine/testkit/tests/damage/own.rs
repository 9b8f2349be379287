//! Databases of ours, opened and read after damage.
//!
//! If the database was closed cleanly, every result is correct or an error that names a file, and
//! [`verify`] detects any damage to a file that the manifest names. If it was not closed cleanly,
//! it may also open as an earlier state of its history, provided that the open reports a cut. A
//! record that a later one marks as synced is never cut, and a second open returns the same state
//! as the first. Bytes whose checksum was mended after the damage may have any meaning.

use cairndb::{Db, Error, ErrorKind, Options, Value, verify};
use cairndb_env::Dir;
use cairndb_env::testing::setting::setting;
use cairndb_testkit::damage::files::{Files, HOME, files_of, placed};
use cairndb_testkit::damage::{
    Entries, Image, Kind, Mix, Mutant, Subject, Tally, mend_own, run, run_drawn, seeds,
};

use crate::own_images::{tiny, to_read};

/// Number of mutants in a push check.
const MUTANTS: u64 = 60_000;
/// A limit above the number of entries of any image.
const ENTRIES_MAX: usize = 100_000;

/// The subject: our reader.
struct Own;

type Outcome<T> = Result<T, String>;

impl Subject for Own {
    fn mix(&self) -> Mix {
        &[
            (Kind::Byte, 40, 16),
            (Kind::Fill, 4, 2),
            (Kind::Length, 2, 1),
            (Kind::Block, 4, 0),
            (Kind::Swap, 5, 0),
            (Kind::Truncate, 11, 0),
            (Kind::Append, 2, 0),
            (Kind::Remove, 2, 0),
            (Kind::Repeat, 2, 0),
            (Kind::Older, 3, 0),
            (Kind::Delete, 2, 0),
            (Kind::Copy, 3, 0),
            (Kind::Rename, 3, 0),
            (Kind::Exchange, 1, 0),
            (Kind::NoManifest, 1, 0),
            (Kind::Current, 2, 0),
        ]
    }

    fn mend(&self, _: &Image, files: &mut Files, name: &str, at: usize) -> bool {
        mend_own(files, name, at)
    }

    fn judge(&self, image: &Image, mutant: &Mutant, tally: &mut Tally) -> Outcome<()> {
        let verdict = judge(image, mutant)?;
        *tally.entry(verdict).or_default() += 1;
        Ok(())
    }
}

/// Returns whether a cleanly closed database depends on `file`.
pub(crate) fn is_named(file: &str) -> bool {
    let parts = ["CURRENT", "MANIFEST", ".tbl", ".val"];
    parts.iter().any(|part| file.contains(part))
}

/// Changes every byte of every file of a small closed database, each in one way.
#[test]
fn after_a_clean_close_every_changed_byte_is_noticed() {
    let image = tiny();
    let rounds = 1 + (setting("CAIRN_DAMAGE").unwrap_or(MUTANTS) / MUTANTS).min(8);
    let named = image.files.iter().filter(|(name, _)| is_named(name));
    let bytes = named.flat_map(|(name, bytes)| (0..bytes.len()).map(move |at| (name, at)));
    let bytes: Vec<(&String, usize)> = bytes.collect();
    run_drawn(&Own, 0..bytes.len() as u64 * rounds, |number| {
        let (name, at) = bytes[usize::try_from(number / rounds).unwrap()];
        (&image, Mutant::of_byte(&image, name, at, number))
    });
}

#[test]
fn damage_is_refused_or_reported_and_never_believed() {
    let seeds = seeds("CAIRN_DAMAGE", MUTANTS, |size| size);
    run(&Own, &to_read(), seeds);
}

/// The entries read before the first error, and that error.
struct Reading {
    entries: Vec<(Vec<u8>, Vec<u8>)>,
    error: Option<Error>,
}

fn read(entries: impl Iterator<Item = cairndb::Result<(Value, Value)>>) -> Reading {
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
fn named(error: Option<&Error>, mutant: &Mutant) -> Outcome<()> {
    let Some(error) = error else {
        return Ok(());
    };
    let file = error.file_name();
    // A reader does not know from which file a pointer to a large value came, but for which key.
    if file.is_none() && mutant.mended && error.key_text().is_some() {
        return Ok(());
    }
    let file = file.ok_or_else(|| format!("the error names no file: {error}"))?;
    let is_within = mutant.kinds[0].is_in_place() && !mutant.mended && mutant.hits_kind(file);
    let kind = error.kind();
    if kind == ErrorKind::Corruption && is_within && error.file_offset().is_none() {
        return Err(format!("the error names no offset: {error}"));
    }
    let is_wrong = [ErrorKind::Io, ErrorKind::Poisoned, ErrorKind::Closed].contains(&kind);
    let wrong = || format!("wrong error kind for damage: {error}");
    if is_wrong { Err(wrong()) } else { Ok(()) }
}

/// Checks that no file but the lock has changed.
fn unchanged(what: &str, dir: &dyn Dir, mutant: &Mutant) -> Outcome<()> {
    let now = files_of(dir);
    let is_file = |file: &(&String, &Vec<u8>)| file.0 != "LOCK";
    let files = mutant.files.iter().filter(is_file);
    let same = now.iter().filter(is_file).eq(files);
    same.then_some(()).ok_or(format!("{what} changed a file"))
}

/// Judges one mutant.
fn judge(image: &Image, mutant: &Mutant) -> Outcome<&'static str> {
    if mutant.files == image.files {
        return Ok("same");
    }
    let (env, dir) = placed(&mutant.files);
    let options = image.options.clone().env(env).create_if_missing(false);
    let options = match mutant.seed % 3 {
        0 => options,
        1 => options.mapped(true),
        _ => options.mapped(false),
    };
    let verified = verify(HOME, &options).err();
    named(verified.as_ref(), mutant)?;
    unchanged("verify", &*dir, mutant)?;
    let db = match options.open(HOME) {
        Ok(db) => db,
        Err(error) => {
            named(Some(&error), mutant)?;
            unchanged("a failed open", &*dir, mutant)?;
            if verified.is_none() {
                return Err(format!("verify accepts what open rejects: {error}"));
            }
            return Ok("refused");
        }
    };
    if mutant.mended {
        survive(&db, image, mutant)
    } else if image.clean {
        closed(image, mutant, &db, verified.as_ref())
    } else {
        live(image, mutant, db, &options)
    }
}

/// Checks that reads of wrong but checksummed bytes do not panic or hang.
fn survive(db: &Db, image: &Image, mutant: &Mutant) -> Outcome<&'static str> {
    for reading in [read(db.iter()), read(db.iter().rev())] {
        named(reading.error.as_ref(), mutant)?;
    }
    for key in image.entries.keys() {
        named(db.get(key).err().as_ref(), mutant)?;
    }
    let mut cursor = db.cursor();
    for key in image.entries.keys().step_by(7) {
        let turned = cursor.seek(key);
        let turned = turned.and_then(|()| cursor.next());
        let turned = turned.and_then(|()| cursor.prev());
        named(turned.err().as_ref(), mutant)?;
    }
    // A compaction may also fail.
    let _ = db.put(b"new", b"entry").and_then(|()| db.compact_range(..));
    let _ = db.close();
    Ok("survived")
}

/// Checks that a scan returns what is wanted, or errors. Returns the last error.
fn scan<'a>(
    entries: impl Iterator<Item = cairndb::Result<(Value, Value)>>,
    wanted: &mut dyn Iterator<Item = (&'a Vec<u8>, &'a Vec<u8>)>,
) -> Outcome<Option<Error>> {
    let mut noticed = None;
    for entry in entries.take(ENTRIES_MAX) {
        match entry {
            Ok((key, value)) => {
                let is_wanted = |it: (&Vec<u8>, &Vec<u8>)| *it.0 == *key && *it.1 == *value;
                if !wanted.next().is_some_and(is_wanted) {
                    return Err("a scan returned a wrong entry".to_owned());
                }
            }
            Err(error) => noticed = Some(error),
        }
    }
    if noticed.is_none() && wanted.next().is_some() {
        return Err("a scan ended before the last entry".to_owned());
    }
    Ok(noticed)
}

/// Checks scans in both directions and gets. Returns an error, if there was one.
fn right(db: &Db, entries: &Entries, image: &Image, mutant: &Mutant) -> Outcome<Option<Error>> {
    let (ascending, descending) = (&mut entries.iter(), &mut entries.iter().rev());
    let (forward, backward) = (db.iter(), db.iter().rev());
    let [one, other] = if image.reversed {
        [scan(forward, descending)?, scan(backward, ascending)?]
    } else {
        [scan(forward, ascending)?, scan(backward, descending)?]
    };
    let mut noticed = one.or(other);
    for (key, value) in entries {
        match db.get(key) {
            Ok(Some(found)) if *found == **value => {}
            Ok(found) => {
                let (key, found) = (key.escape_ascii(), found.map(|found| found.len()));
                return Err(format!("a get of {key} returns {found:?} bytes"));
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
    named(noticed.as_ref(), mutant)?;
    Ok(noticed)
}

/// Returns whether `verify` must detect the damage: bytes of a file that the manifest names were
/// changed or removed.
fn must_notice(image: &Image, mutant: &Mutant) -> bool {
    let kinds = [
        Kind::Append,
        Kind::Repeat,
        Kind::Older,
        Kind::Copy,
        Kind::Current,
    ];
    let mut names = mutant.damaged.keys();
    let is_needed = |name: &String| is_named(name) && image.files.contains_key(name);
    !kinds.contains(&mutant.kinds[0]) && names.any(is_needed)
}

fn closed(
    image: &Image,
    mutant: &Mutant,
    db: &Db,
    verified: Option<&Error>,
) -> Outcome<&'static str> {
    let noticed = right(db, &image.entries, image, mutant)?;
    if verified.is_none() {
        if let Some(error) = noticed {
            return Err(format!("verify accepts what cannot be read: {error}"));
        }
        if must_notice(image, mutant) {
            return Err("verify did not detect the damage".to_owned());
        }
    }
    // A compaction of damaged tables fails or keeps all results correct. It never gives damaged
    // bytes a new checksum.
    if mutant.seed.is_multiple_of(4) {
        let mut entries = image.entries.clone();
        let empty = entries.entry(Vec::new()).or_default();
        let compacted = db.put(b"", &empty[..]);
        let compacted = compacted.and_then(|()| db.compact_range(..));
        named(compacted.err().as_ref(), mutant)?;
        right(db, &entries, image, mutant)?;
    }
    Ok(if verified.is_some() {
        "partly"
    } else {
        "right"
    })
}

fn live(image: &Image, mutant: &Mutant, db: Db, options: &Options) -> Outcome<&'static str> {
    let (forward, backward) = (read(db.iter()), read(db.iter().rev()));
    named(forward.error.as_ref(), mutant)?;
    named(backward.error.as_ref(), mutant)?;
    if forward.error.is_some() || backward.error.is_some() {
        return Ok("partly");
    }
    let entries: Entries = forward.entries.into_iter().collect();
    let place = image.model.place_of(&entries);
    let place = place.ok_or("entries that never existed at the same time")?;
    let report = db.open_report().clone();
    let cut = report.log_cut.is_some() || report.manifest_cut.is_some();
    // If a file looks as if a write never happened, the loss cannot be detected. The same holds for
    // a shorter manifest.
    let hidden = match mutant.kinds[0] {
        Kind::Older => true,
        Kind::Truncate => mutant.hits_kind("MANIFEST"),
        _ => false,
    };
    if Some(place) < image.model.last_place() && !cut && !hidden {
        return Err(format!("state {place} without a reported cut: {report:?}"));
    }
    if mutant.kinds[0] == Kind::Byte && image.synced.iter().any(|place| mutant.hits(place)) {
        return Err(format!("a record marked as synced was cut: {report:?}"));
    }
    right(&db, &entries, image, mutant)?;
    db.close().map_err(|error| format!("closing: {error}"))?;
    drop(db);
    let again = options.open(HOME);
    let again = again.map_err(|error| format!("second open: {error}"))?;
    if read(again.iter()).entries.into_iter().collect::<Entries>() != entries {
        return Err("the second open returned another state".to_owned());
    }
    Ok(if cut { "cut" } else { "right" })
}
