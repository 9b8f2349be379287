//! The steps of a conversion, in order.

use std::sync::atomic::{AtomicU64, Ordering};

use cairndb_base::{Digest, Error, ErrorKind, FileNumber, Result, watch};
use cairndb_env::DirLock;
use cairndb_files::{DatabaseWriter, create_unused, guarded, is_taken, unused_file};
use cairndb_format::manifest::{ManifestWriter, prepare_current};
use cairndb_format::name;
use cairndb_leveldb::{FileName, Report};

use crate::Target;
use crate::estimate::estimate;
use crate::identify::{Owner, nothing_here, owner};
use crate::originals::{Earlier, Originals, earlier, occupied};
use crate::report::{
    Progress, UpgradeOutcome, UpgradePlan, UpgradeProgress, UpgradeReport, UpgradeStep,
};
use crate::source::{Locked, UpgradeSource};
use crate::verify::verify;
use crate::write::{Contents, write};

/// Returns what a conversion would do. Changes nothing.
///
/// # Errors
/// `NotFound` without a database, `InvalidArgument` if it is not LevelDB's, and the errors for
/// which a conversion is refused.
pub fn plan(target: &Target) -> Result<UpgradePlan> {
    match owner(&*target.dir)? {
        Owner::LevelDb => {}
        Owner::None => return Err(nothing_here(&*target.dir)),
        Owner::Ours => {
            let message = "the directory holds no LevelDB database; it may be CairnDB's already";
            return Err(Error::invalid(message).path(target.dir.path()));
        }
    }
    guarded(|| Ok(checked(target, Locked::No)?.1))
}

/// Opens the database and makes sure that it can be converted. Changes nothing.
fn checked(target: &Target, locked: Locked) -> Result<(UpgradeSource, UpgradePlan, Earlier)> {
    let earlier = earlier(&*target.env, &*target.dir)?;
    if let Earlier::Foreign(found) = &earlier {
        return Err(occupied(&*target.dir, found));
    }
    let source = UpgradeSource::open(target, locked)?;
    let plan = estimate(target, &source)?;
    Ok((source, plan, earlier))
}

/// Converts the database, or finishes what an earlier attempt has begun.
///
/// # Errors
/// As [`plan`], and the errors of writing. After an error the directory opens as LevelDB's or as
/// ours, and the call can be repeated.
pub fn upgrade(target: &Target, progress: &mut Progress<'_>) -> Result<UpgradeReport> {
    match owner(&*target.dir)? {
        Owner::None => return Err(nothing_here(&*target.dir)),
        Owner::Ours => return finish_earlier(target),
        // Everything that can be refused is refused before `LOCK` is created or taken.
        Owner::LevelDb => check_space(target, &plan(target)?)?,
    }
    let _lock = target.dir.lock(name::LOCK)?;
    // Looked at again under the lock: another process may have converted it in the meantime.
    match owner(&*target.dir)? {
        Owner::None => Err(nothing_here(&*target.dir)),
        Owner::Ours => finish_locked(target),
        Owner::LevelDb => guarded(|| convert(target, progress)),
    }
}

/// Removes LevelDB's names after an attempt that died between replacing `CURRENT` and that.
fn finish_earlier(target: &Target) -> Result<UpgradeReport> {
    match earlier(&*target.env, &*target.dir)? {
        Earlier::Unfinished(_) => {}
        _ => return Ok(UpgradeReport::of(UpgradeOutcome::NothingToDo)),
    }
    let _lock: Box<dyn DirLock> = target.dir.lock(name::LOCK)?;
    match owner(&*target.dir)? {
        Owner::Ours => finish_locked(target),
        _ => Err(nothing_here(&*target.dir)),
    }
}

fn finish_locked(target: &Target) -> Result<UpgradeReport> {
    let Earlier::Unfinished(originals) = earlier(&*target.env, &*target.dir)? else {
        return Ok(UpgradeReport::of(UpgradeOutcome::NothingToDo));
    };
    // The rename of `CURRENT` was seen, but perhaps never reached the disk.
    target.dir.sync()?;
    Originals::of_finished(originals).finish(&*target.dir)?;
    Ok(UpgradeReport::of(UpgradeOutcome::Finished))
}

/// Checks that there is space for `plan`.
fn check_space(target: &Target, plan: &UpgradePlan) -> Result<()> {
    let free = target.dir.space()?.map(|space| space.free);
    match free {
        Some(free) if free < plan.target_bytes => {
            let message = "the disk has too little space for the conversion; nothing was changed; \
                free some and run it again";
            Err(Error::new(ErrorKind::NoSpace, message)
                .path(target.dir.path())
                .expected(format_args!("{} bytes free", plan.target_bytes))
                .found(format_args!("{free} bytes free")))
        }
        _ => Ok(()),
    }
}

