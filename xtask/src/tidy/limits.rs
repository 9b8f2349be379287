//! A file has at most 500 lines, a function 60; a type has at most 30 methods and 15 fields; a
//! source folder holds at most 15 files.
//!
//! A module with a folder is the file `foo.rs` next to `foo/`, never `foo/mod.rs`: editors then
//! show forty files by different names. It counts in neither folder, because it is the contents
//! page of its own.
//!
//! A method is a function of an inherent implementation, anywhere in the crate. Test code is
//! exempt. An exception for a type states the counts that it grants: above them it no longer covers
//! the type, and once it is no longer needed the entry must be removed (a ratchet).

use std::collections::{BTreeMap, BTreeSet};

use crate::findings::Findings;
use crate::house::House;
use crate::settings::{self, LargeType};
use crate::source::Type;
use crate::tree::parent;

const FILE_LINES_MAX: usize = 500;
const FUNCTION_LINES_MAX: usize = 60;
const METHODS_MAX: usize = 30;
const FIELDS_MAX: usize = 15;
const FILES_MAX: usize = 15;

pub(super) fn check(house: &House, findings: &mut Findings) {
    lengths(house, findings);
    types(house, findings);
    folders(house, findings);
}

fn lengths(house: &House, findings: &mut Findings) {
    for (path, source) in house.product() {
        let mut limit = |line, rule, what: &str, lines, max| {
            if lines > max {
                let message = format!("{what} has {lines} lines, more than {max}: split it");
                findings.add(path, line, rule, message);
            }
        };
        let lines = house.tree.text(path).unwrap_or_default().lines().count();
        limit(0, "long-file", "the file", lines, FILE_LINES_MAX);
        for it in &source.functions {
            let name = format!("`{}`", it.name);
            limit(
                it.line,
                "long-function",
                &name,
                it.lines,
                FUNCTION_LINES_MAX,
            );
        }
    }
}

fn types(house: &House, findings: &mut Findings) {
    // How many types each exception covers.
    let mut covered = vec![0; house.settings.types.len()];
    for target in house.targets.iter().filter(|target| target.product) {
        for (path, (file, found)) in target.modules.types() {
            let name = path.join("::");
            let mut granted = None;
            for (index, entry) in house.settings.types.iter().enumerate() {
                let fits = format!("::{name}").ends_with(&format!("::{}", entry.name));
                if fits && entry.package == target.package {
                    covered[index] += 1;
                    granted = Some(entry);
                }
            }
            let file = &target.modules.files[file].path;
            type_limits(&name, file, &found, granted, findings);
        }
    }
    for (entry, count) in house.settings.types.iter().zip(covered) {
        if count != 1 {
            let message = format!(
                "{}: no such type exists, or several: name one",
                heading(entry)
            );
            findings.setting("type", message);
        }
    }
}

fn heading(entry: &LargeType) -> String {
    format!("[[type]] {} of {}", entry.name, entry.package)
}

fn type_limits(
    name: &str,
    file: &str,
    found: &Type,
    entry: Option<&LargeType>,
    findings: &mut Findings,
) {
    let counts = [
        (
            "methods",
            found.methods,
            METHODS_MAX,
            entry.and_then(|entry| entry.methods),
        ),
        (
            "fields",
            found.fields,
            FIELDS_MAX,
            entry.and_then(|entry| entry.fields),
        ),
    ];
    for (what, count, limit, granted) in counts {
        let max = granted.unwrap_or(limit);
        if count > max {
            let message = format!(
                "`{name}` has {count} {what}, more than {max}: move a part of its state and the \
                 methods on it to a type of their own, or state the reason in [[type]] of {}",
                settings::PATH
            );
            findings.add(file, found.line, "type", message);
        }
        if let Some(entry) = entry
            && count <= limit
            && (granted.is_some() || entry.methods.is_none() && entry.fields.is_none())
        {
            let message = format!("{}: `{what}` is not needed, remove it", heading(entry));
            findings.setting("type", message);
        }
    }
}

