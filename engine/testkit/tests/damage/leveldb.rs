//! LevelDB's databases with one damage each. Every one must be refused with a named file, or return
//! contents that the damage explains. With mended checksums, contents may be any.

use std::sync::Arc;

use cairndb_env::Dir;
use cairndb_leveldb::{Database, Error, ReadOptions, Recovery};
use cairndb_testkit::damage::files::{Files, placed};
use cairndb_testkit::damage::{
    Entries, Image, Kind, Mix, Mutant, Subject, Tally, mend_log, mend_table, run, seeds,
};

use crate::leveldb_images::{NEWEST_LOG, to_read};

/// Mutants in a push.
const MUTANTS: u64 = 20_000;

/// The subject: our reader of LevelDB's files.
struct LevelDb;

impl Subject for LevelDb {
    fn mix(&self) -> Mix {
        &[
            (Kind::Byte, 4, 4),
            (Kind::Fill, 2, 2),
            (Kind::Length, 1, 1),
            (Kind::Truncate, 1, 1),
            (Kind::Remove, 1, 1),
            (Kind::Repeat, 1, 1),
            (Kind::Block, 1, 0),
            (Kind::Append, 1, 0),
            (Kind::Delete, 1, 0),
            (Kind::Current, 1, 0),
        ]
    }

    fn mend(&self, image: &Image, files: &mut Files, name: &str, _: usize) -> bool {
        match (image.blocks.get(name), files.get_mut(name)) {
            (Some(blocks), Some(bytes)) => mend_table(bytes, blocks),
            (None, Some(bytes)) if name != "CURRENT" => mend_log(bytes),
            _ => return false,
        }
        true
    }

    fn judge(&self, image: &Image, mutant: &Mutant, tally: &mut Tally) -> Result<(), String> {
        let verdict = judge(image, mutant)?;
        *tally.entry(verdict).or_default() += 1;
        Ok(())
    }
}

#[test]
fn mutants_are_refused_or_read_right() {
    let images = to_read();
    for image in &images {
        let (contents, _) = read(&placed(&image.files).1, Recovery::Strict).unwrap();
        assert!(contents.as_ref() == Some(&image.entries));
    }
    let seeds = seeds("CAIRN_STATES", MUTANTS, |percent| MUTANTS * percent / 100);
    run(&LevelDb, &images, seeds);
}

/// Returns the contents if they are the same in both directions and ascend, and whether the end of
/// the manifest is torn.
fn read(dir: &Arc<dyn Dir>, recovery: Recovery) -> Result<(Option<Entries>, bool), Error> {
    let options = ReadOptions {
        recovery,
        ..ReadOptions::default()
    };
    let database = Database::open(dir, &options)?;
    let (mut forward, mut backward) = (Vec::new(), Vec::new());
    let mut cursor = database.cursor();
    cursor.seek_to_first()?;
    while cursor.valid() {
        forward.push((cursor.key().to_vec(), cursor.value().to_vec()));
        cursor.next()?;
    }
    cursor.seek_to_last()?;
    while cursor.valid() {
        backward.push((cursor.key().to_vec(), cursor.value().to_vec()));
        cursor.prev()?;
    }
    backward.reverse();
    for (key, _) in forward.iter().step_by(7) {
        database.get(key)?;
        cursor.seek_for_prev(key)?;
    }
    let torn = database.report().torn_manifest.is_some();
    for info in database.tables() {
        // What nothing reads may be damaged.
        let _ = database.verify_table(info);
    }
    let is_right = forward == backward && forward.is_sorted_by(|one, next| one.0 < next.0);
    Ok((is_right.then(|| forward.into_iter().collect()), torn))
}

/// Judges one mutant.
fn judge(image: &Image, mutant: &Mutant) -> Result<&'static str, String> {
    let (_env, dir) = placed(&mutant.files);
    if mutant.mended {
        let _ = read(&dir, Recovery::Skip);
        let outcome = read(&dir, Recovery::Strict);
        return Ok(outcome.map_or("refused", |_| "survived"));
    }
    let (contents, torn_manifest) = match read(&dir, Recovery::Strict) {
        Ok(found) => found,
        Err(error) if error.file_name().is_some() => return Ok("refused"),
        Err(error) => return Err(format!("the error names no file: {error}")),
    };
    let contents = contents.ok_or("the directions differ")?;
    let ever = |key, value| {
        image
            .model
            .stories
            .get(key)
            .is_some_and(|it| it.ever.contains(value))
    };
    let all_written = || contents.iter().all(|(key, value)| ever(key, value));
    // A crash cuts the newest log, and nothing else.
    let moves = match mutant.kinds[0] {
        Kind::Truncate => !mutant.hits_kind(NEWEST_LOG),
        kind => matches!(kind, Kind::Remove | Kind::Repeat),
    };
    let (is_log, is_manifest) = (mutant.hits_kind(".log"), mutant.hits_kind("MANIFEST"));
    let (is_explained, why) = match () {
        // Whole records may have vanished or come twice.
        () if moves && (is_log || is_manifest) => (all_written(), "a value of nobody"),
        () if is_log => (
            image.model.place_of(&contents).is_some(),
            "no prefix of the writes",
        ),
        () if is_manifest && torn_manifest => (all_written(), "a value of nobody"),
        () => (contents == image.entries, "wrong contents"),
    };
    is_explained.then_some("read").ok_or(why.to_owned())
}
