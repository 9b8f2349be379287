//! The report as JSON. Written by hand: the store has no dependency for it.

use std::fmt::Write;

use crate::report::{KeySpan, RepairReport};

/// Appends `text` as a JSON string.
fn put_text(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            control if u32::from(control) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

/// Appends a key as a JSON string, or `null` for an open end.
fn put_key(out: &mut String, key: Option<&[u8]>) {
    let Some(key) = key else {
        out.push_str("null");
        return;
    };
    let mut text = String::with_capacity(key.len());
    for byte in key {
        match byte {
            b'\\' => text.push_str("\\x5c"),
            b' '..=b'~' => text.push(char::from(*byte)),
            _ => {
                let _ = write!(text, "\\x{byte:02x}");
            }
        }
    }
    put_text(out, &text);
}

/// Appends the fields of one object.
struct Fields<'o> {
    out: &'o mut String,
    any: bool,
}

impl Fields<'_> {
    fn name(&mut self, name: &str) -> &mut String {
        if self.any {
            self.out.push(',');
        }
        self.any = true;
        put_text(self.out, name);
        self.out.push(':');
        self.out
    }

    fn text(&mut self, name: &str, text: &str) {
        put_text(self.name(name), text);
    }

    fn number(&mut self, name: &str, number: u64) {
        let _ = write!(self.name(name), "{number}");
    }

    fn truth(&mut self, name: &str, truth: bool) {
        let _ = write!(self.name(name), "{truth}");
    }

    fn keys(&mut self, keys: &KeySpan) {
        put_key(self.name("first_key"), keys.first.as_deref());
        put_key(self.name("last_key"), keys.last.as_deref());
        let out = self.name("keyspaces");
        let mut before = '[';
        for name in &keys.keyspaces {
            out.push(std::mem::replace(&mut before, ','));
            put_text(out, name);
        }
        out.push_str(if before == '[' { "[]" } else { "]" });
    }

    fn list<T>(&mut self, name: &str, items: &[T], each: impl Fn(&mut Fields<'_>, &T)) {
        let out = self.name(name);
        out.push('[');
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            object(out, |fields| each(fields, item));
        }
        out.push(']');
    }
}

fn object(out: &mut String, fill: impl FnOnce(&mut Fields<'_>)) {
    out.push('{');
    fill(&mut Fields { out, any: false });
    out.push('}');
}

impl RepairReport {
    /// Returns the report as one JSON object. Keys are strings in which every byte other than
    /// printable ASCII, and the backslash, is written as `\xNN`.
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        object(&mut out, |fields| {
            fields.truth("dry_run", self.dry_run);
            fields.truth("complete", self.is_complete());
            match &self.manifest {
                Some(manifest) => fields.text("manifest", manifest),
                None => fields.name("manifest").push_str("null"),
            }
            let kept = &self.kept;
            object(fields.name("kept"), |fields| {
                fields.number("keys", kept.keys);
                fields.number("bytes", kept.bytes);
                fields.number("large_values", kept.large_values);
                fields.number("tables", kept.tables);
                fields.number("table_entries", kept.table_entries);
                fields.number("log_records", kept.log_records);
                fields.number("log_entries", kept.log_entries);
            });
            fields.list("lost", &self.lost, |fields, loss| {
                fields.text("file", &loss.file);
                fields.number("offset", loss.offset);
                fields.number("bytes", loss.bytes);
                fields.keys(&loss.keys);
                fields.truth("older", loss.older);
                fields.text("reason", &loss.reason);
            });
            fields.list("doubts", &self.doubts, |fields, doubt| {
                fields.text("kind", doubt.kind.as_str());
                fields.keys(&doubt.keys);
                fields.text("reason", &doubt.reason);
            });
            fields.list("unnamed", &self.unnamed, |fields, file| {
                fields.text("file", &file.file);
                fields.number("bytes", file.bytes);
                fields.number("entries", file.entries);
                fields.keys(&file.keys);
                fields.truth("included", file.included);
            });
            fields.list("harmless", &self.harmless, |fields, damage| {
                fields.text("file", &damage.file);
                fields.number("offset", damage.offset);
                fields.text("reason", &damage.reason);
            });
        });
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Doubt, DoubtKind, Loss};

    #[test]
    fn text_and_keys_are_escaped() {
        let report = RepairReport {
            manifest: Some("MANIFEST-000002".to_owned()),
            lost: vec![Loss {
                file: "a\"b".to_owned(),
                offset: 4096,
                bytes: 0,
                keys: KeySpan {
                    keyspaces: vec!["a".to_owned(), "b".to_owned()],
                    ..KeySpan::one(b"k\\\x00\xff\"")
                },
                older: true,
                reason: "line\nline".to_owned(),
            }],
            doubts: vec![Doubt {
                kind: DoubtKind::LogEnd,
                keys: KeySpan::all(),
                reason: String::new(),
            }],
            ..RepairReport::default()
        };
        let json = report.to_json();
        assert!(
            json.contains(
                r#""lost":[{"file":"a\"b","offset":4096,"bytes":0,"first_key":"k\\x5c\\x00\\xff\"","last_key":"k\\x5c\\x00\\xff\"","keyspaces":["a","b"],"older":true,"reason":"line\u000aline"}]"#
            ),
            "{json}"
        );
        assert!(
            json.contains(
                r#""doubts":[{"kind":"log-end","first_key":null,"last_key":null,"keyspaces":[],"#
            ),
            "{json}"
        );
        assert!(json.contains(r#""complete":false,"manifest":"MANIFEST-000002""#));
    }
}