fn folders(house: &House, findings: &mut Findings) {
    let parents: BTreeSet<&str> = house.product().map(|(path, _)| parent(path)).collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (path, _) in house.product() {
        if path.ends_with("/mod.rs") {
            let message = format!("rename it to `{}.rs`, next to its folder", parent(path));
            findings.add(path, 0, "module", message);
        }
        if !parents.contains(path.trim_end_matches(".rs")) {
            *counts.entry(parent(path)).or_default() += 1;
        }
    }
    for (folder, count) in counts.into_iter().filter(|(_, count)| *count > FILES_MAX) {
        let message = format!(
            "has {count} source files, more than {FILES_MAX}: move those of one subject to a \
             folder of their own"
        );
        findings.add(folder, 0, "folder", message);
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::findings::expect;

    const MANIFEST: (&str, &str) = ("e/Cargo.toml", "[package]\nname = \"e\"");

    #[test]
    fn long_functions_and_files_are_found_and_tests_exempt() {
        let body = |lines: usize| format!("fn f() {{\n{}}}\n", "g();\n".repeat(lines - 2));
        let long_file = "//! x\n".repeat(501);
        let test = format!("#[cfg(test)]\nmod tests {{\n#[test]\n{}}}", body(90));
        let files = [
            ("a.rs", long_file.as_str()),
            ("a/tests.rs", &long_file),
            ("b.rs", &body(61)),
            ("c.rs", &body(60)),
            ("d.rs", &test),
        ];
        let parts = [
            "a.rs: long-file: the file has 501 lines",
            "b.rs:1: long-function: `f` has 61 lines",
        ];
        expect(check, "", &files, &parts);
    }

    /// Checks a type with that many fields, and that many methods in two files.
    fn expect_type(settings: &str, methods: usize, fields: usize, parts: &[&str]) {
        let fields: Vec<String> = (0..fields).map(|at| format!("f{at}: u8")).collect();
        let functions = |from, to| -> String {
            let functions = (from..to).map(|at| format!("fn m{at}(&self) {{}}\n"));
            functions.collect()
        };
        let half = methods / 2;
        let root = format!(
            "mod a;\nstruct T {{ {}, #[cfg(test)] g: u8 }}\nimpl T {{ {} }}\n\
             #[cfg(test)] impl T {{ fn t() {{}} }}\nimpl Clone for T {{ fn clone(&self) -> T {{}} }}",
            fields.join(", "),
            functions(0, half)
        );
        let other = format!("use crate::T;\nimpl T {{ {} }}", functions(half, methods));
        let files = [MANIFEST, ("e/src/lib.rs", &root), ("e/src/a.rs", &other)];
        expect(check, settings, &files, parts);
    }

    #[test]
    fn large_types_need_an_entry_that_holds() {
        let entry = "[[type]]\ncrate = \"e\"\nname = \"T\"\nwhy = \"r\"\nmethods = 31";
        let other = entry.replace("\"T\"", "\"U\"");
        let empty = entry.replace("\nmethods = 31", "");
        let stale = "tidy.toml: type: [[type]] T of e: `methods` is not needed, remove it";
        let large = [
            "e/src/lib.rs:2: type: `T` has 16 fields, more than 15: move",
            "e/src/lib.rs:2: type: `T` has 31 methods, more than 30: move",
        ];
        expect_type("", 30, 14, &[]);
        expect_type("", 31, 15, &large);
        expect_type(entry, 31, 14, &[]);
        expect_type(entry, 32, 14, &["32 methods, more than 31"]);
        expect_type(entry, 30, 14, &[stale]);
        expect_type(
            &empty,
            30,
            14,
            &["`fields` is not needed", "`methods` is not needed"],
        );
        expect_type(&other, 3, 3, &["[[type]] U of e: no such type exists"]);
    }

    #[test]
    fn a_module_with_a_folder_is_next_to_it() {
        let line = "s/a/mod.rs: module: rename it to `s/a.rs`, next to its folder";
        for (path, parts) in [("s/a.rs", &[][..]), ("s/a/mod.rs", &[line])] {
            expect(check, "", &[(path, ""), ("s/a/b.rs", "")], parts);
        }
    }

    #[test]
    fn full_folders_are_found() {
        let full = "s: folder: has 16 source files, more than 15";
        for (count, parts) in [(15, &[][..]), (16, &[full])] {
            let paths: Vec<String> = (0..count).map(|at| format!("s/{at}.rs")).collect();
            let of = |path| (path, "");
            let mut files: Vec<_> = paths.iter().map(|path| of(path.as_str())).collect();
            files.extend(["s/tests.rs", "s/tests/a.rs", "s/part.rs", "s/part/a.rs"].map(of));
            expect(check, "", &files, parts);
        }
    }
}
