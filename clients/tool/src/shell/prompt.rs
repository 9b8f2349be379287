//! Lines from a terminal: a prompt with history and completion, and pages of output.

use std::borrow::Cow;
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use rustyline::completion::Completer;
use rustyline::config::Config;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::{FileHistory, History};
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{ColorMode, CompletionType, Context, Editor, Helper};

use super::grammar::{Grammar, Next};
use super::words::{Words, words};
use crate::escape::{is_active, typed};
use crate::failure::{Failure, Result};
use crate::output::print_text;
use crate::pager;
use crate::terminal;

/// Lines of the history.
const HISTORY_MAX: usize = 1000;

/// Reads lines until the end of the input. Failures are reported, and do not end the shell.
pub(super) fn read(
    grammar: &Grammar,
    carry_out: &mut dyn FnMut(Words) -> Result<Next>,
) -> Result<()> {
    let broken = |error: ReadlineError| Failure::other(format!("no line can be read: {error}"));
    let mut editor = editor(grammar).map_err(broken)?;
    let history = history_file();
    if let Some(history) = &history {
        // The first shell has no history yet.
        let _ = editor.load_history(history);
    }
    let prompt = format!("{}> ", name(grammar));
    print_text(&format!(
        "{}: `help` lists the commands, Ctrl-D ends",
        name(grammar)
    ))?;
    pager::enable();
    loop {
        let line = match editor.readline(&prompt) {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(broken(error)),
        };
        if let Some(history) = &history {
            // A history that cannot be written is no reason to refuse commands.
            let _ = editor.append_history(history);
        }
        match carry_out(words(&line)) {
            Ok(Next::Continue) => {}
            Ok(Next::End) => break,
            Err(failure) => drop(failure.report()),
        }
    }
    Ok(())
}

/// Returns what the prompt calls the database.
fn name(grammar: &Grammar) -> String {
    let path = &grammar.directory;
    let last = path.file_name().unwrap_or(path.as_os_str());
    terminal::shortened(&typed(last.as_encoded_bytes()), 20)
}

fn editor(grammar: &Grammar) -> rustyline::Result<Editor<Assistant<'_>, FileHistory>> {
    let colours = if terminal::has_colours() {
        ColorMode::Enabled
    } else {
        ColorMode::Disabled
    };
    // A line that begins with a space is not kept, for what should not be in a file.
    let config = Config::builder()
        .max_history_size(HISTORY_MAX)?
        .history_ignore_space(true)
        .auto_add_history(true)
        .completion_type(CompletionType::List)
        .color_mode(colours)
        .build();
    let mut editor = Editor::with_config(config)?;
    editor.history_mut().ignore_dups(true)?;
    editor.set_helper(Some(Assistant { grammar }));
    Ok(editor)
}

/// Returns the file of the history, in the user's state directory, which is created.
fn history_file() -> Option<PathBuf> {
    let absolute = |name| {
        let path = std::env::var_os(name).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    };
    let state = absolute("XDG_STATE_HOME");
    let state = state.or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    let directory = state.join("cairn");
    // Only the user can read it: the history holds keys and values.
    let mut builder = fs::DirBuilder::new();
    builder
        .recursive(true)
        .mode(0o700)
        .create(&directory)
        .ok()?;
    Some(directory.join("history"))
}

/// Completes words, and continues a line whose quotes are open.
struct Assistant<'g> {
    grammar: &'g Grammar,
}

impl Completer for Assistant<'_> {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let before = line.get(..position).unwrap_or(line);
        let start = before.rfind(char::is_whitespace).map_or(0, |at| at + 1);
        let word = before.get(start..).unwrap_or_default();
        let earlier = before.get(..start).unwrap_or_default();
        let candidates = match earlier.split_whitespace().next() {
            None | Some("help") => self.grammar.names().map(str::to_owned).collect(),
            Some(command) if word.starts_with('-') => self.grammar.options(command),
            Some("tables" | "log" | "manifest") => self.files(),
            Some(_) => Vec::new(),
        };
        let mut candidates: Vec<String> = candidates;
        candidates.retain(|candidate| candidate.starts_with(word));
        candidates.sort_unstable();
        for candidate in &mut candidates {
            candidate.push(' ');
        }
        Ok((start, candidates))
    }
}

impl Assistant<'_> {
    /// Returns the names of the files in the directory.
    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.grammar.directory).into_iter().flatten();
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        names.filter(|name| !name.contains(is_active)).collect()
    }
}

impl Validator for Assistant<'_> {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(match words(context.input()) {
            Ok(_) => ValidationResult::Valid(None),
            Err(_) => ValidationResult::Incomplete,
        })
    }
}

impl Highlighter for Assistant<'_> {
    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(&'s self, prompt: &'p str, _: bool) -> Cow<'b, str> {
        Cow::Owned(format!("\x1b[1m{prompt}\x1b[0m"))
    }
}

impl Hinter for Assistant<'_> {
    type Hint = String;
}

impl Helper for Assistant<'_> {}
