//! JSON lines: an object for each entry, as `cairn scan --json` prints them.
//!
//! A key or value is a string or, if it is not UTF-8, an object with its Base64. With `--hex` or
//! `--base64` it is always a string in that form. On request, anything else is taken as its JSON
//! text.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::encoder::{Encoder, check_lengths};
use crate::coding::{Coding, append_json_entry};
use crate::failure::Result;
use crate::transfer::input::Input;
use crate::transfer::source::{EntrySource, Step};

/// What the fields of a line are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JsonForm {
    pub(crate) coding: Coding,
    /// Whether a field that is no string stands for its JSON text.
    pub(crate) takes_json: bool,
}

impl Encoder for JsonForm {
    fn entry(&mut self, key: &[u8], value: &[u8], out: &mut Vec<u8>) {
        append_json_entry(self.coding, Some(key), Some(value), out);
        out.push(b'\n');
    }
}

/// A key or value in a line.
enum Field<'a> {
    Text(Cow<'a, str>),
    Base64(Cow<'a, str>),
    /// The text of a number, a word, an array or an object.
    Json(&'a str),
}

struct FieldVisitor;

impl<'de> Visitor<'de> for FieldVisitor {
    type Value = Field<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string or an object {\"base64\":\"...\"}")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Field<'de>, E> {
        Ok(Field::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Field<'de>, E> {
        Ok(Field::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Field<'de>, A::Error> {
        let fields = serde::de::value::MapAccessDeserializer::new(map);
        let base64 = Base64Object::deserialize(fields)?;
        Ok(Field::Base64(base64.base64))
    }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Base64Object<'a> {
    #[serde(borrow)]
    base64: Cow<'a, str>,
}

impl<'de: 'a, 'a> Deserialize<'de> for Field<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Field<'a>, D::Error> {
        deserializer.deserialize_any(FieldVisitor)
    }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
#[serde(bound(deserialize = "F: Deserialize<'de>"))]
struct Line<F> {
    key: F,
    value: F,
}

/// A field of any kind.
struct AnyField<'a>(Field<'a>);

impl<'de: 'a, 'a> Deserialize<'de> for AnyField<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<AnyField<'a>, D::Error> {
        let json = <&RawValue>::deserialize(deserializer)?.get();
        match serde_json::from_str(json) {
            Ok(field) => Ok(AnyField(field)),
            Err(error) if json.starts_with('"') => Err(serde::de::Error::custom(error)),
            Err(_) => Ok(AnyField(Field::Json(json))),
        }
    }
}

/// Reads JSON lines.
pub(crate) struct JsonSource {
    input: Input,
    form: JsonForm,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl JsonSource {
    pub(crate) fn new(input: Input, form: JsonForm) -> JsonSource {
        JsonSource {
            input,
            form,
            key: Vec::new(),
            value: Vec::new(),
        }
    }
}

impl EntrySource for JsonSource {
    fn advance(&mut self) -> Result<Step<'_>> {
        loop {
            let Some(line) = self.input.line()? else {
                return Ok(Step::End);
            };
            if line.trim_ascii().is_empty() {
                continue;
            }
            let parsed = parse(line, self.form, &mut self.key, &mut self.value);
            let line = self.input.line_number();
            return Ok(match parsed {
                Ok(()) => Step::Entry(&self.key, &self.value),
                Err(reason) => Step::Bad(Some((line, line)), reason),
            });
        }
    }

    fn progress(&self) -> Option<(u64, u64)> {
        self.input.progress()
    }
}

fn parse(
    line: &[u8],
    form: JsonForm,
    key: &mut Vec<u8>,
    value: &mut Vec<u8>,
) -> Result<(), String> {
    // Also because the parser would take an array for the fields in their order.
    if let Some(found) = other_than_object(line) {
        return Err(format!(
            "{found}, but a line must be an object with `key` and `value`"
        ));
    }
    let explained = |error: serde_json::Error| explanation(line, &error);
    let fields = if form.takes_json {
        let line: Line<AnyField<'_>> = serde_json::from_slice(line).map_err(explained)?;
        [line.key.0, line.value.0]
    } else {
        let line: Line<Field<'_>> = serde_json::from_slice(line).map_err(explained)?;
        [line.key, line.value]
    };
    for (field, name, out) in [
        (&fields[0], "key", &mut *key),
        (&fields[1], "value", &mut *value),
    ] {
        let decoded = decode(field, form.coding, out);
        decoded.map_err(|reason| format!("the {name} cannot be read: {reason}"))?;
    }
    check_lengths(key, value)
}

/// Returns what a line is, if it is no object.
fn other_than_object(line: &[u8]) -> Option<String> {
    let text = line.trim_ascii();
    Some(match text.first()? {
        b'{' => return None,
        b'[' => "an array, whose elements `jq -c '.[]'` writes one a line".to_owned(),
        b'"' => "a string".to_owned(),
        b'-' | b'0'..=b'9' => "a number".to_owned(),
        _ => match text {
            b"null" | b"true" | b"false" => format!("`{}`", String::from_utf8_lossy(text)),
            _ => "not JSON".to_owned(),
        },
    })
}

/// Returns what is wrong with a line that is no entry.
fn explanation(line: &[u8], error: &serde_json::Error) -> String {
    if let Err(error) = std::str::from_utf8(line) {
        let column = error.valid_up_to() + 1;
        return format!(
            "not UTF-8 at column {column}; a key or value that is not text is {{\"base64\":\"...\"}}"
        );
    }
    // The error ends with the line and column within the line, of which the first says nothing.
    let text = error.to_string();
    let column = error.column();
    let end = format!(" at line {} column {column}", error.line());
    match text.strip_suffix(&end).unwrap_or(&text) {
        "lone leading surrogate in hex escape" | "unexpected end of hex escape" => format!(
            "an escape before column {column} is half of a surrogate pair, which is no character; \
             a key or value that is not text is {{\"base64\":\"...\"}}"
        ),
        _ if error.is_eof() => {
            "the line ends within the object; `jq -c .` writes each object on one line".to_owned()
        }
        reason if reason.starts_with("invalid type") => format!(
            "{reason} at column {column}; --json-values takes numbers, objects and arrays as their \
             JSON text"
        ),
        reason => format!("{reason} at column {column}"),
    }
}

fn decode(field: &Field<'_>, coding: Coding, out: &mut Vec<u8>) -> Result<(), String> {
    out.clear();
    match (field, coding) {
        (Field::Json(text), _) => out.extend_from_slice(text.as_bytes()),
        (Field::Text(text), Coding::Text) => out.extend_from_slice(text.as_bytes()),
        (Field::Text(text), coding) => coding.decode_into(text.as_bytes(), out)?,
        (Field::Base64(text), Coding::Text) => {
            Coding::Base64.decode_into(text.as_bytes(), out)?;
        }
        (Field::Base64(_), _) => {
            return Err("an object, but with --hex or --base64 it must be a string".to_owned());
        }
    }
    Ok(())
}
