//! Events of a list and where they are reported.

use serde::{Deserialize, Serialize};

use crate::host::library::Library;
use crate::result::record::Record;

/// An event, reported in order of occurrence.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The engine is available. Reported by every process, including one that resumes a list.
    Loaded {
        /// The version that the library reports.
        version: String,
        /// The library it was loaded from, if any.
        library: Option<Library>,
    },
    /// The engine has opened its store.
    Engine {
        /// The engine's name in its usual spelling.
        title: String,
        /// The version that the library reports.
        version: String,
        /// Settings in effect.
        options: Vec<(String, String)>,
    },
    /// The entry of the list that is starting.
    Begin(usize),
    /// The entry is still running. Reported by the parent process.
    Waiting {
        /// The elapsed seconds.
        seconds: u64,
        /// The time limit in seconds.
        limit: u64,
    },
    /// A text for stdout.
    Text(String),
    /// A text for stderr.
    Note(String),
    /// A row has ended.
    Row {
        /// The text to print on stdout.
        text: String,
        /// The histogram to print below it; empty if none was kept.
        #[serde(default)]
        histogram: String,
        /// The result.
        record: Box<Record>,
    },
    /// The engine cannot be used on this machine.
    Unavailable(String),
    /// The store could not be opened or closed; this process reports nothing more.
    Broken(String),
    /// The list has ended.
    End,
}

/// The destination of events. Rows that are repeated for the rows after them are silent.
pub(super) struct Events<'r> {
    emit: &'r mut dyn FnMut(Event),
    pub(super) silent: bool,
}

impl<'r> Events<'r> {
    pub(super) fn new(emit: &'r mut dyn FnMut(Event)) -> Self {
        let silent = false;
        Self { emit, silent }
    }

    pub(super) fn send(&mut self, event: Event) {
        if !self.silent {
            (self.emit)(event);
        }
    }

    /// A text for stdout.
    pub(super) fn text(&mut self, text: String) {
        self.send(Event::Text(text));
    }

    /// A text for stderr.
    pub(super) fn note(&mut self, text: String) {
        self.send(Event::Note(text));
    }

    /// Reports the result of a row, with its text and the histogram below it.
    pub(super) fn row(&mut self, text: String, histogram: String, record: Record) {
        self.send(Event::Row {
            text,
            histogram,
            record: Box::new(record),
        });
    }
}
