//! Directories of which one file is missing, or two: every file, and every pair, at every door.
//!
//! No door may succeed with fewer entries than LevelDB would have shown, each must name a file that
//! is missing, and a repair must keep what the other files hold.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cairndb::leveldb::{UpgradeOptions, plan, upgrade};
use cairndb::{
    Doubt, DoubtKind, Error, ErrorKind, Options, RepairOptions, Result, destroy, verify,
};
use cairndb_env::{Dir, MemEnv};
use cairndb_leveldb::{Database, FileName, ManifestSalvage, ReadOptions, TableOptions};
use cairndb_testkit::damage::files::{Files, HOME, files_of, placed};
use cairndb_testkit::damage::{Entries, Image, Model};

use crate::leveldb_images::{Entry, Source, edit};

/// A directory to be written. Each table and log has as many entries.
struct Shape {
    name: &'static str,
    tables: &'static [u64],
    /// The logs that the manifest names: the previous one, or 0, and the one in use, or 0.
    logs: [u64; 2],
}

impl Shape {
    const fn new(name: &'static str, tables: &'static [u64], logs: [u64; 2]) -> Shape {
        Shape { name, tables, logs }
    }
}

const SHAPES: [Shape; 4] = [
    Shape::new("tables and a log", &[5, 7, 9], [0, 12]),
    Shape::new("two logs", &[5], [10, 12]),
    Shape::new("only a log", &[], [0, 3]),
    Shape::new("an export", &[5, 7], [0, 0]),
];

/// Returns the entries of the `nth` file, oldest first. They replace and delete some of those
/// before.
fn entries_of(nth: u64) -> Vec<Entry> {
    let entry = |seq: u64| {
        let key = format!("key{:03}", seq * 7 % 83).into_bytes();
        let value = format!("<{seq}>").repeat(9).into_bytes();
        (key, seq, (!seq.is_multiple_of(5)).then_some(value))
    };
    (nth * 40 + 1..=nth * 40 + 40).map(entry).collect()
}

/// A directory: its files, and the entries of those that have any.
struct Directory {
    name: &'static str,
    files: Files,
    entries: BTreeMap<String, Vec<Entry>>,
}

impl Directory {
    fn new(shape: &Shape) -> Directory {
        let source = Source::new();
        let mut entries = BTreeMap::new();
        let mut next = |file: FileName| {
            let written = entries_of(entries.len() as u64);
            entries.insert(file.to_string(), written.clone());
            written
        };
        let form = TableOptions::default();
        let tables = shape.tables.iter().map(|number| {
            let written = next(FileName::Table(*number));
            source.table(*number, &written, &form)
        });
        let tables: Vec<_> = tables.collect();
        for number in shape.logs.into_iter().filter(|number| *number > 0) {
            source.log(number, next(FileName::Log(number)).chunks(1));
        }
        let last_seq = shape.tables.len() as u64 * 40;
        source.manifest(&[edit(last_seq, shape.logs, tables)]);
        source.write("LOCK", b"");
        source.write("LOG", b"2026/11/28-12:00:00.000000 7f Delete type=0 #3\n");
        Directory {
            name: shape.name,
            files: files_of(&*source.dir),
            entries,
        }
    }

    /// Returns what the files hold without those in `gone`.
    fn left_without(&self, gone: &[&str]) -> Entries {
        let files = self.entries.iter();
        let left = files.filter(|(name, _)| !gone.contains(&&***name));
        let mut entries: Vec<&Entry> = left.flat_map(|(_, entries)| entries).collect();
        entries.sort_by_key(|(_, seq, _)| *seq);
        let mut model = Model::default();
        for (key, _, value) in entries {
            match value {
                Some(value) => model.put(key, value),
                None => model.delete(key),
            }
        }
        model.entries()
    }
}

/// Writes files to a new directory.
fn placed_without(files: &Files, gone: &[&str]) -> (Arc<MemEnv>, Arc<dyn Dir>) {
    let mut files = files.clone();
    files.retain(|name, _| !gone.contains(&&**name));
    placed(&files)
}

/// Returns each name, and every two.
fn choices(files: &Files) -> Vec<Vec<&str>> {
    let names: Vec<&str> = files.keys().map(String::as_str).collect();
    let mut choices: Vec<Vec<&str>> = names.iter().map(|name| vec![*name]).collect();
    for (at, first) in names.iter().enumerate() {
        choices.extend(names[at + 1..].iter().map(|second| vec![*first, *second]));
    }
    choices
}

