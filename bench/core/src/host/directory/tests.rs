//! Checks which directories are emptied and removed, and which are never touched.

use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use super::*;
use crate::host::test_text::has;

#[test]
fn somebodys_files_are_never_removed() {
    let home = tempfile::tempdir().expect("a directory");
    let db = home.path().join("letters");
    fs::create_dir(&db).expect("created");
    fs::write(db.join("mine.txt"), "mine").expect("written");
    let fault = make_fresh(&db).expect_err("not ours").to_string();
    assert!(
        fault.contains("letters") && fault.contains("--db"),
        "{fault}"
    );
    remove(&db).expect("nothing done");
    assert_eq!(
        fs::read_to_string(db.join("mine.txt")).expect("still there"),
        "mine"
    );
}

/// Regression: a run that was killed while it waited for a slow disk left a directory without a
/// note.
#[test]
fn a_directory_is_reported_before_the_disk_is_waited_for() {
    let home = tempfile::tempdir().expect("a directory");
    let db = home.path().join("db");
    for _ in 0..2 {
        let mut reported = None;
        make_fresh_then(&db, |db| reported = made(db)).expect("ours");
        assert!(reported.is_some_and(|reported| reported.worker == Some(owner::Owner::here())));
        fs::write(db.join("000001.log"), "x").expect("written");
    }
}

#[test]
fn a_directory_is_made_apart_and_nothing_else_is_left() {
    let home = tempfile::tempdir().expect("a directory");
    let db = home.path().join("db");
    for _ in 0..3 {
        make_fresh(&db).expect("ours");
        fs::write(db.join("000001.log"), "x").expect("written");
        let mut held = names_in(home.path()).expect("there");
        held.retain(|name| name != "db" && name != "db.db_bench");
        assert_eq!(held, [""; 0], "only the directory and its note");
    }
    // A run that was killed in between leaves its staging directory; the next one removes it.
    fs::create_dir_all(staging(&db).join("77-0")).expect("created");
    make_fresh(&db).expect("ours");
    assert!(!staging(&db).exists());
    // These files must not be removed.
    fs::create_dir(staging(&db)).expect("created");
    fs::write(staging(&db).join("letter"), "keep").expect("written");
    make_fresh(&db).expect("ours");
    assert!(staging(&db).join("letter").exists());
    assert_eq!(fs::read_dir(&db).expect("there").count(), 0);
}

#[test]
fn a_directory_that_was_there_before_stays_the_one_it_is() {
    let home = tempfile::tempdir().expect("a directory");
    let db = home.path().join("db");
    fs::create_dir(&db).expect("created");
    let inode = || fs::metadata(&db).expect("there").ino();
    let before = inode();
    for _ in 0..3 {
        make_fresh(&db).expect("empty or ours");
        fs::write(db.join("000001.log"), "x").expect("written");
        assert_eq!(inode(), before);
    }
}

#[test]
fn a_linked_directory_stays_the_one_it_is() {
    let home = tempfile::tempdir().expect("a directory");
    let (real, db) = (home.path().join("disk"), home.path().join("db"));
    fs::create_dir(&real).expect("created");
    std::os::unix::fs::symlink(&real, &db).expect("linked");
    for _ in 0..2 {
        make_fresh(&db).expect("ours");
        fs::write(real.join("000001.log"), "x").expect("written");
        assert_eq!(fs::read_link(&db).expect("still a link"), real);
    }
    assert!(!staging(&db).exists());
}

#[test]
fn our_own_directory_is_emptied_again() {
    let home = tempfile::tempdir().expect("a directory");
    let db = home.path().join("deep/db");
    make_fresh(&db).expect("created with its parents");
    fs::write(db.join("000001.log"), "x").expect("written");
    make_fresh(&db).expect("ours");
    assert_eq!(fs::read_dir(&db).expect("there").count(), 0);
    fs::write(new_note(&db), "half a no").expect("written");
    remove(&db).expect("ours");
    let left = fs::read_dir(home.path().join("deep")).expect("there");
    assert_eq!(left.count(), 0);
}

/// Regression: the note of a removed directory allowed emptying whatever took its place.
#[test]
fn a_note_is_about_one_directory() {
    let home = tempfile::tempdir().expect("a directory");
    let db = home.path().join("db");
    make_fresh(&db).expect("created");
    fs::write(db.join("000001.log"), "x").expect("written");
    fs::rename(&db, home.path().join("moved")).expect("renamed");
    fs::create_dir(&db).expect("created");
    fs::write(db.join("thesis.txt"), "precious").expect("written");
    let fault = make_fresh(&db).expect_err("another directory").to_string();
    has(&fault, "did not create");
    remove(&db).expect("nothing done");
    assert!(db.join("thesis.txt").exists());
}

