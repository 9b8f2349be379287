//! The oracle, which opens the database after a crash and checks that the history explains its
//! contents.
//!
//! 1. The database opens, without repair and without an error.
//! 2. The contents are among those that the history allows. No value is invented or mixed.
//! 3. Forward scan, backward scan, gets and a snapshot agree.
//! 4. The contents after an open are durable: a power loss right after the open changes nothing.
//! 5. The database is writable. After a synced write and a clean close it opens with the same
//!    contents.
//! 6. A read-only open, before and after, changes no byte and returns the same contents.
//! 7. A deep verify passes, no file is leaked or missing, and the sync protocol was followed.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use cairndb::{Db, Durability, Job, Keyspace, WriteBatch, WriteOptions};
use cairndb_env::Env;
use cairndb_sim::{CrashChoice, Keep, Profile, SimEnv};

use cairndb_format::evidence::{Evidence, evidence};
use cairndb_format::name::FileKind;

use crate::facts::manifest_facts;
use crate::history::{Contents, Explained};
use crate::setup::Setup;
use crate::spaces;
use crate::value;
use crate::{Check, Violation};

/// The path of the database in every run.
pub const PATH: &str = "/db";
/// Maximum number of spare log segments of an idle database.
const SPARES_MAX: usize = 2;
/// A key that the oracle writes itself and no workload uses.
const PROBE: &[u8] = b"~probe";
/// A keyspace that the oracle creates itself.
const FRESH: &str = "fresh";

/// A key and its value.
type Entry = (Vec<u8>, Vec<u8>);

/// The set of checks to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// The open and the contents.
    Contents,
    /// Everything except the two expensive checks: a read-only open first, and a power loss after
    /// the open.
    Usual,
    /// Everything.
    Full,
}

/// Opens `image` and checks it. Returns the contents found.
///
/// # Errors
/// The first violation.
pub fn check(
    image: &Arc<SimEnv>,
    setup: &Setup,
    explained: &Explained,
    depth: Depth,
) -> Check<Contents> {
    let read_only = match depth {
        Depth::Full => Some(check_read_only(image, setup)?),
        _ => None,
    };
    let db = open(image, setup)?;
    let contents = read_all(&db, setup)?;
    let Some(_) = explained.find(&contents) else {
        return Err(unexplained(&contents, explained));
    };
    if read_only.is_some_and(|before| before != contents) {
        return Err(Violation::new(
            "a read-only open returned other contents than a normal open",
        ));
    }
    if depth == Depth::Contents {
        return Ok(contents);
    }
    if depth == Depth::Full {
        check_final(image, setup, &contents)?;
    }
    check_usable(image, setup, db, &contents, depth == Depth::Full)?;
    Ok(contents)
}

/// Opens the database in `env`.
///
/// # Errors
/// A violation if the open fails.
pub fn open(env: &Arc<SimEnv>, setup: &Setup) -> Check<Db> {
    let opened = setup.options(env.clone()).open(PATH);
    opened.map_err(|error| Violation::new(format!("open failed: {error}")))
}

/// Reads the contents in every way.
///
/// # Errors
/// A violation if a read fails, a value was never written, or two kinds of reads differ.
pub fn read_all(db: &Db, setup: &Setup) -> Check<Contents> {
    let mut contents = read_space(db, None, setup.reverse)?;
    for space in spaces::named(db).map_err(failed("opening a keyspace"))? {
        let reverse = space.name() == spaces::NAMES[2];
        let within = |violation: Violation| violation.within(space.name());
        contents.extend(read_space(db, Some(&space), reverse).map_err(within)?);
    }
    Ok(contents)
}

