//! `report.md`: the verdict, every row with all its figures, and the sheets.

use std::fmt::Write as _;

use crate::engine;
use crate::form::row;
use crate::model::Model;
use crate::sheets;

/// Returns the whole file.
pub(crate) fn page(model: &Model) -> String {
    let mut text = "# CairnDB Benchmarks\n".to_owned();
    let mut add = |part: String| {
        if !part.is_empty() {
            // Writing to a String cannot fail.
            let _ = write!(text, "\n{part}\n");
        }
    };
    if model.tables.is_empty() {
        add("There are no results in this report.".to_owned());
    }
    add(escaped(&model.verdict));
    let peers = model.peers.iter();
    let peers =
        peers.map(|peer| vec![peer.title.clone(), peer.text.clone(), peer.rows.to_string()]);
    add(grid(
        &["CairnDB's rate over that of", "geometric mean", "rows"],
        peers.collect(),
    ));
    add(escaped(&model.remarks));
    for warning in &model.warnings {
        add(format!("> **Note.** {}", escaped(warning)));
    }
    let lines = model.tables.iter().map(|it| {
        [
            &it.label,
            &it.ours,
            &it.leveldb,
            &it.best,
            &it.ratio,
            &it.peer,
        ]
        .map(Clone::clone)
        .to_vec()
    });
    let head = [
        "operations per second",
        "CairnDB",
        "LevelDB",
        "best peer",
        "ratio",
        "peer",
    ];
    add(grid(&head, lines.collect()));
    add(escaped(&model.suite_lines.join("; ")));
    add(escaped(&model.origin));
    if !model.tables.is_empty() {
        add(format!(
            "## Every row\n\n{}\n{}",
            sheets::COSTS,
            sheets::LATENCY
        ));
    }
    for (at, table) in model.tables.iter().enumerate() {
        let rows = model.results.iter();
        let own = rows.filter(|row| row.table == Some(at) && engine::is_store(&row.engine));
        let lines: Vec<Vec<String>> = own.map(row::cells).collect();
        if lines.is_empty() {
            continue;
        }
        let suite = table
            .suite
            .as_ref()
            .map_or_else(String::new, |suite| format!("{suite} "));
        add(format!(
            "### {}",
            escaped(&format!("{suite}{}", table.label))
        ));
        add(escaped(&format!(
            "{} ({}): {}",
            table.heading, table.unit, table.about
        )));
        add(grid(&row::head(), lines));
        add(escaped(&table.notes.join(" ")));
    }
    for sheet in &model.sheets {
        let head: Vec<&str> = sheet.head.iter().map(String::as_str).collect();
        add(format!("## {}", sheet.title));
        add(sheet.prose.trim_end().to_owned());
        add(grid(&head, sheet.lines.clone()));
    }
    text
}

/// Returns a table without the columns that are empty in every line.
fn grid(head: &[&str], mut lines: Vec<Vec<String>>) -> String {
    let has = |line: &Vec<String>, at: usize| {
        line.len() > 1 && line.get(at).is_some_and(|it| !it.is_empty())
    };
    let columns = (0..head.len()).filter(|&at| lines.iter().any(|line| has(line, at)));
    let columns: Vec<usize> = columns.collect();
    if columns.is_empty() {
        return escaped(&lines.concat().join(" "));
    }
    for line in &mut lines {
        if let [only] = line.as_mut_slice() {
            *only = format!("**{}**", escaped(only));
        } else {
            for cell in line {
                *cell = escaped(cell);
            }
        }
    }
    let line = |cell: &dyn Fn(usize) -> String| {
        let cells: Vec<String> = columns.iter().map(|&at| cell(at)).collect();
        format!("| {} |", cells.join(" | "))
    };
    let mut text = vec![line(&|at| escaped(head[at])), line(&|_| "---".to_owned())];
    let cell = |cells: &[String], at: usize| cells.get(at).cloned().unwrap_or_default();
    text.extend(lines.iter().map(|cells| line(&|at| cell(cells, at))));
    text.join("\n")
}

/// Returns a string without markup: no line ends, and no characters that Markdown or HTML
/// interprets.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' => {
                safe.push('\\');
                safe.push(letter);
            }
            letter if letter.is_control() => safe.push(' '),
            letter => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_value_is_markup() {
        assert_eq!(escaped("a|b*c\nd<e>&"), "a\\|b\\*c d&lt;e&gt;&amp;");
        assert_eq!(escaped("[x](y)"), "\\[x\\](y)");
    }

    #[test]
    fn empty_columns_are_left_out() {
        let lines = [vec!["a", "", "c"], vec!["d"]];
        let lines = lines.map(|line| line.into_iter().map(str::to_owned).collect());
        let text = grid(&["x", "y", "z"], lines.to_vec());
        assert_eq!(text, "| x | z |\n| --- | --- |\n| a | c |\n| **d** |  |");
    }
}
