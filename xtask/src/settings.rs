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

/// Words that must not be reintroduced.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Word {
    /// Words or phrases, in lower case.
    pub(crate) words: Vec<String>,
    /// The replacement to write.
    pub(crate) instead: String,
    /// Number of remaining uses in the tree.
    pub(crate) count: usize,
}

/// The settings of all rules.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Settings {
    /// The commit after which messages are checked.
    pub(crate) commits_after: String,
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
    /// Paths that bypass the environment, with what to use instead.
    #[serde(rename = "seam")]
    pub(crate) seams: BTreeMap<String, String>,
    #[serde(rename = "type")]
    pub(crate) types: Vec<LargeType>,
    #[serde(rename = "word")]
    pub(crate) words: Vec<Word>,
}

impl Settings {
    /// Reads the settings; an unknown key or an exception without a reason is an error.
    pub(crate) fn parse(text: &str) -> Result<Settings, String> {
        toml::from_str(text).map_err(|e| format!("{PATH}: {e}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exception_needs_a_reason_and_known_keys() {
        let entry = "[[type]]\ncrate = \"a\"\nname = \"T\"\n";
        for (text, part) in [
            (entry, "missing field `why`"),
            (&format!("{entry}why = \" \""), "state the reason"),
            ("[[unsave]]\npath = \"a.rs\"", "unknown field `unsave`"),
        ] {
            let error = Settings::parse(text).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
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
            [seam]
            "std::fs" = "use the environment"
            [[apart]]
            crate = "core"
            never = ["store"]
            why = "neutral"
            [[word]]
            words = ["grok"]
            instead = "understand"
            count = 3
        "#;
        let settings = Settings::parse(text).unwrap();
        assert_eq!(settings.words_max, Some(7));
        assert_eq!(settings.unsafe_files, ["sys/"]);
        assert_eq!(settings.floors["base"], 1);
        assert_eq!(settings.bands["engine"], ["low", "high"]);
        assert_eq!(settings.seams["std::fs"], "use the environment");
        assert_eq!(settings.apart[0].never, ["store"]);
        assert_eq!(settings.words[0].count, 3);
    }
}
