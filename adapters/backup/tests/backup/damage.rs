//! Damaged and missing objects: found, named, and done without where that is possible.

use std::path::Path;
use std::sync::Arc;

use cairndb::ErrorKind;
use cairndb::env::Env;
use cairndb_backup::{Backup, BackupOptions, Moment, Restore};
use cairndb_sim::SimEnv;

use crate::life::{check_moment, open, repository};
use crate::model::Model;

/// Every object is damaged, removed or cut in turn.
#[test]
fn each_damaged_object_is_named_and_the_rest_is_restored() {
    let sim = SimEnv::new(5);
    let env: Arc<dyn Env> = sim.clone();
    let at_path = Path::new("/backups");
    let db = open(&env, Path::new("/db")).unwrap();
    let at = repository(&env, at_path, None).unwrap();
    let mut model = Model::new(5);
    let options = BackupOptions::new().base_bytes(6_000);
    let mut backup = Backup::begin(&db, &at, options).unwrap();
    for _ in 0..12 {
        model.write(&db, 8).unwrap();
        db.flush().unwrap();
        backup.catch_up().unwrap();
    }
    backup.end().unwrap();
    db.close().unwrap();
    let whole = at.verify().unwrap();
    assert!(whole.damage.is_empty(), "{whole:?}");
    let objects = sim.files();
    let objects = objects.iter().filter(|(path, _)| path.starts_with(at_path));
    let mut done_without = 0;
    for (number, (path, bytes)) in objects.enumerate() {
        let name = path
            .strip_prefix(at_path)
            .unwrap()
            .to_string_lossy()
            .into_owned();
        if name.starts_with("meta/") {
            continue;
        }
        let before = sim.read_file(path).unwrap();
        match number % 3 {
            0 => assert!(sim.corrupt(path, model.random.draw(*bytes), 0x5a)),
            1 => assert!(sim.truncate(path, model.random.draw(*bytes))),
            _ => assert!(sim.delete(path)),
        }
        let found = at.verify().unwrap();
        let named = found
            .damage
            .iter()
            .any(|error| error.file_name() == Some(&*name));
        assert!(named, "{name}: {found:?}");
        let last = whole.moments[0].last.seq;
        for turn in 0..4 {
            let seq = model.random.draw(last + 1);
            let to = format!("/restored-{number}-{turn}");
            let holds =
                |range: &cairndb_backup::Moments| (range.first.seq..=range.last.seq).contains(&seq);
            if found.moments.iter().any(holds) {
                let about = format!("without {name}");
                let report = check_moment(&at, &env, Path::new(&to), (&model, seq), &about);
                done_without += usize::from(!report.damage.is_empty());
            } else if whole.moments.iter().any(holds) {
                let restored = Restore::new(&at).to(Moment::Seq(seq)).run(Path::new(&to));
                if let Err(error) = restored {
                    assert!(
                        [ErrorKind::Corruption, ErrorKind::NotFound].contains(&error.kind()),
                        "{name}: {error}"
                    );
                }
            }
        }
        sim.write_file(path, &before);
    }
    assert!(done_without > 5, "{done_without}");
}
