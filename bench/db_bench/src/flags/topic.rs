//! The topics of the help, and constructors of flags.

use bench_core::flags::{Flag, FlagKind};

pub(super) const WHAT: &str = "what runs";
pub(super) const DATA: &str = "the data";
pub(super) const STORE: &str = "the store";
pub(super) const SHOW: &str = "what is shown";

/// The topics of the help, in order.
pub(crate) const TOPICS: &[&str] = &[WHAT, DATA, STORE, SHOW];

pub(super) const fn flag(
    topic: &'static str,
    name: &'static str,
    kind: FlagKind,
    default: &'static str,
    help: &'static str,
) -> Flag {
    Flag {
        name,
        aliases: &[],
        kind,
        default,
        help,
        topic,
    }
}

pub(super) const fn library(name: &'static str, help: &'static str) -> Flag {
    flag(WHAT, name, FlagKind::Text, "", help)
}
