//! Rows: what the commands that look into files print, as text or as JSON, from one description.
//!
//! As text a row is `kind name: field value, field value`; keys are in double quotes. As JSON it is
//! one object with the same names.

use std::borrow::Cow;

use crate::coding::Coding;
use crate::json;
use crate::terminal::{shortened, width};

/// First fields that need no label: the name of the thing itself.
const NAMES: [&str; 4] = ["file", "name", "number", "place"];

/// The value of a field.
#[derive(Clone, Debug)]
enum Field<'a> {
    Number(u64),
    Text(Cow<'a, str>),
    Bytes(&'a [u8]),
}

/// One row.
#[derive(Clone, Debug)]
pub(crate) struct Row<'a> {
    kind: &'static str,
    fields: Vec<(&'static str, Field<'a>)>,
}

impl<'a> Row<'a> {
    /// Returns a row of this kind, which is the field `type` in JSON.
    pub(crate) fn new(kind: &'static str) -> Row<'a> {
        Row {
            kind,
            fields: Vec::new(),
        }
    }

    /// Adds a number.
    pub(crate) fn number(mut self, name: &'static str, number: u64) -> Row<'a> {
        self.fields.push((name, Field::Number(number)));
        self
    }

    /// Adds a text that cannot control a terminal.
    pub(crate) fn text(mut self, name: &'static str, text: impl Into<Cow<'a, str>>) -> Row<'a> {
        self.fields.push((name, Field::Text(text.into())));
        self
    }

    /// Adds a key or another string of bytes.
    pub(crate) fn bytes(mut self, name: &'static str, bytes: &'a [u8]) -> Row<'a> {
        self.fields.push((name, Field::Bytes(bytes)));
        self
    }

    /// Appends the row as a JSON object.
    pub(crate) fn append_json(&self, coding: Coding, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"type\":");
        json::write_text(self.kind, out);
        for (name, field) in &self.fields {
            out.push(b',');
            json::write_text(name, out);
            out.push(b':');
            match field {
                Field::Number(number) => out.extend_from_slice(number.to_string().as_bytes()),
                Field::Text(text) => json::write_text(text, out),
                Field::Bytes(bytes) => coding.append_json(bytes, out),
            }
        }
        out.push(b'}');
    }

    /// Returns the row as lines of at most `columns`, or as one line.
    pub(crate) fn lines(
        &self,
        coding: Coding,
        indent: usize,
        columns: Option<usize>,
    ) -> Vec<String> {
        let spaces = " ".repeat(indent);
        let mut line = format!("{spaces}{}", self.kind.replace('_', " "));
        let mut lines = Vec::new();
        for (index, (name, field)) in self.fields.iter().enumerate() {
            let shown = shown(field, coding);
            let is_name = index == 0 && (NAMES.contains(name) || *name == self.kind);
            let part = if is_name {
                format!(" {shown}")
            } else {
                format!(" {} {shown}", name.replace('_', " "))
            };
            if index > 0 {
                line.push(if index == 1 { ':' } else { ',' });
            }
            let fits = columns.is_none_or(|columns| width(&line) + width(&part) < columns);
            if index > 0 && !fits {
                lines.push(std::mem::replace(&mut line, format!("{spaces}   ")));
            }
            line.push_str(&part);
        }
        lines.push(line);
        match columns {
            Some(columns) => lines.iter().map(|line| shortened(line, columns)).collect(),
            None => lines,
        }
    }
}

fn shown(field: &Field<'_>, coding: Coding) -> String {
    match field {
        Field::Number(number) => number.to_string(),
        Field::Text(text) => text.clone().into_owned(),
        Field::Bytes(bytes) => {
            let mut out = vec![b'"'];
            coding.append(bytes, &mut out);
            out.push(b'"');
            String::from_utf8_lossy(&out).into_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_text_or_json() {
        let row = Row::new("added_table")
            .text("file", "000003.tbl")
            .number("run", 7)
            .bytes("first", b"a\n\xff");
        let text = row.lines(Coding::Text, 2, None);
        assert_eq!(
            text,
            ["  added table 000003.tbl: run 7, first \"a\\n\\xff\""]
        );
        let mut out = Vec::new();
        row.append_json(Coding::Hex, &mut out);
        let expected = br#"{"type":"added_table","file":"000003.tbl","run":7,"first":"610aff"}"#;
        assert_eq!(out, expected);
    }

    #[test]
    fn no_line_is_longer_than_the_terminal() {
        let key = vec![b'k'; 300];
        let row = Row::new("table")
            .text("file", "000003.tbl")
            .number("run", 7);
        let row = row
            .number("entries", u64::MAX)
            .bytes("first", &key)
            .number("bytes", 1);
        for columns in 20..200 {
            let lines = row.lines(Coding::Text, 2, Some(columns));
            assert!(lines.iter().all(|line| width(line) <= columns), "{lines:?}");
        }
    }
}
