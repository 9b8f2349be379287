//! Shared parts of the tests that check that every error of an environment names its path.
//!
//! Each environment has a walk that makes the calls fail: it starts with [`walk_what_all_refuse`],
//! adds the calls that only this environment refuses, and ends with [`Walk::assert_complete`]. The
//! table of calls is read from the source of the traits: a new fallible call must be walked or
//! excused with a reason.

#![expect(clippy::unwrap_used, reason = "a test helper for other crates")]

use std::collections::BTreeSet;
use std::path::Path;

use cairndb_base::Result;

use crate::dir::Dir;
use crate::environment::Env;
use crate::file::Access;

/// The reason why [`Env::spawn`] is in no walk.
pub const SPAWN: (&str, &str) = ("Env::spawn", "a thread belongs to no directory");

/// The subject of an error.
#[derive(Clone, Copy, Debug)]
pub enum About<'a> {
    /// A file, as the path of its directory and its name.
    File(&'a Path, &'a str),
    /// A directory, as its path.
    Directory(&'a Path),
}

/// Calls that failed, and calls whose errors do not name their paths.
#[derive(Debug, Default)]
pub struct Walk {
    walked: BTreeSet<String>,
    wrong: Vec<String>,
}

impl Walk {
    /// Records the call, which must have failed, and anything that its error lacks.
    pub fn fails<T>(&mut self, call: &str, about: About<'_>, result: Result<T>) {
        self.walked.insert(call.to_owned());
        let Err(error) = result else {
            self.wrong.push(format!("{call} did not fail: {about:?}"));
            return;
        };
        let (name, place) = match about {
            About::File(dir, name) => {
                (name.to_owned(), format!("file {name} in {}", dir.display()))
            }
            About::Directory(path) => {
                let path = path.display().to_string();
                (path.clone(), format!("file {path}"))
            }
        };
        let text = error.to_string();
        // A longer path or name with the same prefix does not match.
        let named = [')', ',']
            .iter()
            .any(|end| text.contains(&format!("({place}{end}")));
        if error.file_name() != Some(&*name) || !named {
            self.wrong
                .push(format!("{call} reported \"{text}\", not ({place})"));
        }
    }

    /// Asserts that all errors named their paths.
    ///
    /// # Panics
    /// If any error did not; the message lists all of them.
    pub fn assert_named(self) {
        assert!(self.wrong.is_empty(), "{}", self.wrong.join("\n"));
    }

    /// Asserts that all errors named their paths and that every fallible call was walked. `excused`
    /// calls are exempt: pairs of a call, as in `Dir::list`, and the reason.
    ///
    /// # Panics
    /// If an error did not name its path or a call was not walked; the message lists them.
    pub fn assert_complete(self, excused: &[(&str, &str)]) {
        let excused = excused.iter().map(|(call, _reason)| (*call).to_owned());
        let excused: BTreeSet<String> = excused.collect();
        let table = fallible_calls();
        let missed: Vec<_> = table.difference(&self.walked).collect();
        assert_eq!(missed, excused.iter().collect::<Vec<_>>(), "not walked");
        let unknown: Vec<_> = self.walked.difference(&table).collect();
        assert!(unknown.is_empty(), "not fallible calls: {unknown:?}");
        self.assert_named();
    }
}

/// Returns `Trait::method` for every method of the environment's traits that returns a `Result`.
/// The other methods cannot report an error.
fn fallible_calls() -> BTreeSet<String> {
    let sources = [
        include_str!("../environment.rs"),
        include_str!("../dir.rs"),
        include_str!("../file.rs"),
    ];
    let mut calls = BTreeSet::new();
    for source in sources {
        let traits = source.split("\npub trait ").skip(1);
        for body in traits.filter_map(|rest| rest.split("\n}").next()) {
            let name: String = body
                .chars()
                .take_while(char::is_ascii_alphanumeric)
                .collect();
            for method in body.split("\n    fn ").skip(1) {
                let signature = method.split([';', '{']).next().unwrap_or_default();
                if signature.contains("Result<") {
                    let method = signature.split('(').next().unwrap_or_default();
                    calls.insert(format!("{name}::{method}"));
                }
            }
        }
    }
    calls
}

