//! The files of the working tree, read once.
//!
//! Build output and the `.git` folder are skipped. Everything else is read, including files that
//! are not committed yet, because they are about to be.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Names that are skipped at any depth. `.git` is a file in a linked working tree.
const SKIPPED: [&str; 4] = ["target", ".git", "corpus", "artifacts"];
/// The folder at the root that the benchmark writes.
const SKIPPED_AT_ROOT: &str = "report";

/// Every text file by its path relative to the root, with `/` between components.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    files: BTreeMap<String, String>,
    binary: Vec<String>,
}

impl Tree {
    /// Reads the tree below `root`.
    pub(crate) fn read(root: &Path) -> Result<Tree, String> {
        let mut tree = Tree::default();
        let mut folders = vec![(root.to_path_buf(), String::new())];
        while let Some((folder, prefix)) = folders.pop() {
            let entries =
                fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
            for entry in entries {
                let entry = entry.map_err(|e| format!("{}: {e}", folder.display()))?;
                let name = entry.file_name().to_string_lossy().into_owned();
                let path = format!("{prefix}{name}");
                let kind = entry.file_type().map_err(|e| format!("{path}: {e}"))?;
                let skipped = SKIPPED.contains(&name.as_str()) || path == SKIPPED_AT_ROOT;
                if kind.is_dir() {
                    if !skipped {
                        folders.push((entry.path(), format!("{path}/")));
                    }
                } else if kind.is_file() && !skipped {
                    let bytes = fs::read(entry.path()).map_err(|e| format!("{path}: {e}"))?;
                    tree.insert(path, bytes);
                }
            }
        }
        Ok(tree)
    }

    fn insert(&mut self, path: String, bytes: Vec<u8>) {
        match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => {
                self.files.insert(path, text);
            }
            _ => self.binary.push(path),
        }
    }

    /// Creates a tree from the given files, for tests of rules.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Tree {
        let mut tree = Tree::default();
        for (path, text) in files {
            tree.insert((*path).to_owned(), text.as_bytes().to_vec());
        }
        tree
    }

    /// Returns the text of one file.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Returns whether a file or folder with that path exists.
    pub(crate) fn exists(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        let inside = format!("{path}/");
        path.is_empty()
            || self.files.contains_key(path)
            || self
                .files
                .range(inside.clone()..)
                .next()
                .is_some_and(|(found, _)| found.starts_with(&inside))
            || self
                .binary
                .iter()
                .any(|found| found == path || found.starts_with(&inside))
    }

    /// Returns all text files with their text.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// Returns the text files whose names end in `suffix`.
    pub(crate) fn with_suffix<'a>(
        &'a self,
        suffix: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.files().filter(move |(path, _)| path.ends_with(suffix))
    }
}

/// Returns the folder of a path, without a trailing slash; empty at the root.
pub(crate) fn parent(path: &str) -> &str {
    path.rfind('/').map_or("", |at| &path[..at])
}

/// Resolves `path` relative to the folder `from`, with `.` and `..` removed; `None` if it leaves
/// the tree.
pub(crate) fn join(from: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_exists_through_its_files() {
        let tree = Tree::of(&[("a/b/c.rs", ""), ("a/b-c.rs", "")]);
        assert!(tree.exists("a"));
        assert!(tree.exists("a/b/"));
        assert!(tree.exists("a/b/c.rs"));
        assert!(!tree.exists("a/c"));
        assert!(!tree.exists("a/b/c"));
    }

    #[test]
    fn join_walks_up_and_refuses_to_leave() {
        assert_eq!(
            join("docs/guide", "../tour.md").as_deref(),
            Some("docs/tour.md")
        );
        assert_eq!(join("", "./x//y").as_deref(), Some("x/y"));
        assert_eq!(join("docs", "../../x"), None);
    }
}
