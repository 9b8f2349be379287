//! Judges a repair. What must be kept is found in the bytes of the undamaged image, without the
//! store's own readers: in a plain image, every value is stored as it was written, and begins with
//! text that no other value has.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use cairndb::{DoubtKind, KeySpan, RepairOptions, RepairReport};

use crate::images::{Image, Story, files_of, place};
use crate::mutants::{Kind, Mutant};

const PAGE: usize = 4096;
/// More than any record or entry takes before its value.
const BEFORE_VALUE: usize = 160;

/// Places in the image of the value that each key has now.
pub(crate) type Places = HashMap<Vec<u8>, Vec<(String, Range<usize>)>>;

/// Counts over many repairs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) repairs: u64,
    /// Entries whose bytes were not damaged, and how many of them were kept.
    pub(crate) intact: u64,
    pub(crate) intact_kept: u64,
    /// Keys whose value is lost, an older one, or a deleted one.
    pub(crate) lost: u64,
    pub(crate) older: u64,
    pub(crate) back: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, other: &Tally) {
        self.repairs += other.repairs;
        self.intact += other.intact;
        self.intact_kept += other.intact_kept;
        self.lost += other.lost;
        self.older += other.older;
        self.back += other.back;
    }
}

/// Finds the bytes of every current value of a plain image.
pub(crate) fn places(image: &Image) -> Places {
    let mut by_marker: HashMap<&[u8], (&[u8], usize)> = HashMap::new();
    for (key, story) in &image.stories {
        if let (Some(value), false) = (&story.now, story.merged) {
            let end = value.iter().position(|byte| *byte == b'>').unwrap() + 1;
            by_marker.insert(&value[..end], (key, value.len()));
        }
    }
    let mut places = Places::new();
    if !image.plain {
        return places;
    }
    for (name, bytes) in &image.files {
        let starts = (0..bytes.len()).filter(|at| bytes[*at] == b'<');
        for start in starts {
            let Some(len) = bytes[start..]
                .iter()
                .take(80)
                .position(|byte| *byte == b'>')
            else {
                continue;
            };
            let Some((key, len)) = by_marker.get(&bytes[start..=start + len]) else {
                continue;
            };
            let (from, to) = (start.saturating_sub(BEFORE_VALUE), start + len);
            let range = match name.ends_with(".tbl") {
                // A page is read whole. An entry of more than a page begins with its key.
                true if to - start > PAGE / 2 => from / PAGE * PAGE..to.next_multiple_of(PAGE),
                true => start / PAGE * PAGE..to.next_multiple_of(PAGE),
                false => from..to + 8,
            };
            places
                .entry(key.to_vec())
                .or_default()
                .push((name.clone(), range));
        }
    }
    places
}

fn contains(span: &KeySpan, key: &[u8], reversed: bool) -> bool {
    let before = |a: &[u8], b: &[u8]| if reversed { a >= b } else { a <= b };
    span.first.as_ref().is_none_or(|first| before(first, key))
        && span.last.as_ref().is_none_or(|last| before(key, last))
}

/// Repairs a mutant and checks the result and the report.
pub(crate) fn judge(
    image: &Image,
    places: &Places,
    mutant: &Mutant,
    tally: &mut Tally,
) -> Result<(), String> {
    let env = place(&mutant.files);
    let options = image.options.clone().env(env.clone());
    let repair_options = RepairOptions::new(&options);
    let planned = cairndb::repair("/db", "/new", &repair_options.clone().dry_run(true))
        .map_err(|error| format!("dry run failed: {error}"))?;
    let report = cairndb::repair("/db", "/new", &repair_options)
        .map_err(|error| format!("repair failed: {error}"))?;
    let planned = RepairReport::from_dry_run(planned);
    if planned != report {
        return Err(format!("the dry run differs:\n{planned}\n{report}"));
    }
    if files_of(&env, "/db") != mutant.files {
        return Err("the source was changed".to_owned());
    }
    cairndb::verify("/new", &options).map_err(|error| format!("verify: {error}"))?;
    let db = options
        .open("/new")
        .map_err(|error| format!("open: {error}"))?;
    let mut found = BTreeMap::new();
    for entry in db.iter() {
        let (key, value) = entry.map_err(|error| format!("read: {error}"))?;
        found.insert(key.to_vec(), value.to_vec());
    }
    if found.len() as u64 != report.kept.keys {
        return Err(format!(
            "{} keys, but {} were reported",
            found.len(),
            report.kept.keys
        ));
    }
    db.put(b"after", b"repair")
        .map_err(|error| format!("put: {error}"))?;
    drop(db);
    drop(env);
    tally.repairs += 1;
    let case = Case {
        image,
        mutant,
        report: &report,
        reversed: image.name == "reversed",
    };
    case.check_files()?;
    if let Some(key) = found.keys().find(|key| !image.stories.contains_key(*key)) {
        return Err(format!("key {} was never written", key.escape_ascii()));
    }
    for (key, story) in &image.stories {
        case.check_key(key, story, found.get(key), tally)
            .and_then(|()| case.check_intact(key, story, found.get(key), places, tally))
            .map_err(|why| format!("key {}: {why}\n{report}", key.escape_ascii()))?;
    }
    Ok(())
}

