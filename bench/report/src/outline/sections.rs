//! Chapter and heading of each table, from its suite or else from the page of 2011.

use crate::outline::{self, CHAPTERS};
use crate::run::Run;
use crate::table::Table;

/// A chapter with results.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chapter<'r> {
    /// Heading.
    pub(crate) title: String,
    /// Groups of tables under the headings of the chapter.
    pub(crate) groups: Vec<Group<'r>>,
}

/// Tables under one heading.
#[derive(Clone, Debug, Default)]
pub(crate) struct Group<'r> {
    /// Heading; empty if the chapter's heading is enough.
    pub(crate) heading: String,
    /// Paragraphs.
    pub(crate) about: Vec<String>,
    /// Tables, each with the caption of its section.
    pub(crate) tables: Vec<(String, &'r Table)>,
}

/// Chapters under construction.
#[derive(Default)]
struct Builder<'r> {
    chapters: Vec<Chapter<'r>>,
}

impl<'r> Builder<'r> {
    /// Returns the group with this heading, created if missing.
    fn group(&mut self, chapter: &str, heading: &str) -> &mut Group<'r> {
        let at = self
            .chapters
            .iter()
            .position(|known| known.title == chapter);
        let at = at.unwrap_or_else(|| {
            self.chapters.push(Chapter {
                title: chapter.to_owned(),
                groups: Vec::new(),
            });
            self.chapters.len() - 1
        });
        let groups = &mut self.chapters[at].groups;
        let at = groups.iter().position(|known| known.heading == heading);
        let at = at.unwrap_or_else(|| {
            groups.push(Group {
                heading: heading.to_owned(),
                ..Group::default()
            });
            groups.len() - 1
        });
        &mut groups[at]
    }

    fn add(
        &mut self,
        chapter: &str,
        heading: &str,
        about: &str,
        caption: &str,
        tables: &[&'r Table],
    ) {
        if tables.is_empty() {
            return;
        }
        let group = self.group(chapter, heading);
        if !about.is_empty() && !group.about.iter().any(|known| known == about) {
            group.about.push(about.to_owned());
        }
        let captioned = tables.iter().map(|table| (caption.to_owned(), *table));
        group.tables.extend(captioned);
    }
}

/// Returns the chapters of one suite, made from its `tables`.
pub(crate) fn arrange<'r>(
    run: &Run,
    suite: Option<&str>,
    tables: &[&'r Table],
) -> Vec<Chapter<'r>> {
    let mut builder = Builder::default();
    let mut rest: Vec<&'r Table> = tables.to_vec();
    let rest_title = if let Some(suite) = run.outline(suite) {
        for section in &suite.sections {
            let name = Some(section.name.as_str());
            let of = take(&mut rest, |table| table.key.section.as_deref() == name);
            let chapter = first_of(&section.chapter, &suite.title);
            let heading = first_of(&section.heading, &section.name);
            let known = of.first().and_then(|table| outline::place(&table.key));
            let about = known.map_or("", |place| outline::text(place));
            let about = first_of(about, &section.about);
            builder.add(chapter, heading, about, &section.table, &of);
        }
        "Other Rows".to_owned()
    } else {
        for chapter in &CHAPTERS {
            for section in chapter.sections {
                let place = Some(section.place);
                let of = take(&mut rest, |table| outline::place(&table.key) == place);
                builder.add(chapter.title, section.title, section.text, "", &of);
            }
        }
        suite.map_or_else(|| "Results".to_owned(), |suite| format!("Suite {suite}"))
    };
    while let Some(first) = rest.first() {
        let section = first.key.section.clone();
        let of = take(&mut rest, |table| table.key.section == section);
        builder.add(
            &rest_title,
            section.as_deref().unwrap_or_default(),
            "",
            "",
            &of,
        );
    }
    builder.chapters
}

/// Removes the matching tables from a list and returns them in order.
fn take<'r>(rest: &mut Vec<&'r Table>, fits: impl Fn(&Table) -> bool) -> Vec<&'r Table> {
    let (taken, left) = rest.iter().partition(|table| fits(table));
    *rest = left;
    taken
}

/// Returns the first string that is not empty.
fn first_of<'t>(one: &'t str, other: &'t str) -> &'t str {
    if one.is_empty() { other } else { one }
}