#[test]
fn what_was_put_in_later_is_not_removed() {
    let home = tempfile::tempdir().expect("a directory");
    let db = home.path().join("db");
    make_fresh(&db).expect("created");
    fs::write(db.join("000001.log"), "x").expect("written");
    let plan = Plan::default();
    let model = Model::new(&crate::workload::pool::Pool::new(0.5, 100), 100);
    keep(&db, &plan, &model).expect("ours");
    leave(&db, std::process::id()).expect("listed");
    fs::create_dir(db.join("letters")).expect("created");
    let fault = make_fresh(&db)
        .expect_err("something was added")
        .to_string();
    has(&fault, "letters");
    fs::remove_dir(db.join("letters")).expect("removed");
    make_fresh(&db).expect("ours again");
}

#[test]
fn what_took_the_place_of_ours_or_went_into_a_folder_of_ours_is_kept() {
    let home = tempfile::tempdir().expect("a directory");
    let (db, own) = (home.path().join("db"), home.path().join("own.db"));
    fs::write(&own, "mine").expect("written");
    make_fresh(&db).expect("created");
    fs::create_dir(db.join("folder")).expect("created");
    for ours in ["test.db", "same.db", "folder/000001.log"] {
        fs::write(db.join(ours), "x").expect("written");
    }
    leave(&db, std::process::id()).expect("listed");
    enter(&db).expect("ours");
    leave(&db, std::process::id()).expect("listed");
    // One file replaces ours, and one is added in a folder.
    fs::rename(own, db.join("test.db")).expect("moved");
    fs::write(db.join("folder/letter.txt"), "mine").expect("written");
    let fault = make_fresh(&db).expect_err("somebody's").to_string();
    let wanted = "holds folder/letter.txt, test.db, put there or changed";
    has(&fault, wanted);
    remove(&db).expect("nothing done");
    // After another run uses it, they still count as the user's.
    enter(&db).expect("ours");
    leave(&db, std::process::id()).expect("listed");
    let fault = make_fresh(&db).expect_err("somebody's").to_string();
    has(&fault, wanted);
    fs::remove_file(db.join("test.db")).expect("removed");
    fs::remove_file(db.join("folder/letter.txt")).expect("removed");
    // The time of a change cannot be set back.
    pause(Duration::from_secs(4));
    fs::write(db.join("same.db"), "mine").expect("written");
    let fault = make_fresh(&db).expect_err("somebody's").to_string();
    has(&fault, "holds same.db, put there");
    fs::remove_file(db.join("same.db")).expect("removed");
    make_fresh(&db).expect("ours again");
}

#[test]
fn a_file_where_the_note_goes_is_kept() {
    let home = tempfile::tempdir().expect("a directory");
    let db = home.path().join("db");
    for beside in [note(&db), new_note(&db)] {
        fs::write(&beside, "keep").expect("written");
        let fault = make_fresh(&db).expect_err("somebody's").to_string();
        has(&fault, "db.db_bench");
        assert_eq!(fs::read_to_string(&beside).expect("there"), "keep");
        fs::remove_file(&beside).expect("removed");
    }
    make_fresh(&db).expect("nothing in the way");
}

#[test]
fn a_path_may_end_in_a_slash_and_lead_over_a_link() {
    let home = tempfile::tempdir().expect("a directory");
    let slashed = home.path().join("db/");
    make_fresh(&slashed).expect("created");
    assert_eq!(fs::read_dir(&slashed).expect("there").count(), 0);
    make_fresh(&home.path().join("db")).expect("the same");
    let (real, link) = (home.path().join("real"), home.path().join("link"));
    fs::create_dir(&real).expect("created");
    std::os::unix::fs::symlink(&real, &link).expect("linked");
    for _ in 0..2 {
        make_fresh(&link).expect("ours");
        fs::write(link.join("000001.log"), "x").expect("written");
        assert!(real.join("000001.log").exists(), "the link points there");
    }
}

fn pause(time: Duration) {
    let later = Instant::now() + time;
    while Instant::now() < later {
        std::thread::park_timeout(later.saturating_duration_since(Instant::now()));
    }
}