/// Makes reports of a dry run and of a repair comparable.
trait FromDryRun {
    fn from_dry_run(report: RepairReport) -> RepairReport;
}

impl FromDryRun for RepairReport {
    fn from_dry_run(mut report: RepairReport) -> RepairReport {
        assert!(report.dry_run, "a dry run says so");
        report.dry_run = false;
        report
    }
}

struct Case<'a> {
    image: &'a Image,
    mutant: &'a Mutant,
    report: &'a RepairReport,
    reversed: bool,
}

impl Case<'_> {
    /// Checks that losses lie in damaged files, and that nothing is in doubt without a reason.
    fn check_files(&self) -> Result<(), String> {
        let (mutant, report) = (self.mutant, self.report);
        let manifest = mutant.hits_manifest() || mutant.damaged.contains_key("CURRENT");
        for loss in &report.lost {
            let is_hit = mutant.damaged.contains_key(&loss.file)
                || mutant.kinds.contains(&Kind::Swapped)
                || manifest
                || mutant.hits_kind(".log") && loss.file.ends_with(".log");
            if !is_hit {
                return Err(format!("a loss in an intact file: {loss}"));
            }
        }
        for doubt in &report.doubts {
            let expected = match doubt.kind {
                DoubtKind::LogEnd => !self.image.clean || manifest,
                _ => manifest || mutant.hits_kind(".log") || mutant.hits_kind(".tbl"),
            };
            if !expected {
                return Err(format!("a doubt without a reason: {doubt:?}"));
            }
        }
        Ok(())
    }

    /// Checks that a key that differs is named.
    fn check_key(
        &self,
        key: &[u8],
        story: &Story,
        found: Option<&Vec<u8>>,
        tally: &mut Tally,
    ) -> Result<(), String> {
        if found == story.now.as_ref() {
            return Ok(());
        }
        let in_span = |span: &KeySpan| contains(span, key, self.reversed);
        let mut losses = self.report.lost.iter().filter(|loss| in_span(&loss.keys));
        let log_hit = self.mutant.hits_kind(".log");
        let mut doubts =
            self.report.doubts.iter().filter(|doubt| {
                in_span(&doubt.keys) && (doubt.kind != DoubtKind::LogEnd || log_hit)
            });
        let known = found.is_none_or(|found| story.ever.contains(found));
        let doubtful = doubts.next().is_some();
        match found {
            Some(_) if !known && !story.merged => Err("a value that was never written".to_owned()),
            Some(_) => {
                tally.older += u64::from(story.now.is_some());
                tally.back += u64::from(story.now.is_none());
                let named = doubtful || losses.any(|loss| loss.older || story.merged);
                named
                    .then_some(())
                    .ok_or("an old value that no loss names".to_owned())
            }
            None => {
                tally.lost += 1;
                let named = doubtful || losses.next().is_some();
                named
                    .then_some(())
                    .ok_or("a loss that is not named".to_owned())
            }
        }
    }

    /// Checks that an entry whose bytes are intact is kept.
    fn check_intact(
        &self,
        key: &[u8],
        story: &Story,
        found: Option<&Vec<u8>>,
        places: &Places,
        tally: &mut Tally,
    ) -> Result<(), String> {
        let Some(places) = places.get(key) else {
            return Ok(());
        };
        let mutant = self.mutant;
        let hit = places.iter().any(|(file, range)| mutant.hits(file, range));
        // The pointer to a large value is in a table or the log.
        let is_large = places.iter().any(|(file, _)| file.ends_with(".val"));
        let pointer_hit = is_large && (mutant.hits_kind(".tbl") || mutant.hits_kind(".log"));
        if hit || pointer_hit {
            return Ok(());
        }
        tally.intact += 1;
        if found == story.now.as_ref() {
            tally.intact_kept += 1;
            return Ok(());
        }
        // Without the manifest, which of several versions is the newest is a guess.
        if mutant.hits_manifest() {
            return Ok(());
        }
        Err("an intact entry is lost".to_owned())
    }
}

/// Shares the places of all images among the threads.
pub(crate) fn all_places(images: &[Image]) -> Arc<Vec<Places>> {
    Arc::new(images.iter().map(places).collect())
}
