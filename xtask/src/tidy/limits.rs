//! A type has at most 30 methods and 15 fields; a source folder holds at most 15 files.
//!
//! A module with a folder is the file `foo.rs` next to `foo/`, never `foo/mod.rs`: editors then
//! show forty files by different names. It counts in neither folder, because it is the contents
//! page of its own.
//!
//! A method is a function of an inherent implementation, anywhere in the crate. Test code is
//! exempt. An exception states the counts that it grants: above them it no longer covers the type
//! or folder, and once it is no longer needed the entry must be removed (a ratchet).

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::Finding;
use crate::house::{House, TargetModules};
use crate::settings::{self, LargeType};
use crate::tree::parent;
use crate::types::Type;

const METHODS_MAX: usize = 30;
const FIELDS_MAX: usize = 15;
const FILES_MAX: usize = 15;

pub(super) fn check(house: &House) -> Vec<Finding> {
    let mut findings = Vec::new();
    for target in house.targets.iter().filter(|target| target.product) {
        for (index, found) in target.types.types.iter().enumerate() {
            type_limits(house, target, index, found, &mut findings);
        }
    }
    for entry in &house.settings.types {
        unneeded_type(house, entry, &mut findings);
    }
    folders(house, &mut findings);
    findings
}

fn type_limits(
    house: &House,
    target: &TargetModules,
    index: usize,
    found: &Type,
    findings: &mut Vec<Finding>,
) {
    let mut entries = house.settings.types.iter();
    let entry = entries.find(|entry| {
        entry.package == target.package && target.types.find(&entry.name) == Some(index)
    });
    let methods = entry.and_then(|entry| entry.methods);
    let fields = entry.and_then(|entry| entry.fields);
    let mut limit = |what, count: usize, granted: Option<usize>, max, advice| {
        let max = granted.unwrap_or(max);
        if count > max {
            let message = format!(
                "`{}` has {count} {what}, more than {max}: {advice}, or state the reason in \
                 [[type]] of {}",
                target.types.name(index),
                settings::PATH
            );
            let file = &target.modules.files[found.file].path;
            findings.push(Finding::new(file, found.line, "type", message));
        }
    };
    let advice = "move a part of its state and the methods on it to a type of their own";
    limit("methods", found.methods, methods, METHODS_MAX, advice);
    let advice = "move fields that belong together to a type of their own";
    limit("fields", found.fields, fields, FIELDS_MAX, advice);
}

fn unneeded_type(house: &House, entry: &LargeType, findings: &mut Vec<Finding>) {
    let mut refuse = |message: String| {
        let message = format!("[[type]] {} of {}: {message}", entry.name, entry.package);
        findings.push(Finding::new(settings::PATH, 0, "type", message));
    };
    let targets = house.targets.iter();
    let mut targets = targets.filter(|target| target.product && target.package == entry.package);
    let found = targets.find_map(|target| {
        let index = target.types.find(&entry.name)?;
        Some(&target.types.types[index])
    });
    let Some(found) = found else {
        return refuse("no such type exists, remove the entry".to_owned());
    };
    if entry.methods.is_none() && entry.fields.is_none() {
        refuse("grants nothing, name `methods` or `fields` or remove the entry".to_owned());
    }
    if entry.methods.is_some() && found.methods <= METHODS_MAX {
        refuse("`methods` is no longer needed, remove it".to_owned());
    }
    if entry.fields.is_some() && found.fields <= FIELDS_MAX {
        refuse("`fields` is no longer needed, remove it".to_owned());
    }
}

