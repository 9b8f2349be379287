//! The settings in `xtask/tidy.toml`: the floors, the limits that only decrease, and every
//! exception with its reason.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Path of the settings, relative to the root.
pub(crate) const PATH: &str = "xtask/tidy.toml";

/// The reason for an exception; an empty one is rejected.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Why(pub(crate) String);

impl TryFrom<String> for Why {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Why, &'static str> {
        if text.trim().is_empty() {
            return Err("`why` is empty: state the reason");
        }
        Ok(Why(text))
    }
}

/// Crates that must not depend on one another although their floors would allow it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Apart {
    /// The importing crate.
    #[serde(rename = "crate")]
    pub(crate) package: String,
    /// The crates that it must not import.
    pub(crate) never: Vec<String>,
    pub(crate) why: Why,
}

/// A file or function that may be longer than the limit.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Long {
    pub(crate) path: String,
    /// The function; empty for a file.
    #[serde(default)]
    pub(crate) name: String,
    /// Maximum number of lines.
    pub(crate) lines: usize,
    #[expect(dead_code, reason = "read by people, and required")]
    why: Why,
}

/// A library file outside the environment crate that may use system services directly.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Seam {
    pub(crate) path: String,
    #[expect(dead_code, reason = "read by people, and required")]
    why: Why,
}

/// A type that may have more methods or fields than the limits.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LargeType {
    #[serde(rename = "crate")]
    pub(crate) package: String,
    /// The type's name, with as much of its path as distinguishes it from others of that name.
    pub(crate) name: String,
    pub(crate) methods: Option<usize>,
    pub(crate) fields: Option<usize>,
    #[expect(dead_code, reason = "read by people, and required")]
    why: Why,
}

/// A folder that may hold more source files than the limit.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LargeFolder {
    pub(crate) path: String,
    pub(crate) files: usize,
    #[expect(dead_code, reason = "read by people, and required")]
    why: Why,
}

/// Words that must not be reintroduced.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Word {
    /// Words or phrases, in lower case.
    pub(crate) words: Vec<String>,
    /// The replacement to write.
    pub(crate) instead: String,
    /// Number of remaining uses in the tree.
    #[serde(default)]
    pub(crate) count: usize,
    /// Files, or folders if they end in `/`, where the words may stay.
    #[serde(default)]
    pub(crate) may_stay: Vec<String>,
}

/// The settings of all rules.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Settings {
    /// The commit after which subjects are checked.
    pub(crate) subjects_after: String,
    /// The commit after which long changes need a body.
    pub(crate) bodies_after: String,
    /// Maximum number of words of all documents.
    pub(crate) words_max: Option<usize>,
    /// Manifests of the separate workspaces below the root.
    pub(crate) workspaces: Vec<String>,
    /// Files that may contain `unsafe`, and folders, which end in `/`.
    #[serde(rename = "unsafe")]
    pub(crate) unsafe_files: Vec<String>,
    /// Floor of every workspace member.
    pub(crate) floors: BTreeMap<String, i64>,
    /// The houses, which are folders at the root, each with the houses that its crates may import.
    pub(crate) houses: BTreeMap<String, Vec<String>>,
    /// Bands of folders inside a crate, lowest first.
    pub(crate) bands: BTreeMap<String, Vec<String>>,
    pub(crate) apart: Vec<Apart>,
    #[serde(rename = "long-file")]
    pub(crate) long_files: Vec<Long>,
    #[serde(rename = "long-function")]
    pub(crate) long_functions: Vec<Long>,
    #[serde(rename = "seam")]
    pub(crate) seams: Vec<Seam>,
    #[serde(rename = "type")]
    pub(crate) types: Vec<LargeType>,
    #[serde(rename = "folder")]
    pub(crate) folders: Vec<LargeFolder>,
    #[serde(rename = "word")]
    pub(crate) words: Vec<Word>,
}

impl Settings {
    /// Reads the settings; an unknown key or an exception without a reason is an error.
    pub(crate) fn parse(text: &str) -> Result<Settings, String> {
        toml::from_str(text).map_err(|e| format!("{PATH}: {e}"))
    }
}

/// Returns whether an entry for a file, or for a folder if it ends in `/`, covers this file.
pub(crate) fn covers(entry: &str, file: &str) -> bool {
    if entry.ends_with('/') {
        file.starts_with(entry)
    } else {
        file == entry
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exception_needs_a_reason() {
        let entry = "[[long-file]]\npath = \"a\"\nlines = 501\n";
        let error = Settings::parse(entry).unwrap_err();
        assert!(error.contains("missing field `why`"), "{error}");
        let error = Settings::parse(&format!("{entry}why = \" \"")).unwrap_err();
        assert!(error.contains("state the reason"), "{error}");
    }

    #[test]
    fn unknown_keys_are_refused() {
        let error = Settings::parse("[[unsave]]\npath = \"a.rs\"").unwrap_err();
        assert!(error.contains("unknown field `unsave`"), "{error}");
    }

    #[test]
    fn all_kinds_are_read() {
        let text = r#"
            words-max = 7
            unsafe = ["sys/"]
            [floors]
            base = 1
            [bands]
            engine = ["low", "high"]
            [[apart]]
            crate = "core"
            never = ["store"]
            why = "neutral"
            [[long-function]]
            path = "a.rs"
            name = "f"
            lines = 70
            why = "a table"
            [[word]]
            words = ["grok"]
            instead = "understand"
            count = 3
            may-stay = ["docs/"]
        "#;
        let settings = Settings::parse(text).unwrap();
        assert_eq!(settings.words_max, Some(7));
        assert_eq!(settings.floors["base"], 1);
        assert_eq!(settings.bands["engine"], ["low", "high"]);
        assert_eq!(settings.apart[0].never, ["store"]);
        assert_eq!(settings.long_functions[0].lines, 70);
        assert_eq!(settings.words[0].may_stay, ["docs/"]);
        assert!(covers(&settings.unsafe_files[0], "sys/file.rs"));
        assert!(!covers(&settings.unsafe_files[0], "system.rs"));
    }
}
