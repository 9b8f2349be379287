//! `report.md`: the verdict, every row with all its figures, and the sheets.

use crate::engine;
use crate::form::row;
use crate::model::Model;
use crate::sheets;

/// Returns the whole file.
pub(crate) fn page(model: &Model) -> String {
    let mut parts = vec!["# CairnDB Benchmarks".to_owned()];
    parts.extend(verdict(model));
    parts.extend(every_row(model));
    for sheet in &model.sheets {
        let head: Vec<&str> = sheet.head.iter().map(String::as_str).collect();
        parts.push(format!("## {}", sheet.title));
        parts.push(sheet.prose.trim_end().to_owned());
        parts.push(grid(&head, sheet.lines.clone()));
    }
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n") + "\n"
}

/// Returns the verdict, what limits it, and the best figures of each row.
fn verdict(model: &Model) -> Vec<String> {
    let peers = model.peers.iter();
    let peers =
        peers.map(|peer| vec![peer.title.clone(), peer.text.clone(), peer.rows.to_string()]);
    let peers_head = ["CairnDB's rate over that of", "geometric mean", "rows"];
    let lines = model.tables.iter().map(|it| {
        let cells = [
            &it.label,
            &it.ours,
            &it.leveldb,
            &it.best,
            &it.ratio,
            &it.peer,
        ];
        cells.map(Clone::clone).to_vec()
    });
    let head = [
        "operations per second",
        "CairnDB",
        "LevelDB",
        "best peer",
        "ratio",
        "peer",
    ];
    let mut parts = vec![escaped(&model.verdict)];
    if model.tables.is_empty() {
        parts.insert(0, "There are no results in this report.".to_owned());
    }
    parts.extend([grid(&peers_head, peers.collect()), escaped(&model.remarks)]);
    let warnings = model.warnings.iter();
    parts.extend(warnings.map(|warning| format!("> **Note.** {}", escaped(warning))));
    parts.push(grid(&head, lines.collect()));
    parts.push(escaped(&model.suite_lines.join("; ")));
    parts.push(escaped(&model.origin));
    parts
}

/// Returns every row with all its figures.
fn every_row(model: &Model) -> Vec<String> {
    let mut parts = Vec::new();
    if !model.tables.is_empty() {
        parts.push(format!(
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
        let suite = table.suite.iter().map(|suite| format!("{suite} "));
        let title = suite.collect::<String>() + &table.label;
        parts.push(format!("### {}", escaped(&title)));
        let about = format!("{} ({}): {}", table.heading, table.unit, table.about);
        parts.push(escaped(&about));
        parts.push(grid(&row::head(), lines));
        parts.push(escaped(&table.notes.join(" ")));
    }
    parts
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
