//! The paragraphs of a comment: which lines may be joined and rewrapped, and which are kept.

use super::breaks::fill;

/// The kind of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    /// An empty line, or one that is laid out by hand.
    Kept,
    /// A list item, with the column where its text starts.
    Item(usize),
    /// Text that continues the previous paragraph.
    Text,
    /// Text that starts a paragraph: `SAFETY: ...`.
    Label,
}

/// Minimum number of spaces before a line that make it code.
const CODE_INDENT: usize = 4;

/// Rewraps every paragraph of a comment that has a line wider than `room`.
pub(super) fn wrap(bodies: &[&str], room: usize) -> Vec<String> {
    let mut wrapped = Vec::new();
    let mut at = 0;
    let mut fence: Option<&str> = None;
    // Column where the text of the current list item starts; 0 outside an item.
    let mut list = 0;
    while at < bodies.len() {
        let body = bodies[at];
        let opens = fence_of(body);
        if fence.is_some() || opens.is_some() {
            fence = match (fence, opens) {
                (None, opened) => opened,
                (Some(open), Some(mark)) if mark.starts_with(open) => None,
                (open, _) => open,
            };
            wrapped.push(body.to_owned());
            at += 1;
            continue;
        }
        let kind = classify(body, list);
        if let Line::Item(text) = kind {
            list = text;
        } else if kind != Line::Kept && indent(body) < list {
            list = 0;
        }
        if kind == Line::Kept {
            wrapped.push(body.to_owned());
            at += 1;
            continue;
        }
        let end = paragraph_end(bodies, at, kind, list);
        paragraph(&bodies[at..end], kind, room, &mut wrapped);
        at = end;
    }
    let words = |lines: &mut dyn Iterator<Item = &str>| -> Vec<String> {
        lines
            .flat_map(str::split_whitespace)
            .map(str::to_owned)
            .collect()
    };
    let before = words(&mut bodies.iter().copied());
    let after = words(&mut wrapped.iter().map(String::as_str));
    assert_eq!(before, after, "wrapping changes no word");
    wrapped
}

/// Returns whether a line has a space that could be replaced with a line break.
pub(super) fn can_be_broken(body: &str) -> bool {
    let text = match classify(body, 0) {
        Line::Item(text) => &body[text..],
        _ => body,
    };
    !body.starts_with('|') && text.split_whitespace().count() > 1
}

/// Returns the index after the paragraph that starts at `at`.
fn paragraph_end(bodies: &[&str], at: usize, kind: Line, list: usize) -> usize {
    let mut end = at + 1;
    let Some(next) = bodies.get(end) else {
        return end;
    };
    // The text of an item continues at the column of its second line, if that is inside the item.
    let inside = match kind {
        Line::Item(_) => indent(next).max(indent(bodies[at]) + 1),
        _ => indent(bodies[at]),
    };
    while end < bodies.len()
        && fence_of(bodies[end]).is_none()
        && classify(bodies[end], list) == Line::Text
        && indent(bodies[end]) == inside
    {
        end += 1;
    }
    end
}

fn paragraph(bodies: &[&str], kind: Line, room: usize, wrapped: &mut Vec<String>) {
    let too_wide = bodies.iter().any(|body| body.chars().count() > room);
    // Aligned by hand, or with significant line breaks.
    let laid_out = bodies
        .iter()
        .any(|body| body.trim().contains("  ") || body.ends_with("  ") || body.ends_with('\\'));
    if !too_wide || laid_out {
        wrapped.extend(bodies.iter().map(|body| (*body).to_owned()));
        return;
    }
    let first = indent(bodies[0]);
    let (mark, hang) = match kind {
        Line::Item(text) => {
            let second = bodies.get(1).map_or(text, |body| indent(body));
            (&bodies[0][first..text], second)
        }
        _ => ("", first),
    };
    let text_from = first + mark.len();
    let text: Vec<&str> = std::iter::once(&bodies[0][text_from..])
        .chain(bodies[1..].iter().copied())
        .collect();
    let lines = fill(
        &text.join(" "),
        room.saturating_sub(text_from),
        room.saturating_sub(hang),
    );
    wrapped.extend(lines.iter().enumerate().map(|(index, line)| {
        if index == 0 {
            format!("{}{mark}{line}", &bodies[0][..first])
        } else {
            format!("{}{line}", " ".repeat(hang))
        }
    }));
}