/// Writes the note of a run whose process has exited without listing its files.
fn abandon(db: &Path) {
    let mut child = std::process::Command::new("true").spawn().expect("started");
    let bytes = fs::read(note(db)).expect("there");
    let (directory, rest) = read(&bytes).expect("a note");
    let gone = serde_json::json!({ "process": child.id(), "since": 1 });
    child.wait().expect("ended");
    let directory = Directory {
        held: None,
        worker: serde_json::from_value(gone).expect("a process"),
        ..directory
    };
    write(db, &directory, rest).expect("written");
    owner::end(&note(db));
}

#[test]
fn what_was_put_in_after_a_run_had_been_killed_is_kept_and_its_own_leftovers_are_not() {
    let home = tempfile::tempdir().expect("a directory");
    let (db, kept) = (home.path().join("db"), home.path().join("kept"));
    make_fresh(&db).expect("created");
    fs::create_dir(db.join("folder")).expect("created");
    fs::write(db.join("000001.log"), "x").expect("written");
    fs::write(db.join("folder/000002.log"), "x").expect("written");
    fs::write(&kept, "mine").expect("written");
    abandon(&db);
    // The time of a change cannot be set back, so the others come later.
    pause(Duration::from_secs(4));
    // One file is moved in with its old times, and one is added in a folder.
    fs::rename(&kept, db.join("thesis.txt")).expect("moved");
    fs::write(db.join("folder/letter.txt"), "mine").expect("written");
    for _ in 0..2 {
        let fault = make_fresh(&db).expect_err("somebody's").to_string();
        has(&fault, "folder, folder/letter.txt, thesis.txt");
        assert!(!fault.contains("00000"), "{fault}");
        remove(&db).expect("nothing done");
        assert!(db.join("thesis.txt").exists() && db.join("000001.log").exists());
    }
    fs::remove_file(db.join("thesis.txt")).expect("removed");
    fs::remove_dir_all(db.join("folder")).expect("removed");
    make_fresh(&db).expect("its own leftovers");
    assert_eq!(fs::read_dir(&db).expect("there").count(), 0);
}

#[test]
fn what_a_lost_process_left_is_listed_by_the_one_that_waited_for_it() {
    let home = tempfile::tempdir().expect("a directory");
    let db = home.path().join("db");
    make_fresh(&db).expect("created");
    fs::write(db.join("000001.log"), "x").expect("written");
    // Nothing is listed while the process still uses the directory, or for a process that never
    // used it.
    leave(&db, 1).expect("nothing done");
    assert_eq!(made(&db).expect("ours").held, None);
    leave(&db, std::process::id()).expect("listed");
    fs::write(db.join("letter.txt"), "mine").expect("written");
    let fault = make_fresh(&db).expect_err("somebody's").to_string();
    has(&fault, "letter.txt");
    remove(&db).expect("nothing done");
    assert!(db.join("letter.txt").exists());
}

#[test]
fn a_run_over_an_existing_database_does_not_make_somebodys_files_its_own() {
    let home = tempfile::tempdir().expect("a directory");
    let db = home.path().join("db");
    let plan = Plan::default();
    let model = Model::new(&crate::workload::pool::Pool::new(0.5, 100), 100);
    make_fresh(&db).expect("created");
    fs::write(db.join("000001.log"), "x").expect("written");
    keep(&db, &plan, &model).expect("ours");
    leave(&db, std::process::id()).expect("listed");
    fs::write(db.join("letter.txt"), "mine").expect("written");
    enter(&db).expect("ours");
    fs::write(db.join("000002.log"), "x").expect("written");
    keep(&db, &plan, &model).expect("ours");
    leave(&db, std::process::id()).expect("listed");
    let fault = make_fresh(&db).expect_err("somebody's").to_string();
    has(&fault, "holds letter.txt, put there");
    fs::remove_file(db.join("letter.txt")).expect("removed");
    make_fresh(&db).expect("ours again");
}

#[test]
fn a_directory_that_was_there_before_is_emptied_and_stays() {
    let home = tempfile::tempdir().expect("a directory");
    let db = home.path().join("db");
    fs::create_dir(&db).expect("created");
    make_fresh(&db).expect("empty");
    fs::write(db.join("000001.log"), "x").expect("written");
    remove(&db).expect("ours");
    assert_eq!(fs::read_dir(&db).expect("there").count(), 0);
    assert!(!note(&db).exists());
}