fn contents(options: &Options, path: &str) -> Entries {
    let db = options.open(path).unwrap();
    let entries = db.iter().map(|entry| {
        let (key, value) = entry.unwrap();
        (key.to_vec(), value.to_vec())
    });
    let entries = entries.collect();
    db.close().unwrap();
    entries
}

/// A directory without some of its files.
struct Case<'a> {
    directory: &'a Directory,
    gone: &'a [&'a str],
    /// Those of the files that hold something that a reader needs.
    needed: Vec<&'a str>,
    left: Entries,
}

impl Case<'_> {
    fn new<'a>(directory: &'a Directory, gone: &'a [&'a str]) -> Case<'a> {
        let needed = gone.iter().copied();
        Case {
            directory,
            gone,
            needed: needed.filter(|name| !name.starts_with("LO")).collect(),
            left: directory.left_without(gone),
        }
    }

    fn text(&self) -> String {
        format!("{} without {:?}", self.directory.name, self.gone)
    }

    fn is_gone(&self, part: &str) -> bool {
        self.gone.iter().any(|name| name.contains(part))
    }

    /// Checks that an error names a missing file, and says what to do.
    fn check_error(&self, door: &str, error: &Error) {
        let text = format!("{}, {door}: {error}", self.text());
        assert_eq!(error.kind(), ErrorKind::Corruption, "{text}");
        let named = error.file_name().expect(&text);
        assert!(self.needed.contains(&named), "{text}");
        let advice = if named.ends_with(".log") {
            &["lost", "restore", "upgrade_without_log"][..]
        } else {
            &["restore", "`repair`"]
        };
        // Without manifest and contents, nothing shows that the directory was LevelDB's.
        let is_known = !self.left.is_empty() || !self.is_gone("MANIFEST");
        let is_advised = advice.iter().all(|it| text.contains(it));
        assert!(!is_known || is_advised, "{text}");
    }

    /// Runs a door on a copy of the directory. A door that fails must not change it.
    fn run<T>(&self, door: impl FnOnce(&Options, &Arc<dyn Dir>) -> Result<T>) -> Result<T> {
        let (env, dir) = placed_without(&self.directory.files, self.gone);
        let before = files_of(&*dir);
        let outcome = door(&Options::new().env(env), &dir);
        if outcome.is_err() {
            // An open takes the lock before it reads a manifest.
            let mut after = files_of(&*dir);
            if !before.contains_key("LOCK") {
                after.remove("LOCK");
            }
            assert!(after == before, "{}: files have changed", self.text());
        }
        outcome
    }

    /// The doors that read LevelDB's files.
    fn check_readers(&self) {
        let read = self.run(|_, dir| Database::open(dir, &ReadOptions::default()).map(drop));
        let planned = self.run(|options, _| plan(HOME, options).map(drop));
        let upgraded = self.run(|options, _| {
            upgrade(HOME, UpgradeOptions::new(options.clone()))?;
            Ok(contents(options, HOME))
        });
        let opened = self.run(|options, _| {
            options.clone().upgrade_leveldb(true).open(HOME)?.close()?;
            Ok(contents(options, HOME))
        });
        let created = self.run(|options, _| {
            let options = options.clone().create_if_missing(true);
            options.clone().upgrade_leveldb(true).open(HOME)?.close()?;
            Ok(contents(&options, HOME))
        });
        if self.needed.is_empty() {
            read.unwrap();
            planned.unwrap();
            for found in [upgraded, opened, created] {
                assert!(found.unwrap() == self.left, "{}", self.text());
            }
            return;
        }
        let failed = |door: &str, outcome: Result<()>| match outcome {
            Ok(()) => panic!("{}: {door} succeeds", self.text()),
            Err(error) => self.check_error(door, &error),
        };
        failed("reader", read);
        failed("plan", planned);
        failed("upgrade", upgraded.map(drop));
        failed("open", opened.map(drop));
        failed("create", created.map(drop));
    }

    /// The doors that know only databases of CairnDB's.
    fn check_others(&self) {
        type Door = fn(&Options) -> Result<()>;
        let doors: [(&str, Door); 4] = [
            ("open", |it| it.open(HOME).map(drop)),
            ("create", |it| {
                it.clone().create_if_missing(true).open(HOME).map(drop)
            }),
            ("read only", |it| {
                it.clone().read_only(true).open(HOME).map(drop)
            }),
            ("verify", |it| verify(HOME, it).map(drop)),
        ];
        for (door, enter) in doors {
            let error = self
                .run(|options, _| enter(options))
                .expect_err(&self.text());
            if self.is_gone("CURRENT") || self.is_gone("MANIFEST") {
                self.check_error(door, &error);
            } else {
                let text = format!("{}, {door}: {error}", self.text());
                assert!(text.contains("upgrade_leveldb"), "{text}");
            }
        }
        let removed = self.run(|options, _| destroy(HOME, options));
        assert_eq!(removed.unwrap_err().kind(), ErrorKind::InvalidArgument);
    }

    /// A conversion that may do without a log.
    fn check_without_log(&self) {
        let converted = self.run(|options, _| {
            let options = options.clone().upgrade_without_log(true);
            let report = upgrade(HOME, UpgradeOptions::new(options.clone()))?;
            Ok((report.missing_logs, contents(&options, HOME)))
        });
        if self.needed.iter().all(|name| name.ends_with(".log")) {
            let (missing, found) = converted.unwrap();
            assert!(found == self.left, "{}", self.text());
            assert_eq!(missing, self.needed, "{}", self.text());
        } else {
            let error = converted.expect_err(&self.text());
            assert!(self.needed.contains(&error.file_name().unwrap()), "{error}");
        }
    }

    fn check_repair(&self) {
        let repaired = self.run(|options, _| {
            let report = cairndb::repair(HOME, "/new", &RepairOptions::new(options))?;
            Ok((report, contents(options, "/new")))
        });
        let (report, found) = match repaired {
            Ok(repaired) => repaired,
            // Nothing is left, not even a manifest.
            Err(error) => {
                let text = format!("{}: {error}", self.text());
                return assert!(self.left.is_empty() && self.is_gone("MANIFEST"), "{text}");
            }
        };
        let text = format!("{}: {report}", self.text());
        assert!(found == self.left, "{text}");
        if self.is_gone("MANIFEST") {
            let unknown = |doubt: &Doubt| doubt.kind == DoubtKind::Replaced;
            assert!(report.doubts.iter().any(unknown), "{text}");
        } else {
            let lost: BTreeSet<&str> = report.lost.iter().map(|loss| &*loss.file).collect();
            let mut expected: BTreeSet<&str> = self.needed.iter().copied().collect();
            expected.remove("CURRENT");
            assert_eq!(lost, expected, "{text}");
        }
        let harmless = report.harmless.iter().any(|found| found.file == "CURRENT");
        assert_eq!(harmless, self.is_gone("CURRENT"), "{text}");
    }
}

