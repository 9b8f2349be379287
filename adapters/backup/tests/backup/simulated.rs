//! Backups on simulated disks, under kills and losses of power of either side.

use std::path::Path;
use std::sync::Arc;

use cairndb::env::Env;
use cairndb::{Db, Result};
use cairndb_backup::{Backup, BackupOptions, Repository, Retention};
use cairndb_sim::{CrashChoice, Keep, Profile, SimEnv};

use crate::life::{check_moment, open, repository};
use crate::model::Model;

/// The machine of a database, and that of its backups.
struct World {
    seed: u64,
    database: Arc<SimEnv>,
    place: Arc<SimEnv>,
    model: Model,
    lives: u64,
}

/// How a life ends.
#[derive(Clone, Copy, Debug)]
enum End {
    /// Nothing is killed.
    Well,
    /// What uses the place is killed.
    Killed,
    /// The machine of the place loses power.
    PlaceLosesPower,
    /// The machine of the database loses power.
    DatabaseLosesPower,
}

fn powerless(env: &SimEnv, random: u64) -> Arc<SimEnv> {
    let keeps = [Keep::None, Keep::All, Keep::Subset(random)];
    let keep = keeps[usize::try_from(random % 3).unwrap()];
    env.crash_point()
        .image(Profile::Weak, &CrashChoice::new(keep))
}

impl World {
    fn new(seed: u64) -> World {
        World {
            seed,
            database: SimEnv::new(seed),
            place: SimEnv::new(seed + 1),
            model: Model::new(seed),
            lives: 0,
        }
    }

    fn about(&self) -> String {
        format!("CAIRN_SEED={}, life {}", self.seed, self.lives)
    }

    /// Opens everything, writes and backs up until something is killed.
    fn live(&mut self) {
        self.lives += 1;
        let ends = [
            End::Well,
            End::Killed,
            End::Killed,
            End::PlaceLosesPower,
            End::DatabaseLosesPower,
        ];
        let end = ends[self.model.random.index(ends.len())];
        let about = self.about();
        let database: Arc<dyn Env> = self.database.process();
        let db = open(&database, Path::new("/db")).unwrap();
        self.model.recovered(&db, &about);
        let user = self.place.process();
        let after = match end {
            End::Killed => 1 + self.model.random.draw(120),
            _ => u64::MAX / 2,
        };
        user.kill_at(user.op_count() + after);
        let place: Arc<dyn Env> = user;
        let done = self.use_place(&db, &place);
        match end {
            End::Killed => {}
            _ => done.unwrap_or_else(|error| panic!("{about}: {error}")),
        }
        match end {
            End::DatabaseLosesPower => {
                // Before the handle is closed, which would make everything durable.
                let random = self.model.random.draw(1 << 40);
                let image = powerless(&self.database, random);
                drop(db);
                self.database = image;
            }
            End::PlaceLosesPower => {
                db.close().unwrap();
                let random = self.model.random.draw(1 << 40);
                self.place = powerless(&self.place, random);
            }
            End::Well | End::Killed => db.close().unwrap(),
        }
    }

    fn use_place(&mut self, db: &Db, place: &Arc<dyn Env>) -> Result<()> {
        let at = repository(place, Path::new("/backups"), None)?;
        let mut options = BackupOptions::new().base_bytes(30_000);
        if self.seed.is_multiple_of(3) {
            options = options.changes_only();
        }
        let mut backup = Backup::begin(db, &at, options)?;
        for _ in 0..=self.model.random.draw(8) {
            self.model.write(db, 4).unwrap();
            backup.catch_up()?;
            if self.model.random.draw(10) == 0 {
                let bases = 1 + self.model.random.draw(4);
                at.prune(Retention::new().bases(bases), false)?;
            }
        }
        backup.end().map(drop)
    }

    /// Restores random moments.
    fn restore(&mut self, number: u64) -> u64 {
        let env: Arc<dyn Env> = self.place.process();
        let at = repository(&env, Path::new("/backups"), None).unwrap();
        let about = self.about();
        let verified = at.verify().unwrap();
        assert!(verified.damage.is_empty(), "{about}: {verified:?}");
        let mut restored = 0;
        for _ in 0..number {
            let moments = &verified.moments[self.model.random.index(verified.moments.len())];
            let (first, last) = (moments.first.seq, moments.last.seq);
            let seq = first + self.model.random.draw(last - first + 1);
            let to = format!("/restored-{}-{restored}", self.lives);
            check_moment(&at, &env, Path::new(&to), (&self.model, seq), &about);
            restored += 1;
        }
        restored
    }
}

fn repository_of(world: &World) -> Repository {
    let env: Arc<dyn Env> = world.place.process();
    repository(&env, Path::new("/backups"), None).unwrap()
}

#[test]
fn a_thousand_moments_are_restored_after_kills() {
    let setting = |name| {
        std::env::var(name)
            .ok()
            .and_then(|it| it.parse::<u64>().ok())
    };
    let seed = setting("CAIRN_SEED").unwrap_or(1);
    let worlds = setting("CAIRN_BACKUPS").unwrap_or(10);
    println!("CAIRN_SEED={seed} CAIRN_BACKUPS={worlds}");
    let seeds = (0..worlds).map(|world| seed.wrapping_add(world));
    let mut restored = 0;
    for seed in seeds {
        let mut world = World::new(seed);
        for _ in 0..20 {
            world.live();
        }
        let found = repository_of(&world).backups().unwrap();
        assert!(!found.moments.is_empty(), "{}: {found:?}", world.about());
        restored += world.restore(100);
    }
    assert_eq!(restored, 100 * worlds);
}