#[test]
fn the_table_of_calls_has_those_of_every_trait() {
    let calls = fallible_calls();
    for call in [
        "Env::open_dir",
        "Env::spawn",
        "Dir::lock",
        "Dir::remove",
        "WritableFile::append_parts",
        "FileSync::sync",
        "ReadFile::map",
        "LogRegion::write",
    ] {
        assert!(calls.contains(call), "{call}");
    }
    assert!(!calls.contains("ReadFile::advise"));
}

/// Walks the calls that fail in every environment, in the new directory `path` of `env`; `foreign`
/// belongs to another environment.
///
/// # Panics
/// If a call that must succeed in between fails.
pub fn walk_what_all_refuse(env: &dyn Env, path: &Path, foreign: &dyn Dir) -> Walk {
    let mut walk = Walk::default();
    let missing = path.join("missing");
    let at = About::Directory(&missing);
    walk.fails("Env::open_dir", at, env.open_dir(&missing, false));
    let dir = env.open_dir(path, true).unwrap();
    let to_path = path.join("to");
    let to = env.open_dir(&to_path, true).unwrap();
    let here = |name| About::File(path, name);
    dir.create("f").unwrap().append(b"bytes").unwrap();
    let log = dir.create_log("l", 4096).unwrap();
    walk.fails("Dir::create", here("f"), dir.create("f"));
    walk.fails("Dir::create_log", here("f"), dir.create_log("f", 10));
    walk.fails("Dir::open_log", here("l"), dir.open_log("l"));
    drop(log);
    walk.fails("Dir::open_log", here("none"), dir.open_log("none"));
    walk.fails("Dir::open_read", here("none"), dir.open_read("none"));
    walk.fails("Dir::rename", here("none"), dir.rename("none", "f"));
    walk.fails("Dir::unlink", here("none"), dir.unlink("none"));
    walk.fails("Dir::sync_file", here("none"), dir.sync_file("none"));
    walk.fails("Dir::remove", About::Directory(path), dir.remove());
    drop(to.create("g").unwrap());
    let renamed = dir.rename_to(&to_path);
    walk.fails("Dir::rename_to", About::Directory(&to_path), renamed);
    to.unlink("g").unwrap();
    let linked = dir.link("none", &*to, "t");
    walk.fails("Dir::link", here("none"), linked);
    walk.fails("Dir::link", here("f"), dir.link("f", foreign, "t"));
    dir.link("f", &*to, "t").unwrap();
    let there = About::File(&to_path, "t");
    walk.fails("Dir::link", there, dir.link("f", &*to, "t"));
    walk.fails("Dir::copy", here("none"), dir.copy("none", &*to, "c"));
    walk.fails("Dir::copy", there, dir.copy("f", &*to, "t"));
    walk.fails("Dir::file_id", here("none"), dir.file_id("none"));
    let alone = dir.lock("LOCK").unwrap();
    walk.fails("Dir::lock", here("LOCK"), dir.lock("LOCK"));
    walk.fails("Dir::lock_shared", here("LOCK"), dir.lock_shared("LOCK"));
    let unmade = dir.open_shared("none", 8, false);
    walk.fails("Dir::open_shared", here("none"), unmade);
    drop(alone);
    let shared = dir.lock_shared("LOCK").unwrap();
    walk.fails("Dir::lock", here("LOCK"), dir.lock("LOCK"));
    drop(shared);
    let file = dir.open_read("f").unwrap();
    walk.fails("ReadFile::read_at", here("f"), file.read_at(3, &mut [0; 3]));
    walk.fails("ReadFile::map", here("f"), file.map(6, Access::Random));
    walk
}
