//! Repairs of damaged directories, ours and LevelDB's: what is intact must be kept, what is lost
//! must be named, and what was deleted must stay deleted.
//!
//! What is intact is found in the bytes of the undamaged image, without the store's own readers.

use bench_core::host::test_skip::skip;
use cairndb::{Db, DoubtKind, KeySpan, Options, RepairOptions, RepairReport};
use cairndb_env::{Env, RealEnv};
use cairndb_testkit::damage::files::{Files, HOME, files_of, placed};
use cairndb_testkit::damage::{
    Entries, Image, Kind, Mix, Mutant, Story, Subject, Tally, mend_own, run, seeds,
};
use engine_leveldb::LevelDb;

use crate::{leveldb_images, leveldb_missing, own_images};

/// Number of mutants of ours in a push check.
const REPAIRS: u64 = 1_500;
/// So many times fewer mutants of LevelDB's are repaired.
const SHARE: u64 = 15;
/// More than the last batch of a log of LevelDB's.
const LAST_BATCH: usize = 300;

/// The subjects: our repair, of our directories and of LevelDB's.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Repair {
    Own,
    LevelDb,
}

type Outcome = Result<(), String>;

/// The mutations, in equal parts.
const MIX: [(Kind, u64, u64); 14] = [
    (Kind::Exchange, 1, 0),
    (Kind::Repeat, 1, 0),
    (Kind::Byte, 1, 0),
    (Kind::Fill, 1, 0),
    (Kind::Length, 1, 0),
    (Kind::Block, 1, 0),
    (Kind::Truncate, 1, 0),
    (Kind::Append, 1, 0),
    (Kind::Footer, 1, 0),
    (Kind::Delete, 1, 0),
    (Kind::Older, 1, 0),
    (Kind::Current, 1, 0),
    (Kind::NoManifest, 1, 0),
    (Kind::Obsolete, 1, 0),
];

impl Subject for Repair {
    fn mix(&self) -> Mix {
        match self {
            Repair::Own => &MIX,
            // A table of LevelDB's does not hold its number.
            Repair::LevelDb => &MIX[1..],
        }
    }

    fn has_pairs(&self) -> bool {
        true
    }

    fn mend(&self, _: &Image, files: &mut Files, name: &str, at: usize) -> bool {
        mend_own(files, name, at)
    }

    fn judge(&self, image: &Image, mutant: &Mutant, tally: &mut Tally) -> Outcome {
        let (report, found) = repaired(image, mutant)?;
        let case = Case {
            image,
            mutant,
            report: &report,
            is_own: *self == Repair::Own,
        };
        *tally.entry("repairs").or_default() += 1;
        case.check_losses()?;
        if let Some(key) = found
            .keys()
            .find(|key| !image.model.stories.contains_key(*key))
        {
            return Err(format!("key {} was never written", key.escape_ascii()));
        }
        for (key, story) in &image.model.stories {
            case.check_key(key, story, found.get(key), tally)
                .map_err(|why| format!("key {}: {why}\n{report}", key.escape_ascii()))?;
        }
        Ok(())
    }
}

/// Judges the mutants of `images`, and checks that indexes are not needed.
fn check(subject: Repair, images: &[Image], standard: u64, share: u64) {
    let seeds = seeds("CAIRN_REPAIRS", standard, |size| (size / share).max(1));
    for (kind, tally) in run(&subject, images, seeds) {
        let count = |name| tally.get(name).copied().unwrap_or_default();
        // Only without an intact manifest may an intact entry be missing: then the order of
        // versions is a guess.
        let few = count("repairs") < 100;
        let kept_enough = few || count("intact and kept") * 100 >= count("intact") * 99;
        assert!(kept_enough, "{kind}: too many intact entries are lost");
    }
}

#[test]
fn what_is_intact_is_kept_and_what_is_lost_is_named() {
    check(Repair::Own, &own_images::to_repair(), REPAIRS, 1);
}

#[test]
fn leveldbs_directories_are_repaired() {
    let Ok(library) = LevelDb::load(None) else {
        skip("install libleveldb1d");
        return;
    };
    let images = leveldb_images::to_repair(&library);
    images.iter().for_each(leveldb_missing::check);
    check(Repair::LevelDb, &images, REPAIRS / SHARE, SHARE);
}

/// The header of a manifest is also a record of LevelDB's. Where its random number is text,
/// LevelDB's reader accepts the record: a database without tables and logs was taken for LevelDB's.
#[test]
fn an_empty_database_is_ours_whatever_its_random_number() {
    let home = tempfile::tempdir().unwrap();
    // One in 170 is text.
    let source = (0..20_000)
        .map(|number| home.path().join(format!("{number}")))
        .find(|path| {
            Db::open(path).unwrap().close().unwrap();
            let dir = RealEnv::new().open_dir(path, false).unwrap();
            std::str::from_utf8(&files_of(&*dir)["MANIFEST-000002"][40..48]).is_ok()
        })
        .expect("a random number that is text");
    let dry_run = RepairOptions::new(&Options::new()).dry_run(true);
    let repaired = cairndb::repair(source, home.path().join("target"), &dry_run);
    assert!(repaired.is_ok(), "{repaired:?}");
}

