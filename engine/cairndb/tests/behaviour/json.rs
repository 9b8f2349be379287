//! A reader for the JSON of properties: objects, possibly nested, whose leaves are integers.

use std::collections::BTreeMap;

/// Returns the numbers of `json` by name, where a nested field is named `outer.inner`.
///
/// # Panics
/// If `json` is not exactly one such object.
#[track_caller]
pub(crate) fn numbers(json: &str) -> BTreeMap<String, u64> {
    let mut fields = BTreeMap::new();
    let rest = object(json.trim(), "", &mut fields);
    assert_eq!(rest, Some(""), "not an object of numbers: {json}");
    fields
}

/// Reads an object, whose names get `prefix`, and returns what follows it. Returns `None` if there
/// is no object.
fn object<'a>(text: &'a str, prefix: &str, fields: &mut BTreeMap<String, u64>) -> Option<&'a str> {
    let mut text = text.strip_prefix('{')?.trim_start();
    loop {
        let (name, rest) = text.strip_prefix('"')?.split_once('"')?;
        let name = format!("{prefix}{name}");
        text = rest.trim_start().strip_prefix(':')?.trim_start();
        if text.starts_with('{') {
            text = object(text, &format!("{name}."), fields)?;
        } else {
            let end = text.find(|c: char| !c.is_ascii_digit())?;
            let (digits, rest) = text.split_at(end);
            if fields.insert(name, digits.parse().ok()?).is_some() {
                return None;
            }
            text = rest;
        }
        text = text.trim_start();
        if let Some(rest) = text.strip_prefix('}') {
            return Some(rest);
        }
        text = text.strip_prefix(',')?.trim_start();
    }
}

#[test]
fn nested_numbers_have_paths_as_names() {
    let fields = numbers(r#"{"a":1, "b":{"c":20,"d":{"e":3}},"f":4}"#);
    let fields: Vec<_> = fields.iter().map(|(name, n)| (name.as_str(), *n)).collect();
    assert_eq!(fields, [("a", 1), ("b.c", 20), ("b.d.e", 3), ("f", 4)]);
}
