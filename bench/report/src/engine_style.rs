//! The look of an engine: title, colour, pattern, and the folder of its adapter.
//!
//! LevelDB, TreeDB and SQLite keep the colours of the page of 2011. Every engine also has a pattern
//! of its own, so that bars can be distinguished without colours and in black ink.

/// Pattern drawn over the colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    Solid,
    Slash,
    Backslash,
    Dots,
    Upright,
    Level,
    Cross,
    Mesh,
    Wide,
    Chevron,
    Ruled,
    Hollow,
}

/// One engine's look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EngineStyle {
    /// Name in the records; `None` for unknown engines.
    name: Option<&'static str>,
    title: &'static str,
    /// Ground colour.
    pub(crate) colour: &'static str,
    /// Colour of the pattern.
    pub(crate) ink: &'static str,
    /// Pattern.
    pub(crate) pattern: Pattern,
    /// Folder of the adapter below `bench/engines`.
    folder: &'static str,
}

/// The store of this project.
pub(crate) const OURS: &str = "cairndb";
/// The store of this project, through its C library.
pub(crate) const OURS_IN_C: &str = "cairndb-c";
/// The engine that stores nothing.
pub(crate) const HARNESS: &str = "null";
/// The engine that shows what the disk and the system calls cost.
pub(crate) const BARE: &str = "disk";
/// The store that the page of 2011 was about, and that ratios refer to.
pub(crate) const REFERENCE: &str = "leveldb";

/// Mark after the name of a row that merges with a read and a put.
pub(crate) const BY_HAND: &str = "\u{2020}";

const LIGHT: &str = "rgba(255,255,255,.6)";
const DARK: &str = "rgba(0,0,0,.45)";

const fn known(
    name: &'static str,
    title: &'static str,
    colour: &'static str,
    ink: &'static str,
    pattern: Pattern,
    folder: &'static str,
) -> EngineStyle {
    EngineStyle {
        name: Some(name),
        title,
        colour,
        ink,
        pattern,
        folder,
    }
}

const fn spare(colour: &'static str, pattern: Pattern) -> EngineStyle {
    EngineStyle {
        name: None,
        title: "",
        colour,
        ink: LIGHT,
        pattern,
        folder: "",
    }
}

/// All styles, in the order of rows; the last three are for unknown engines.
pub(crate) const STYLES: [EngineStyle; 15] = [
    known(OURS, "CairnDB", "#30363d", LIGHT, Pattern::Solid, "cairndb"),
    known(
        OURS_IN_C,
        "CairnDB (C)",
        "#838c95",
        LIGHT,
        Pattern::Level,
        "",
    ),
    known(
        REFERENCE,
        "LevelDB",
        "#0255df",
        LIGHT,
        Pattern::Slash,
        "leveldb",
    ),
    known(
        "rocksdb",
        "RocksDB",
        "#f2b50c",
        DARK,
        Pattern::Backslash,
        "rocksdb",
    ),
    known(
        "kyoto_treedb",
        "Kyoto TreeDB",
        "#df5555",
        LIGHT,
        Pattern::Upright,
        "kyoto",
    ),
    known(
        "sqlite3",
        "SQLite3",
        "#aadf55",
        DARK,
        Pattern::Dots,
        "sqlite3",
    ),
    known(
        "wiredtiger_btree",
        "WiredTiger B-tree",
        "#7b3fc4",
        LIGHT,
        Pattern::Cross,
        "wiredtiger",
    ),
    known(
        "wiredtiger_lsm",
        "WiredTiger LSM",
        "#c59af0",
        DARK,
        Pattern::Mesh,
        "wiredtiger",
    ),
    known("lmdb", "LMDB", "#00a3a3", LIGHT, Pattern::Wide, "lmdb"),
    known("redb", "redb", "#a8461f", LIGHT, Pattern::Chevron, "redb"),
    known(BARE, "Disk", "#f3efe6", DARK, Pattern::Ruled, "disk"),
    known(HARNESS, "null", "#d0d4d9", DARK, Pattern::Hollow, "null"),
    spare("#8a5a2b", Pattern::Slash),
    spare("#e070b0", Pattern::Upright),
    spare("#5f7a1f", Pattern::Backslash),
];

/// Replacements on a dark page for colours that would not be visible there.
pub(crate) const NIGHT: [(&str, &str); 4] = [
    (OURS, "#e4e8ed"),
    (REFERENCE, "#3f82ff"),
    ("wiredtiger_btree", "#9d6be0"),
    ("cairndb-c", "#98a2ac"),
];

const SPARE: usize = 3;

/// Returns the position of an engine in [`STYLES`]. Unknown engines share the spare styles, chosen
/// by the sum of the name's bytes.
pub(crate) fn index(engine: &str) -> usize {
    let found = STYLES.iter().position(|style| style.name == Some(engine));
    found.unwrap_or_else(|| {
        let sum: usize = engine.bytes().map(usize::from).sum();
        STYLES.len() - SPARE + sum % SPARE
    })
}

/// Returns the title of an engine; an unknown engine keeps its own name.
pub(crate) fn title(engine: &str) -> &str {
    match STYLES[index(engine)] {
        EngineStyle {
            name: Some(_),
            title,
            ..
        } => title,
        _ => engine,
    }
}

/// Returns the folder of the adapter's source, if the engine has one.
pub(crate) fn source(engine: &str) -> Option<String> {
    let style = &STYLES[index(engine)];
    (style.name.is_some() && !style.folder.is_empty())
        .then(|| format!("bench/engines/{}", style.folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_colours_of_2011_are_kept() {
        let colour = |engine| STYLES[index(engine)].colour;
        assert_eq!(colour("leveldb"), "#0255df");
        assert_eq!(colour("kyoto_treedb"), "#df5555");
        assert_eq!(colour("sqlite3"), "#aadf55");
    }

    #[test]
    fn no_two_known_engines_share_a_colour_or_a_pattern() {
        let known = &STYLES[..STYLES.len() - SPARE];
        for (at, style) in known.iter().enumerate() {
            for other in &known[..at] {
                assert_ne!(style.colour, other.colour);
                assert_ne!(style.pattern, other.pattern);
            }
        }
    }

    #[test]
    fn an_unknown_engine_has_a_face_and_its_own_name() {
        assert_eq!(title("a<b"), "a<b");
        assert!(index("a<b") >= STYLES.len() - SPARE);
        assert_eq!(source("a<b"), None);
    }
}