#[test]
fn no_file_is_missed_without_an_error_that_names_it() {
    for shape in &SHAPES {
        let directory = Directory::new(shape);
        for gone in choices(&directory.files) {
            let case = Case::new(&directory, &gone);
            case.check_readers();
            case.check_without_log();
            case.check_others();
            case.check_repair();
        }
    }
}

/// Checks the same of a directory that LevelDB has written.
pub(crate) fn check(image: &Image) {
    let (_env, dir) = placed(&image.files);
    let number = cairndb_leveldb::read_current(&*dir).unwrap();
    let manifest = ManifestSalvage::read(&*dir, number).unwrap();
    let is_named = |name: &&str| match FileName::parse(name) {
        Some(FileName::Log(log)) => manifest.log == Some(log),
        Some(FileName::Table(table)) => manifest.tables.contains_key(&table),
        Some(FileName::Manifest(found)) => found == number,
        Some(FileName::Current) => true,
        _ => false,
    };
    let choices = choices(&image.files);
    assert!(choices.iter().any(|gone| gone.iter().all(is_named)));
    for gone in choices {
        let (env, dir) = placed_without(&image.files, &gone);
        let planned = plan(HOME, &Options::new().env(env));
        let read = Database::open(&dir, &ReadOptions::default());
        for outcome in [planned.map(drop), read.map(drop)] {
            match outcome {
                Ok(()) => assert!(!gone.iter().any(is_named), "{gone:?}"),
                Err(error) => {
                    let named = error.file_name().unwrap_or_default();
                    assert!(gone.contains(&named), "{gone:?}: {error}");
                }
            }
        }
    }
}
