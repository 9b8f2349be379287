//! `xtask/tidy.toml`: the floors, and every exception a rule makes, with its reason.

use std::collections::BTreeMap;

use toml::{Table, Value};

/// Path of the settings, relative to the root.
pub(crate) const PATH: &str = "xtask/tidy.toml";

/// An exception for one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Exception {
    /// A file, or a folder when it ends in `/`.
    pub(crate) path: String,
    /// The function's name, for exceptions about functions; empty otherwise.
    pub(crate) name: String,
    /// The size it may have, for exceptions about sizes; 0 otherwise.
    pub(crate) lines: usize,
}

impl Exception {
    /// Whether the exception is about this file.
    pub(crate) fn covers(&self, file: &str) -> bool {
        if self.path.ends_with('/') {
            file.starts_with(&self.path)
        } else {
            file == self.path
        }
    }
}

/// Crates that must not know one another although their floors would allow it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Apart {
    /// The importing crate.
    pub(crate) package: String,
    /// What it must not import.
    pub(crate) never: Vec<String>,
    /// Why.
    pub(crate) reason: String,
}

/// The settings of all rules.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    /// Floor of every workspace member.
    pub(crate) floors: BTreeMap<String, i64>,
    /// Bands of folders inside a crate, lowest first.
    pub(crate) bands: BTreeMap<String, Vec<String>>,
    /// Crates kept apart.
    pub(crate) apart: Vec<Apart>,
    /// Files that may hold `unsafe`.
    pub(crate) unsafe_files: Vec<Exception>,
    /// Files that may exceed the limit.
    pub(crate) long_files: Vec<Exception>,
    /// Functions that may exceed the limit.
    pub(crate) long_functions: Vec<Exception>,
    /// Library files outside the environment that may use it directly.
    pub(crate) seams: Vec<Exception>,
}

impl Settings {
    /// Reads the settings; an unknown key or an exception without a reason is an error.
    pub(crate) fn parse(text: &str) -> Result<Settings, String> {
        let table: Table = text.parse().map_err(|e| format!("{PATH}: {e}"))?;
        let mut settings = Settings::default();
        for (key, value) in &table {
            match key.as_str() {
                "floors" => settings.floors = floors(value)?,
                "bands" => settings.bands = bands(value)?,
                "apart" => settings.apart = each(value, key, apart)?,
                "unsafe" => settings.unsafe_files = each(value, key, exception)?,
                "long_file" => settings.long_files = each(value, key, exception)?,
                "long_function" => settings.long_functions = each(value, key, exception)?,
                "seam" => settings.seams = each(value, key, exception)?,
                other => return Err(format!("{PATH}: unknown key `{other}`")),
            }
        }
        Ok(settings)
    }
}

fn floors(value: &Value) -> Result<BTreeMap<String, i64>, String> {
    let table = value
        .as_table()
        .ok_or(format!("{PATH}: floors is a table"))?;
    table
        .iter()
        .map(|(name, floor)| {
            let floor = floor.as_integer();
            let floor = floor.ok_or(format!("{PATH}: the floor of {name} is a number"))?;
            Ok((name.clone(), floor))
        })
        .collect()
}

fn bands(value: &Value) -> Result<BTreeMap<String, Vec<String>>, String> {
    let table = value
        .as_table()
        .ok_or(format!("{PATH}: bands is a table"))?;
    table
        .iter()
        .map(|(name, list)| Ok((name.clone(), strings(list, name)?)))
        .collect()
}

fn strings(value: &Value, name: &str) -> Result<Vec<String>, String> {
    value
        .as_array()
        .and_then(|list| list.iter().map(|v| v.as_str().map(str::to_owned)).collect())
        .ok_or(format!("{PATH}: {name} is a list of strings"))
}

fn each<T>(
    value: &Value,
    key: &str,
    read: impl Fn(&Table) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    let list = value
        .as_array()
        .ok_or(format!("{PATH}: write `[[{key}]]`, one table each"))?;
    list.iter()
        .map(|entry| {
            let table = entry.as_table();
            let table = table.ok_or(format!("{PATH}: write `[[{key}]]`, one table each"))?;
            read(table).map_err(|e| format!("{PATH}: [[{key}]] {e}"))
        })
        .collect()
}

fn string(table: &Table, key: &str) -> Result<String, String> {
    match table.get(key).and_then(Value::as_str) {
        Some(text) if !text.trim().is_empty() => Ok(text.to_owned()),
        _ => Err(format!("needs `{key} = \"...\"`: {table}")),
    }
}

fn apart(table: &Table) -> Result<Apart, String> {
    Ok(Apart {
        package: string(table, "crate")?,
        never: strings(table.get("never").unwrap_or(&Value::Integer(0)), "never")?,
        reason: string(table, "reason")?,
    })
}

fn exception(table: &Table) -> Result<Exception, String> {
    string(table, "reason")?;
    let lines = table.get("lines").and_then(Value::as_integer).unwrap_or(0);
    Ok(Exception {
        path: string(table, "path")?,
        name: string(table, "name").unwrap_or_default(),
        lines: usize::try_from(lines).map_err(|_| "lines is not negative".to_owned())?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exception_needs_a_reason() {
        let error = Settings::parse("[[unsafe]]\npath = \"a.rs\"").unwrap_err();
        assert!(error.contains("needs `reason"), "{error}");
    }

    #[test]
    fn unknown_keys_are_refused() {
        let error = Settings::parse("[[unsave]]\npath = \"a.rs\"").unwrap_err();
        assert!(error.contains("unknown key `unsave`"), "{error}");
    }

    #[test]
    fn all_kinds_are_read() {
        let text = r#"
            [floors]
            base = 1
            [bands]
            engine = ["low", "high"]
            [[apart]]
            crate = "core"
            never = ["store"]
            reason = "neutral"
            [[long_function]]
            path = "a.rs"
            name = "f"
            lines = 70
            reason = "a table"
            [[unsafe]]
            path = "sys/"
            reason = "system calls"
        "#;
        let settings = Settings::parse(text).unwrap();
        assert_eq!(settings.floors["base"], 1);
        assert_eq!(settings.bands["engine"], ["low", "high"]);
        assert_eq!(settings.apart[0].never, ["store"]);
        assert_eq!(settings.long_functions[0].lines, 70);
        assert!(settings.unsafe_files[0].covers("sys/file.rs"));
        assert!(!settings.unsafe_files[0].covers("system.rs"));
    }
}
