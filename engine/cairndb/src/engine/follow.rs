//! Opening a database that another process may be writing.
//!
//! Only `SHARED` is written. The first state is read from what the writer has announced or, without
//! a writer, from the manifest and the whole log, as by a read-only open. If a writer comes while
//! that is read, the files may change, and another attempt is made.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cairndb_base::{Error, ErrorKind, PageCache, Result};
use cairndb_env::sync::{Condvar, Mutex};
use cairndb_env::{Background, Dir, Env};
use cairndb_format::manifest::read_current;
use cairndb_format::name;
use cairndb_mem::ClockCache;
use cairndb_shared::{Needs, Pin, Shared, Slot};

use crate::engine::configure::{contexts, opener, settings};
use crate::engine::core::Core;
use crate::engine::first_state::Opened;
use crate::engine::open::look;
use crate::follow::follower::{Followable, Follower, check_writer};
use crate::recovery::recover::Recovery;
use crate::recovery::recovered::Recovered;
use crate::recovery::value_copier::LargeValues;
use crate::state::budget::Budget;
use crate::state::files::reaper::Reaper;
use crate::state::keyspaces::Keyspaces;
use crate::state::options::Options;
use crate::state::sections::Sections;

/// Number of attempts to read files that a writer is changing.
const TRIES: usize = 20;

/// The pause between them.
const PAUSE: Duration = Duration::from_millis(2);

impl Core {
    /// Opens the database at `path` to follow it.
    pub(super) fn open_follower(options: &Options, path: &Path) -> Result<Arc<Core>> {
        let env = options.environment();
        let dir = env.open_dir(path, false)?;
        // Refuses what is no database before `SHARED` is created.
        look(&*dir, &options.clone().read_only(true))?;
        check_writer(&*dir)?;
        let shared = Shared::create(&*dir, name::SHARED)?;
        let slot = Slot::take(&shared)?;
        let mut tried = 1;
        loop {
            let generation = shared.generation();
            let followable = Followable {
                position: shared.position(),
                generation,
                shared: shared.clone(),
                slot: slot.clone(),
                manual: options.following.manual_refresh,
                lease: options.following.lease,
            };
            let opened = Self::open_followed(options, path, (&env, &dir), followable);
            if let Some(slot) = &slot {
                slot.end_reading();
            }
            match opened {
                Err(error) if tried < TRIES && may_change(&error, &shared, generation) => {
                    tried += 1;
                    pause(&*env);
                }
                opened => return opened,
            }
        }
    }

    fn open_followed(
        options: &Options,
        path: &Path,
        (env, dir): (&Arc<dyn Env>, &Arc<dyn Dir>),
        followable: Followable,
    ) -> Result<Arc<Core>> {
        let budget = Budget::new(options.memory_budget);
        let cache: Arc<dyn PageCache> = Arc::new(ClockCache::new(budget.cache));
        let reaper = Arc::new(Reaper::default());
        let keyspaces = Arc::new(Keyspaces::new(options));
        let contexts = contexts(options, path, &keyspaces);
        let orders = Sections::from_fn(|section| contexts[section].order.clone());
        let opener = opener(options, env, dir, &cache, &reaper, orders);
        let settings = settings(options, budget, &opener);
        let is_live = followable.shared.has_writer()? && followable.shared.announced().is_some();
        let slot = followable.slot.clone();
        if let Some(slot) = &slot {
            let _ = opener.files.slot.set(Arc::clone(slot));
        }
        let recovered = if is_live {
            // The first refresh reads everything.
            Recovered::nothing()
        } else {
            let recovery = Recovery {
                opener: &opener,
                settings: &settings,
                contexts: &contexts,
                keyspaces: &keyspaces,
                mode: options.recovery,
                large: &LargeValues::default(),
                env: &**env,
            };
            recovered_without_writer(&recovery, slot.as_ref())?
        };
        let generation = followable.generation;
        let mut core = Core::new(Opened {
            env: Arc::clone(env),
            dir: Arc::clone(dir),
            lock: None,
            contexts,
            keyspaces,
            settings,
            opener,
            recovered,
        });
        core.base.versions.note_first_view();
        let follower = Arc::new(Follower::new(&core.base, followable));
        let follower = core.follower.insert(follower);
        follower.renew_lease();
        if is_live {
            follower.read_all()?;
        } else if follower.generation() != generation {
            // A writer came meanwhile.
            return Err(Error::new(
                ErrorKind::Locked,
                "a writer is opening the database",
            ));
        }
        Ok(Arc::new(core))
    }
}

/// Returns the state that the files have, which is held.
fn recovered_without_writer(
    recovery: &Recovery<'_>,
    slot: Option<&Arc<Slot>>,
) -> Result<Recovered> {
    let generation = slot.map_or(0, |slot| slot.begin_reading());
    let dir = &*recovery.opener.files.dir;
    let number = read_current(dir)?.ok_or_else(|| {
        Error::new(ErrorKind::NotFound, "the database was removed").path(dir.path())
    })?;
    let mut recovered = recovery.run(number)?;
    let needs = Needs {
        generation,
        next_file: recovered.next_file,
    };
    recovered.version.pin = Some(Arc::new(Pin::new(slot, needs)));
    Ok(recovered)
}

/// Lets a writer go on.
fn pause(env: &dyn Env) {
    if env.background() == Background::Threads {
        let (paused, never) = (Mutex::new(()), Condvar::new());
        never.wait_for(&mut paused.lock(), PAUSE);
    }
}

/// Returns whether an error may be due to a writer that is changing the files, or has since the
/// generation was loaded.
fn may_change(error: &Error, shared: &Shared, generation: u64) -> bool {
    let changing = [
        ErrorKind::Corruption,
        ErrorKind::NotFound,
        ErrorKind::Locked,
        ErrorKind::Revoked,
    ];
    let changed = shared.generation() != generation || shared.has_writer().unwrap_or(true);
    changing.contains(&error.kind()) && changed
}

impl Recovered {
    /// Returns an empty state.
    fn nothing() -> Recovered {
        let mut nothing = Recovered::created(1);
        nothing.report.created = false;
        nothing
    }
}