fn indent(body: &str) -> usize {
    body.len() - body.trim_start_matches(' ').len()
}

/// Returns the mark of a line that starts or ends a code block, even inside a list item.
fn fence_of(body: &str) -> Option<&str> {
    let text = body.trim_start();
    let text = &text[item_mark(text).unwrap_or(0)..];
    let mark = text.chars().next().filter(|c| "`~".contains(*c))?;
    let len = text.len() - text.trim_start_matches(mark).len();
    (len >= 3).then(|| &text[..len])
}

fn classify(body: &str, list: usize) -> Line {
    let text = body.trim_start();
    if text.is_empty() || body.contains('\t') || indent(body) >= list + CODE_INDENT {
        return Line::Kept;
    }
    if let Some(len) = item_mark(text) {
        return Line::Item(indent(body) + len);
    }
    let one_mark = |marks: &str| text.chars().all(|c| marks.contains(c) || c == ' ');
    let heading = text.trim_start_matches('#');
    let defines = text.starts_with('[') && text.contains("]: ");
    if text.starts_with(['|', '>', '<'])
        || heading.len() < text.len() && heading.starts_with([' ', '!', '['])
        || ["-", "=", "*", "_"].iter().any(|mark| one_mark(mark))
        || defines
    {
        return Line::Kept;
    }
    let label = text
        .split(' ')
        .next()
        .and_then(|word| word.strip_suffix(':'));
    let is_label =
        |word: &str| word.starts_with(char::is_uppercase) && word.chars().all(char::is_alphabetic);
    if label.is_some_and(is_label) {
        return Line::Label;
    }
    Line::Text
}

/// Returns the length in bytes of the mark of a list item, including the spaces after it.
fn item_mark(text: &str) -> Option<usize> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let mark = if text.starts_with(['-', '*', '+']) {
        1
    } else if digits > 0 && text[digits..].starts_with(['.', ')']) {
        digits + 1
    } else {
        return None;
    };
    let spaces = text[mark..].len() - text[mark..].trim_start_matches(' ').len();
    (1..=CODE_INDENT).contains(&spaces).then_some(mark + spaces)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(text: &str, room: usize) -> String {
        let bodies: Vec<&str> = text.lines().collect();
        let once = wrap(&bodies, room);
        let again: Vec<&str> = once.iter().map(String::as_str).collect();
        assert_eq!(wrap(&again, room), once, "a second time changes nothing");
        once.join("\n")
    }

    #[test]
    fn paragraphs_are_filled_and_kept_apart() {
        let text =
            "one two three four five\nsix\n\nseven eight\nnine\nSAFETY: ten eleven twelve thirteen";
        let expected = "one two three\nfour five six\n\nseven eight\nnine\nSAFETY: ten\neleven twelve\nthirteen";
        assert_eq!(wrapped(text, 14), expected);
    }

    #[test]
    fn items_hang_where_they_hung() {
        let text =
            "* one two three four\n  five\n* six\n1. seven eight nine ten\n   - eleven twelve x";
        let expected = "* one two\n  three four\n  five\n* six\n1. seven eight\n   nine ten\n   - eleven\n     twelve x";
        assert_eq!(wrapped(text, 14), expected);
        assert_eq!(
            wrapped("- one two three\n    four", 10),
            "- one two\n    three\n    four"
        );
    }

    #[test]
    fn what_is_laid_out_stays() {
        for text in [
            "```text\none two three four five six\n```",
            "```\none two three four five six\n~~~\none two three four five six\n```",
            "text\n\n    one two three four five six",
            "| one | two | three | four |",
            "# one two three four five six",
            "> one two three four five six",
            "<p> one two three four five six",
            "[one]: two three four five six",
            "one   two   three   four",
            "one two three four five\\\nsix",
            "[`one_two_three_four_five`]",
            "- ```\n  one two three four five six\n  ```",
        ] {
            assert_eq!(wrapped(text, 14), text);
        }
    }

    #[test]
    fn an_indented_paragraph_keeps_its_indentation() {
        let text = "one\n  two three four five\n  six";
        assert_eq!(wrapped(text, 14), "one\n  two three\n  four five\n  six");
        let text = "* one\n\n  two three four five six";
        assert_eq!(
            wrapped(text, 14),
            "* one\n\n  two three\n  four five\n  six"
        );
    }
}