fn folders(house: &House, findings: &mut Vec<Finding>) {
    let paths = || house.sources.keys().filter(|path| !house.is_test(path));
    let parents: BTreeSet<&str> = paths().map(|path| parent(path)).collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for path in paths() {
        if path.ends_with("/mod.rs") {
            let message = format!("rename it to `{}.rs`, next to its folder", parent(path));
            findings.push(Finding::new(path, 0, "module", message));
        }
        if !parents.contains(path.trim_end_matches(".rs")) {
            *counts.entry(parent(path)).or_default() += 1;
        }
    }
    let entries = &house.settings.folders;
    for (folder, count) in &counts {
        let entry = entries.iter().find(|entry| entry.path == *folder);
        let max = entry.map_or(FILES_MAX, |entry| entry.files);
        if *count > max.max(FILES_MAX) {
            let message = format!(
                "has {count} source files, more than {max}: move those of one subject to a folder \
                 of their own, or state the reason in [[folder]] of {}",
                settings::PATH
            );
            findings.push(Finding::new(*folder, 0, "folder", message));
        }
    }
    for entry in entries {
        let count = counts.get(entry.path.as_str()).copied().unwrap_or(0);
        if count <= FILES_MAX {
            let message = format!(
                "[[folder]] {}: no longer needed, remove the entry",
                entry.path
            );
            findings.push(Finding::new(settings::PATH, 0, "folder", message));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::house::{house, lines};

    const MANIFEST: (&str, &str) = ("e/Cargo.toml", "[package]\nname = \"e\"");

    /// Checks a type with that many fields, and that many methods in two files.
    fn check_type(settings: &str, methods: usize, fields: usize) -> Vec<String> {
        let fields: Vec<String> = (0..fields).map(|at| format!("f{at}: u8")).collect();
        let functions = |from, to| -> String {
            (from..to)
                .map(|at| format!("fn m{at}(&self) {{}}\n"))
                .collect::<Vec<_>>()
                .concat()
        };
        let half = methods / 2;
        let root = format!(
            "mod a;\nstruct T {{ {}, #[cfg(test)] g: u8 }}\nimpl T {{ {} }}\n\
             #[cfg(test)] impl T {{ fn t() {{}} }}\nimpl Clone for T {{ fn clone(&self) -> T {{}} }}",
            fields.join(", "),
            functions(0, half)
        );
        let other = format!("use crate::T;\nimpl T {{ {} }}", functions(half, methods));
        let files = [
            MANIFEST,
            ("e/src/lib.rs", root.as_str()),
            ("e/src/a.rs", other.as_str()),
        ];
        lines(&check(&house(settings, &files)))
    }

    #[test]
    fn types_at_the_limits_pass() {
        assert_eq!(check_type("", 30, 14), Vec::<String>::new());
    }

    #[test]
    fn large_types_need_an_entry_that_holds() {
        let found = check_type("", 31, 15);
        assert_eq!(found.len(), 2, "{found:?}");
        let start = "e/src/lib.rs:2: type: `T` has 31 methods, more than 30: move";
        assert!(found[0].starts_with(start), "{found:?}");
        assert!(found[1].contains("`T` has 16 fields"), "{found:?}");
        let entry = "[[type]]\ncrate = \"e\"\nname = \"T\"\nwhy = \"r\"\nmethods = 31";
        assert_eq!(check_type(entry, 31, 14), Vec::<String>::new());
        let found = check_type(entry, 32, 14);
        assert!(found[0].contains("32 methods, more than 31"), "{found:?}");
        let found = check_type(entry, 30, 14);
        let end = "tidy.toml: type: [[type]] T of e: `methods` is no longer needed, remove it";
        assert!(found[0].ends_with(end), "{found:?}");
        let found = check_type(&entry.replace("\"T\"", "\"U\""), 3, 3);
        assert!(found[0].contains("no such type exists"), "{found:?}");
    }

    #[test]
    fn a_module_with_a_folder_is_next_to_it() {
        let check_module = |path: &str| lines(&check(&house("", &[(path, ""), ("s/a/b.rs", "")])));
        assert_eq!(check_module("s/a.rs"), Vec::<String>::new());
        let found = check_module("s/a/mod.rs");
        let line = "s/a/mod.rs: module: rename it to `s/a.rs`, next to its folder";
        assert_eq!(found, [line]);
    }

    #[test]
    fn full_folders_need_an_entry_that_holds() {
        let check_folder = |settings: &str, count: usize| {
            let paths: Vec<String> = (0..count).map(|at| format!("s/{at}.rs")).collect();
            let mut files: Vec<(&str, &str)> =
                paths.iter().map(|path| (path.as_str(), "")).collect();
            files.extend([("s/tests.rs", ""), ("s/tests/a.rs", "")]);
            files.extend([("s/part.rs", ""), ("s/part/a.rs", "")]);
            lines(&check(&house(settings, &files)))
        };
        assert_eq!(check_folder("", 15), Vec::<String>::new());
        let found = check_folder("", 16);
        assert_eq!(found.len(), 1, "{found:?}");
        let start = "s: folder: has 16 source files, more than 15";
        assert!(found[0].starts_with(start), "{found:?}");
        let entry = "[[folder]]\npath = \"s\"\nfiles = 16\nwhy = \"r\"";
        assert_eq!(check_folder(entry, 16), Vec::<String>::new());
        assert!(check_folder(entry, 17)[0].contains("more than 16"));
        assert!(check_folder(entry, 15)[0].contains("no longer needed"));
    }
}