fn read_space(db: &Db, space: Option<&Keyspace>, reverse: bool) -> Check<Contents> {
    let mut forward = Vec::new();
    for entry in space.map_or_else(|| db.iter(), Keyspace::iter) {
        let (key, value) = entry.map_err(failed("a forward scan"))?;
        forward.push((key.to_vec(), value.to_vec()));
    }
    let mut backward = Vec::with_capacity(forward.len());
    let snapshot = db.snapshot();
    let scan = match space {
        None => snapshot.iter(),
        Some(space) => snapshot
            .range_in(space, ..)
            .map_err(failed("a scan of a snapshot"))?,
    };
    for entry in scan.rev() {
        let (key, value) = entry.map_err(failed("a backward scan"))?;
        backward.push((key.to_vec(), value.to_vec()));
    }
    backward.reverse();
    if forward != backward {
        return Err(differing(&forward, &backward));
    }
    let in_order = |pair: &[Entry]| (pair[0].0 < pair[1].0) != reverse;
    if !forward.windows(2).all(in_order) {
        return Err(Violation::new("a scan is out of order"));
    }
    let name = space.map_or("", Keyspace::name);
    let mut contents = Contents::new();
    if !name.is_empty() {
        contents.insert(spaces::entry(name), Vec::new());
    }
    for (key, scanned) in forward {
        let got = match space {
            None => db.get(&key),
            Some(space) => space.get(&key),
        };
        let got = got.map_err(failed("a get"))?;
        if got.as_deref() != Some(&*scanned) {
            let key = key.escape_ascii();
            return Err(Violation::new(format!(
                "a get of {key} differs from a scan"
            )));
        }
        let place = spaces::place(name, &key);
        let ids = value::ids(&place, &scanned)?;
        contents.insert(place, ids);
    }
    Ok(contents)
}

/// Describes the first difference between two scans.
fn differing(forward: &[Entry], backward: &[Entry]) -> Violation {
    let pairs = forward.iter().zip(backward);
    let same = pairs.take_while(|(a, b)| a == b).count();
    let show = |entries: &[Entry]| match entries.get(same) {
        None => "nothing".to_owned(),
        Some((key, value)) => format!("{}={:?}", key.escape_ascii(), value::ids(key, value)),
    };
    Violation::new(format!(
        "a forward scan of {} entries has {} at {same}, a backward scan of {} has {}",
        forward.len(),
        show(forward),
        backward.len(),
        show(backward)
    ))
}

/// Returns a violation for contents that no history explains.
pub fn unexplained(contents: &Contents, explained: &Explained) -> Violation {
    let entries = contents.iter();
    let entries = entries.map(|(key, ids)| format!(" {}={ids:?}", key.escape_ascii()));
    let entries: String = entries.collect();
    let mark = explained.mark();
    Violation::new(format!(
        "no prefix of the history explains the contents{entries}; promised: {mark:?}"
    ))
}

/// Opens read-only and checks that no byte changes. Returns the contents found.
fn check_read_only(image: &Arc<SimEnv>, setup: &Setup) -> Check<Contents> {
    let before = image.image_hash();
    let opened = setup.options(image.clone()).read_only(true).open(PATH);
    let contents = match opened {
        Ok(db) => read_all(&db, setup)?,
        // A database whose creation was interrupted does not exist yet.
        Err(error) if error.kind() == cairndb::ErrorKind::NotFound => Contents::new(),
        Err(error) => {
            return Err(Violation::new(format!("read-only open failed: {error}")));
        }
    };
    if image.image_hash() != before {
        return Err(Violation::new("a read-only open changed the disk"));
    }
    Ok(contents)
}

/// Checks that the contents after an open survive a power loss right after it.
fn check_final(image: &Arc<SimEnv>, setup: &Setup, contents: &Contents) -> Check<()> {
    let next = image.crash_image(Profile::Strict, &CrashChoice::new(Keep::None));
    let place = "after a power loss right after opening";
    let db = open(&next, setup).map_err(|violation| violation.within(place))?;
    let found = read_all(&db, setup).map_err(|violation| violation.within(place))?;
    if found != *contents {
        return Err(Violation::new(format!(
            "a power loss right after opening changed the contents from {contents:?} to {found:?}"
        )));
    }
    Ok(())
}

fn failed(what: &'static str) -> impl Fn(cairndb::Error) -> Violation {
    move |error| Violation::new(format!("{what} failed: {error}"))
}

/// Writes to every keyspace. If `creates` is set and there are any, creates another, which must be
/// empty. Returns the number of entries added.
fn write_probes(db: &Db, creates: bool) -> Check<usize> {
    let named = spaces::named(db).map_err(failed("opening a keyspace"))?;
    let mut probes = WriteBatch::new();
    let chunk = |name| value::chunk(u64::MAX, &spaces::place(name, PROBE), 700);
    probes.put(PROBE, &chunk(""));
    for space in &named {
        probes.put_in(space, PROBE, &chunk(space.name()));
    }
    let creates = creates && !named.is_empty();
    if creates {
        // Its number must not be that of a keyspace that was dropped.
        let fresh = db.create_keyspace(FRESH, &spaces::options(spaces::NAMES[2]));
        let fresh = fresh.map_err(failed("creating a keyspace"))?;
        if fresh.iter().next().is_some() {
            return Err(Violation::new("a new keyspace has entries"));
        }
    }
    let sync = WriteOptions::new().durability(Durability::Sync);
    let written = db.write_with(&probes, &sync);
    written.map_err(failed("a write after recovery"))?;
    Ok(1 + named.len() + usize::from(creates))
}