/// Repairs a mutant. Returns the report and the entries of the new database.
fn repaired(image: &Image, mutant: &Mutant) -> Result<(RepairReport, Entries), String> {
    let (env, dir) = placed(&mutant.files);
    let options = image.options.clone().env(env);
    let repair = RepairOptions::new(&options);
    let planned = cairndb::repair(HOME, "/new", &repair.clone().dry_run(true));
    let mut planned = planned.map_err(|error| format!("dry run failed: {error}"))?;
    let report = cairndb::repair(HOME, "/new", &repair);
    let report = report.map_err(|error| format!("repair failed: {error}"))?;
    assert!(planned.dry_run, "a dry run says so");
    planned.dry_run = false;
    if planned != report {
        return Err(format!("the dry run differs:\n{planned}\n{report}"));
    }
    let mut left = files_of(&*dir);
    if !mutant.files.contains_key("LOCK") {
        left.remove("LOCK");
    }
    if left != mutant.files {
        return Err("the source was changed".to_owned());
    }
    cairndb::verify("/new", &options).map_err(|error| format!("verify: {error}"))?;
    let db = options
        .open("/new")
        .map_err(|error| format!("open: {error}"))?;
    let mut found = Entries::new();
    for entry in db.iter() {
        let (key, value) = entry.map_err(|error| format!("read: {error}"))?;
        found.insert(key.to_vec(), value.to_vec());
    }
    let (keys, reported) = (found.len() as u64, report.kept.keys);
    if keys != reported {
        return Err(format!("{keys} keys, but {reported} were reported"));
    }
    let put = db.put(b"after", b"repair").and_then(|()| db.close());
    put.map_err(|error| format!("put: {error}"))?;
    Ok((report, found))
}

struct Case<'a> {
    image: &'a Image,
    mutant: &'a Mutant,
    report: &'a RepairReport,
    is_own: bool,
}

impl Case<'_> {
    /// Checks that losses lie in damaged files, and that nothing is in doubt without a reason.
    fn check_losses(&self) -> Outcome {
        let (mutant, report) = (self.mutant, self.report);
        let manifest_hit = mutant.hits_kind("MANIFEST");
        let current_hit = manifest_hit || mutant.hits_kind("CURRENT");
        let exchanged = mutant.kinds.contains(&Kind::Exchange);
        for loss in &report.lost {
            let log_hit = mutant.hits_kind(".log") && loss.file.ends_with(".log");
            let excused = self.is_own && (exchanged || current_hit || log_hit);
            if !mutant.damaged.contains_key(&loss.file) && !manifest_hit && !excused {
                return Err(format!("a loss in an intact file: {loss}"));
            }
        }
        for doubt in report.doubts.iter().filter(|_| self.is_own) {
            let expected = current_hit
                || match doubt.kind {
                    DoubtKind::LogEnd => !self.image.clean,
                    _ => mutant.hits_kind(".log") || mutant.hits_kind(".tbl"),
                };
            if !expected {
                return Err(format!("a doubt without a reason: {doubt:?}"));
            }
        }
        Ok(())
    }

    fn is_in(&self, span: &KeySpan, key: &[u8]) -> bool {
        let ordered = |a: &[u8], b: &[u8]| if self.image.reversed { a >= b } else { a <= b };
        span.first.as_ref().is_none_or(|first| ordered(first, key))
            && span.last.as_ref().is_none_or(|last| ordered(key, last))
    }

    /// Returns whether the end of a log may be damaged.
    fn is_log_end_hit(&self) -> bool {
        let is_hit = |(name, bytes): (&String, &Vec<u8>)| {
            let end = bytes.len().saturating_sub(LAST_BATCH)..usize::MAX;
            name.ends_with(".log") && self.mutant.hits(&(name.clone(), end))
        };
        if self.is_own {
            return self.mutant.hits_kind(".log");
        }
        self.image.files.iter().any(is_hit)
    }

    /// Returns whether the bytes of the key's value are intact, with everything that a reader needs
    /// to find them, as far as that is known.
    fn is_intact(&self, key: &[u8]) -> bool {
        let (image, mutant) = (self.image, self.mutant);
        let is_intact = |places: &Vec<_>| {
            // The pointer to a large value is in a table or the log.
            let mut names = places.iter().map(|(file, _): &(String, _)| file);
            let is_large = names.any(|file| file.ends_with(".val"));
            let pointer_hit = mutant.hits_kind(".tbl") || mutant.hits_kind(".log");
            !(places.iter().any(|place| mutant.hits(place)) || is_large && pointer_hit)
        };
        image.places.get(key).is_some_and(is_intact)
    }

    /// Checks that a key that differs is named, and that an entry whose bytes are intact is kept.
    fn check_key(
        &self,
        key: &[u8],
        story: &Story,
        found: Option<&Vec<u8>>,
        tally: &mut Tally,
    ) -> Outcome {
        let is_right = found == story.now.as_ref();
        let is_intact = self.is_intact(key);
        let mut count = |name, one| *tally.entry(name).or_default() += u64::from(one);
        count("intact", is_intact);
        count("intact and kept", is_intact && is_right);
        if is_right {
            return Ok(());
        }
        count("lost", found.is_none());
        count("older", found.is_some() && story.now.is_some());
        count("deleted back", story.now.is_none());
        if found.is_some_and(|found| !story.ever.contains(found)) && !story.merged {
            return Err("a value that was never written".to_owned());
        }
        let log_hit = self.is_log_end_hit();
        let mut doubts = self.report.doubts.iter();
        let mut losses = self.report.lost.iter();
        let is_named = doubts.any(|doubt| {
            self.is_in(&doubt.keys, key) && (doubt.kind != DoubtKind::LogEnd || log_hit)
        }) || losses.any(|loss| {
            self.is_in(&loss.keys, key) && (found.is_none() || loss.older || story.merged)
        });
        if !is_named {
            return Err(match found {
                Some(_) => "an old value that no loss names".to_owned(),
                None => "a loss that is not named".to_owned(),
            });
        }
        // Without the manifest, which of several versions is the newest is a guess.
        if is_intact && !self.mutant.hits_kind("MANIFEST") {
            return Err("an intact entry is lost".to_owned());
        }
        Ok(())
    }
}
