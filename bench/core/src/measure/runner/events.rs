//! What happens in a list, and where it is reported.

use serde::{Deserialize, Serialize};

use crate::host::library::Library;
use crate::result::record::Record;

/// What happened, in the order it happened.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The engine is available. Reported by every process, including one that continues a list.
    Loaded {
        /// What the library reports.
        version: String,
        /// Where it was loaded from, if it was.
        library: Option<Library>,
    },
    /// The engine is there and has opened its store.
    Engine {
        /// As people write it.
        title: String,
        /// What the library reports.
        version: String,
        /// Settings in effect.
        options: Vec<(String, String)>,
    },
    /// The entry of the list that is now being worked on.
    Begin(usize),
    /// The entry is still running. Reported by the process that waits for the one that works.
    Waiting {
        /// For how long now.
        seconds: u64,
        /// When it will be given up.
        limit: u64,
    },
    /// Text for stdout.
    Text(String),
    /// Text for stderr.
    Note(String),
    /// A row has ended.
    Row {
        /// What to print on stdout.
        text: String,
        /// The histogram to print below it, empty where none was kept.
        #[serde(default)]
        histogram: String,
        /// The result.
        record: Box<Record>,
    },
    /// The engine cannot be used at all here.
    Unavailable(String),
    /// The store could not be opened or closed; nothing of this process follows.
    Broken(String),
    /// The list has ended.
    End,
}

/// Where events go. Rows that are repeated for the rows after them are silent.
pub(super) struct Events<'r> {
    emit: &'r mut dyn FnMut(Event),
    silent: bool,
}

impl<'r> Events<'r> {
    pub(super) fn new(emit: &'r mut dyn FnMut(Event)) -> Self {
        let silent = false;
        Self { emit, silent }
    }

    pub(super) const fn set_silent(&mut self, silent: bool) {
        self.silent = silent;
    }

    pub(super) const fn is_silent(&self) -> bool {
        self.silent
    }

    pub(super) fn send(&mut self, event: Event) {
        if !self.silent {
            (self.emit)(event);
        }
    }

    /// Text for stdout.
    pub(super) fn text(&mut self, text: String) {
        self.send(Event::Text(text));
    }

    /// Text for stderr.
    pub(super) fn note(&mut self, text: String) {
        self.send(Event::Note(text));
    }

    /// The result of a row, with its text and the histogram below it.
    pub(super) fn row(&mut self, text: String, histogram: String, record: Record) {
        self.send(Event::Row {
            text,
            histogram,
            record: Box::new(record),
        });
    }
}