/// Checks that the database can be written, closed, verified and reopened; if `creates` is set,
/// also that a keyspace can be created.
fn check_usable(
    image: &Arc<SimEnv>,
    setup: &Setup,
    db: Db,
    contents: &Contents,
    creates: bool,
) -> Check<()> {
    let added = write_probes(&db, creates)?;
    while db
        .step_background(Job::Compact)
        .map_err(failed("a compaction after recovery"))?
    {}
    db.close().map_err(failed("closing after recovery"))?;
    drop(db);
    check_files(image)?;
    let verified = cairndb::verify(PATH, &setup.options(image.clone()));
    let verified = verified.map_err(failed("verify"))?;
    let before = image.image_hash();
    let db = open(image, setup).map_err(|violation| violation.within("reopening"))?;
    let mut found = read_all(&db, setup).map_err(|violation| violation.within("reopened"))?;
    let entries = found.values().filter(|ids| !ids.is_empty()).count();
    if verified.entries != entries as u64 {
        return Err(Violation::new(format!(
            "verify counted {} entries, and there are {entries}",
            verified.entries,
        )));
    }
    let all = found.len();
    found.retain(|place, ids| *ids != [u64::MAX] && *place != spaces::entry(FRESH));
    if all - found.len() != added {
        return Err(Violation::new("the write after recovery was lost"));
    }
    if found != *contents {
        return Err(Violation::new(format!(
            "reopening changed the contents from {contents:?} to {found:?}"
        )));
    }
    db.close().map_err(failed("closing a second time"))?;
    if image.image_hash() != before {
        return Err(Violation::new(
            "a handle that wrote nothing changed the disk",
        ));
    }
    check_protocol(image)
}

/// Checks the sync rules, which the environment has monitored.
///
/// # Errors
/// The first rule that was broken.
pub fn check_protocol(env: &SimEnv) -> Check<()> {
    match env.violations().first() {
        None => Ok(()),
        Some(broken) => {
            let index = usize::try_from(broken.op).unwrap_or(usize::MAX);
            let op = env.ops().get(index).map_or(String::new(), |op| {
                format!(" ({:?} {} {})", op.kind, op.name, op.to)
            });
            Err(Violation::new(format!("protocol: {broken}{op}")))
        }
    }
}

/// Checks that after a clean close the directory holds only the files that the manifest names, at
/// most two spare logs, and files that are too short after a crash to be identified.
///
/// # Errors
/// A violation that names a leaked or missing file.
pub fn check_files(env: &SimEnv) -> Check<()> {
    let dir = Path::new(PATH);
    let current = env.read_file(&dir.join("CURRENT")).unwrap_or_default();
    let current = String::from_utf8_lossy(&current).trim_end().to_owned();
    let manifest = env.read_file(&dir.join(&current)).unwrap_or_default();
    let facts = manifest_facts(&current, &manifest).ok_or_else(|| {
        Violation::new(format!("CURRENT names {current}, which is not a manifest"))
    })?;
    let files = env.files();
    let names: BTreeSet<String> = files
        .iter()
        .filter_map(|(path, _)| Some(path.strip_prefix(dir).ok()?.to_str()?.to_owned()))
        .collect();
    if let Some(missing) = facts.files.keys().find(|name| !names.contains(*name)) {
        return Err(Violation::new(format!(
            "the manifest names {missing}, which is missing"
        )));
    }
    let held = env
        .open_dir(dir, false)
        .map_err(|error| Violation::new(format!("the directory does not open: {error}")))?;
    let mut spares = 0;
    for name in names {
        let known = name == "LOCK" || name == "CURRENT" || name == current;
        // A named log is kept for a lease: with a live one, the next open would have failed.
        if known || facts.files.contains_key(&name) || facts.logs.contains(&name) {
            continue;
        }
        if !evidence(&*held, &name).is_ok_and(|found| found == Evidence::Ours) {
            continue;
        }
        let is_log = matches!(FileKind::parse(&name), Some(FileKind::Log(_)));
        spares += usize::from(is_log);
        if !is_log || spares > SPARES_MAX {
            return Err(Violation::new(format!("{name} is left after a close")));
        }
    }
    Ok(())
}