/// Converts the database; the lock is held.
fn convert(target: &Target, progress: &mut Progress<'_>) -> Result<UpgradeReport> {
    let (source, plan, earlier) = checked(target, Locked::Yes)?;
    check_space(target, &plan)?;
    progress(&at(UpgradeStep::Linking, &Digest::default(), 0));
    let dir = &*target.dir;
    let originals = Originals::begin(&*target.env, dir, &earlier)?;
    let mut made = Vec::new();
    let prepared = originals
        .link(dir, &source.names)
        // Again: where links are copies, they have taken space.
        .and_then(|()| check_space(target, &plan))
        .and_then(|()| prepare(target, &source, &plan, &mut made, progress));
    let (contents, manifest) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => {
            for name in made {
                let _ = dir.unlink(&name);
            }
            originals.abandon();
            return Err(error);
        }
    };
    progress(&at(
        UpgradeStep::Finishing,
        &contents.digest,
        contents.digest.bytes,
    ));
    // From here on nothing is undone: after an error it is unknown which `CURRENT` is durable.
    dir.rename(&name::temp(manifest), name::CURRENT)?;
    dir.sync()?;
    let report = report_of(&contents, source.database.report());
    drop(source);
    originals.finish(dir)?;
    Ok(report)
}

/// Writes and verifies everything that the new `CURRENT` will need, and prepares `CURRENT`.
fn prepare(
    target: &Target,
    source: &UpgradeSource,
    plan: &UpgradePlan,
    made: &mut Vec<String>,
    progress: &mut Progress<'_>,
) -> Result<(Contents, FileNumber)> {
    let next_file = AtomicU64::new(first_number(&target.dir.list()?));
    let expected = plan.raw_bytes;
    // Everything is read back.
    watch::expect(expected.saturating_mul(2));
    let begin = Digest::default();
    progress(&at(UpgradeStep::Writing, &begin, expected));
    let mut writer = DatabaseWriter::new(&*target.dir, &next_file, &target.settings);
    let written = write(&mut writer, source.live(), |digest| {
        progress(&at(UpgradeStep::Writing, digest, expected));
    });
    made.extend(writer.names());
    let contents = written?;
    let expected = contents.digest.bytes;
    progress(&at(UpgradeStep::Verifying, &begin, expected));
    verify(target, &contents, |digest| {
        progress(&at(UpgradeStep::Verifying, digest, expected));
    })?;
    let last_seq = source.database.last_seq();
    let manifest = write_manifest(target, &contents, last_seq, &next_file, made)?;
    target.dir.sync()?;
    Ok((contents, manifest))
}

/// Writes the manifest and the file that will become `CURRENT`, both synced.
fn write_manifest(
    target: &Target,
    contents: &Contents,
    last_seq: u64,
    next_file: &AtomicU64,
    made: &mut Vec<String>,
) -> Result<FileNumber> {
    // A merge operator is stored with the first write that follows, as after any open.
    let edit = contents
        .files
        .edit(target.settings.output.order.name(), last_seq);
    let (dir, salt) = (&*target.dir, target.env.random_u64());
    let created = create_unused(
        || next_file.fetch_add(1, Ordering::Relaxed),
        |number| {
            let mut edit = edit.clone();
            edit.next_file = Some(number.0 + 1);
            let base = edit.divided(target.settings.edit_bytes);
            let manifest = dir.create(&name::manifest(number))?;
            made.push(name::manifest(number));
            drop(ManifestWriter::new(manifest, number, salt, &base)?);
            let prepared = prepare_current(dir, number);
            if !prepared.as_ref().is_err_and(is_taken) {
                made.push(name::temp(number));
            }
            prepared
        },
    );
    created.map(|(number, ())| number)
}

/// Returns a number above those of all files, LevelDB's included.
fn first_number(names: &[String]) -> u64 {
    let theirs = names
        .iter()
        .filter_map(|name| match FileName::parse(name)? {
            FileName::Log(number)
            | FileName::Table(number)
            | FileName::OldTable(number)
            | FileName::Manifest(number)
            | FileName::Temporary(number) => Some(number),
            FileName::Current | FileName::Lock | FileName::Messages => None,
        });
    // A number that no database reaches is a user's: it is skipped when it is met.
    let reached = theirs.filter(|number| *number < cairndb_files::NUMBER_MAX / 2);
    let after = reached.max().map_or(1, |number| number + 1);
    unused_file(names, after)
}

fn at(step: UpgradeStep, digest: &Digest, bytes_expected: u64) -> UpgradeProgress {
    UpgradeProgress {
        step,
        entries: digest.entries,
        bytes: digest.bytes,
        bytes_expected,
    }
}

fn report_of(contents: &Contents, met: &Report) -> UpgradeReport {
    let missing_logs = met.skipped.iter().filter_map(|it| it.file_name());
    UpgradeReport {
        outcome: UpgradeOutcome::Converted,
        entries: contents.digest.entries,
        raw_bytes: contents.digest.bytes,
        tables: contents.files.tables.len() as u64,
        target_bytes: contents.files.bytes(),
        torn: met.torn_log.is_some() || met.torn_manifest.is_some(),
        missing_logs: missing_logs.map(str::to_owned).collect(),
    }
}
