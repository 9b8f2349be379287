//! What is printed to stdout: entries are formatted in its buffer, without an allocation for each.

use crate::escape::visible;
use crate::failure::Result;
use crate::json::append_json;
use crate::pager::Page;
use crate::sink::Sink;
use crate::terminal::{self, wrapped};

/// Buffered stdout. Call [`Output::finish`] at the end: dropping discards the buffer.
#[derive(Debug)]
pub(crate) struct Output {
    sink: Sink,
    /// Where the current line begins in the buffer, and the page; at a prompt only.
    page: Option<(usize, Page)>,
}

impl Output {
    /// Opens stdout.
    pub(crate) fn stdout() -> Result<Output> {
        Ok(Output {
            sink: Sink::stdout()?,
            page: Page::first().map(|page| (0, page)),
        })
    }

    /// The buffer, to append to.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        self.sink.buffer()
    }

    /// Appends a line of text, in which nothing can control a terminal.
    pub(crate) fn line(&mut self, text: &str) -> Result<()> {
        self.buffer().extend_from_slice(visible(text).as_bytes());
        self.end_line()
    }

    /// Appends lines of text, broken so that they fit into the terminal.
    pub(crate) fn text(&mut self, text: &str) -> Result<()> {
        let columns = terminal::columns();
        let mut lines = text.lines().flat_map(|line| wrapped(line, columns));
        lines.try_for_each(|line| self.line(&line))
    }

    /// Ends a line, and writes the buffer if it is full.
    #[inline]
    pub(crate) fn end_line(&mut self) -> Result<()> {
        if self.page.is_some() {
            return self.end_paged_line();
        }
        self.buffer().push(b'\n');
        self.sink.flush_full()
    }

    /// Ends a line, and waits for the reader if the page is full before it.
    #[cold]
    fn end_paged_line(&mut self) -> Result<()> {
        let Some((start, mut page)) = self.page else {
            return Ok(());
        };
        let buffer = self.sink.buffer();
        let is_full = page.add(buffer.get(start..).unwrap_or_default());
        buffer.push(b'\n');
        if is_full {
            self.sink.flush()?;
            page.turn()?;
        } else {
            self.sink.flush_full()?;
        }
        self.page = Some((self.buffer().len(), page));
        Ok(())
    }

    /// Writes what is in the buffer.
    pub(crate) fn flush(&mut self) -> Result<()> {
        self.sink.flush()?;
        self.page = self.page.map(|(_, page)| (0, page));
        Ok(())
    }

    /// Fails if nobody reads stdout any more.
    pub(crate) fn check(&self) -> Result<()> {
        self.sink.check()
    }

    /// Writes what is left in the buffer.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.sink.flush()
    }
}

/// Prints lines of text to stdout.
pub(crate) fn print<T: AsRef<str>>(lines: impl IntoIterator<Item = T>) -> Result<()> {
    let mut output = Output::stdout()?;
    let mut lines = lines.into_iter();
    lines.try_for_each(|line| output.line(line.as_ref()))?;
    output.finish()
}

/// Prints lines of text to stdout, broken so that they fit into a terminal.
pub(crate) fn print_text(text: &str) -> Result<()> {
    let mut output = Output::stdout()?;
    output.text(text)?;
    output.finish()
}

/// Prints JSON that another writer has made to stdout.
pub(crate) fn print_json(json: &str) -> Result<()> {
    let mut output = Output::stdout()?;
    append_json(json, output.buffer());
    output.end_line()?;
    output.finish()
}

/// Returns a number with its noun.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    let noun = if count == 1 { one } else { many };
    format!("{count} {noun}")
}

/// Returns a size with a unit, in powers of 1,000.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [(&str, u64); 4] = [
        ("TB", 1_000_000_000_000),
        ("GB", 1_000_000_000),
        ("MB", 1_000_000),
        ("kB", 1_000),
    ];
    match UNITS.into_iter().find(|(_, unit)| bytes >= *unit) {
        Some((name, unit)) => {
            let tenths = bytes / (unit / 10);
            format!("{}.{} {name}", tenths / 10, tenths % 10)
        }
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(size(999), "999 B");
        assert_eq!(size(1_250_000), "1.2 MB");
        assert_eq!(size(u64::MAX), "18446744.0 TB");
    }
}
