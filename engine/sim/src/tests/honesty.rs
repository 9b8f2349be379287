//! Compares the simulation with the real file system, and with a second, naive model of its own
//! crashes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use cairndb_env::random::Random;
use cairndb_env::{Dir, Env, LogRegion, RealEnv, WritableFile};

use super::super::*;

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
const LOG_BYTES: u64 = 3000;

/// The open files of one trace on one environment.
struct Player {
    dir: Arc<dyn Dir>,
    writers: BTreeMap<&'static str, Box<dyn WritableFile>>,
    logs: BTreeMap<&'static str, Arc<dyn LogRegion>>,
}

/// One operation of a trace, drawn once and played on both.
#[derive(Clone, Debug)]
enum Step {
    Create(&'static str),
    CreateLog(&'static str),
    OpenLog(&'static str),
    Append(&'static str, Vec<u8>),
    WriteLog(&'static str, u64, Vec<u8>, bool),
    Sync(&'static str),
    Rename(&'static str, &'static str),
    Link(&'static str, &'static str),
    Unlink(&'static str),
    SyncDir,
    Read(&'static str, u64, usize),
    Look,
}

impl Step {
    fn draw(random: &mut Random) -> Step {
        let mut name = || NAMES[random.index(NAMES.len())];
        let (one, two) = (name(), name());
        let kind = random.below(16);
        let len = random.index(1500);
        let bytes = vec![random.next_u64().to_le_bytes()[0]; len];
        match kind {
            0 | 1 => Step::Create(one),
            2 => Step::CreateLog(one),
            3 => Step::OpenLog(one),
            4..=6 => Step::Append(one, bytes),
            7..=9 => {
                let room = LOG_BYTES - bytes.len() as u64;
                Step::WriteLog(one, random.below(room), bytes, random.below(2) == 0)
            }
            10 => Step::Sync(one),
            11 => Step::Rename(one, two),
            12 => Step::Link(one, two),
            13 => Step::Unlink(one),
            14 => Step::Read(one, random.below(4000), len),
            _ if len < 700 => Step::SyncDir,
            _ => Step::Look,
        }
    }
}

impl Player {
    fn new(dir: Arc<dyn Dir>) -> Player {
        Player {
            dir,
            writers: BTreeMap::new(),
            logs: BTreeMap::new(),
        }
    }

    /// Plays a step and returns its result, with an error as its kind.
    fn play(&mut self, step: &Step) -> String {
        let result = self.try_play(step);
        result.unwrap_or_else(|error| format!("{:?}", error.kind()))
    }

    fn try_play(&mut self, step: &Step) -> cairndb_base::Result<String> {
        let dir = &self.dir;
        match step {
            Step::Create(name) => {
                self.writers.insert(name, dir.create(name)?);
            }
            Step::CreateLog(name) => {
                self.logs.insert(name, dir.create_log(name, LOG_BYTES)?);
            }
            Step::OpenLog(name) => {
                // A real file has one region at a time.
                self.logs.remove(name);
                let log = dir.open_log(name)?;
                // The file has any length: one that is not a whole log is closed again.
                if log.size() >= LOG_BYTES {
                    self.logs.insert(name, log);
                }
            }
            Step::Append(name, bytes) => {
                if let Some(writer) = self.writers.get_mut(name) {
                    writer.append(bytes)?;
                    return Ok(writer.size().to_string());
                }
            }
            Step::WriteLog(name, offset, bytes, sync_next) => {
                if let Some(log) = self.logs.get(name) {
                    let (head, tail) = bytes.split_at(bytes.len() / 3);
                    log.write(*offset, &[head, tail], *sync_next)?;
                }
            }
            Step::Sync(name) => {
                if let Some(writer) = self.writers.get_mut(name) {
                    writer.sync()?;
                }
                if let Some(log) = self.logs.get(name) {
                    log.sync()?;
                }
            }
            Step::Rename(from, to) => dir.rename(from, to)?,
            Step::Link(from, to) => drop(dir.link(from, &**dir, to)?),
            Step::Unlink(name) => dir.unlink(name)?,
            Step::SyncDir => dir.sync()?,
            Step::Read(name, offset, len) => {
                let mut out = vec![0; *len];
                dir.open_read(name)?.read_at(*offset, &mut out)?;
                return Ok(format!("{out:?}"));
            }
            Step::Look => return Ok(self.look()),
        }
        Ok(String::new())
    }

    /// Names, lengths and contents.
    fn look(&self) -> String {
        let mut names = self.dir.list().unwrap();
        names.sort();
        let file = |name: &String| {
            let size = self.dir.size_of(name).unwrap().unwrap();
            let mut bytes = vec![0; usize::try_from(size).unwrap()];
            let file = self.dir.open_read(name).unwrap();
            file.read_at(0, &mut bytes).unwrap();
            (name.clone(), size, xxhash_rust::xxh3::xxh3_64(&bytes))
        };
        format!("{:?}", names.iter().map(file).collect::<Vec<_>>())
    }
}

/// Renaming a file over another name of itself does nothing on POSIX and removes the first name
/// elsewhere; no engine does it, so traces do not either.
fn is_alias(dir: &dyn Dir, linked: &BTreeSet<&str>, step: &Step) -> bool {
    match step {
        Step::Rename(from, to) => {
            let both = linked.contains(from) && linked.contains(to);
            both && from != to && dir.size_of(to).is_ok_and(|size| size.is_some())
        }
        _ => false,
    }
}

/// Runs in memory if possible, where a sync costs nothing; logs are not mapped there.
#[test]
fn ten_thousand_traces_equal_the_real_file_system() {
    let memory = Path::new("/dev/shm");
    let temp = tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir());
    traces(temp.unwrap().path(), 0..10_000);
}

#[test]
fn traces_equal_the_real_file_system_on_a_disk() {
    traces(tempfile::tempdir().unwrap().path(), 10_000..10_300);
}

fn traces(path: &Path, seeds: std::ops::Range<u64>) {
    let real = RealEnv::new();
    let dir = real.open_dir(path, false).unwrap();
    for seed in seeds {
        let sim = SimEnv::new(seed);
        let mut random = Random::new(seed);
        let mut ours = Player::new(sim.open_dir(Path::new("db"), true).unwrap());
        let mut theirs = Player::new(dir.clone());
        let mut linked = BTreeSet::new();
        for index in 0..20 {
            let step = Step::draw(&mut random);
            if is_alias(&*ours.dir, &linked, &step) {
                continue;
            }
            if let Step::Link(from, to) = step {
                linked.extend([from, to]);
            } else if let Step::Rename(from, to) = step
                && linked.contains(from)
            {
                linked.insert(to);
            }
            let (found, expected) = (ours.play(&step), theirs.play(&step));
            assert_eq!(found, expected, "seed {seed}, step {index}: {step:?}");
        }
        assert_eq!(ours.look(), theirs.look(), "seed {seed}");
        for name in dir.list().unwrap() {
            dir.unlink(&name).unwrap();
        }
    }
}

/// A naive model of what a weak crash may leave: for each inode, any content that a sector had
/// since the last sync and any length; for each name, any file to which it ever referred.
#[derive(Default)]
struct Allowed {
    /// By name, for files that keep their names.
    sectors: BTreeMap<&'static str, BTreeMap<u64, BTreeSet<[u8; 512]>>>,
    lengths: BTreeMap<&'static str, (u64, u64)>,
    exists: BTreeMap<&'static str, bool>,
}

fn padded(bytes: &[u8], index: u64) -> [u8; 512] {
    let start = usize::try_from(index).unwrap() * 512;
    let mut sector = [0; 512];
    let end = bytes.len().min(start + 512);
    if start < end {
        sector[..end - start].copy_from_slice(&bytes[start..end]);
    }
    sector
}

impl Allowed {
    /// Records the visible bytes of a file after an operation, or as its only state after a sync.
    fn note(&mut self, name: &'static str, bytes: &[u8], synced: bool) {
        let sectors = self.sectors.entry(name).or_default();
        let len = bytes.len() as u64;
        if synced {
            sectors.clear();
        }
        for index in 0..len.div_ceil(512) {
            sectors
                .entry(index)
                .or_default()
                .insert(padded(bytes, index));
        }
        let (least, most) = self.lengths.entry(name).or_insert((0, len));
        if synced {
            *least = len;
        }
        *most = len;
    }

    fn holds(&self, name: &str, found: Option<&[u8]>, fill: Fill) -> bool {
        let Some(bytes) = found else {
            return !self.exists[name];
        };
        let len = bytes.len() as u64;
        let (least, most) = self.lengths[name];
        let sectors = &self.sectors[name];
        let any_fill = fill != Fill::Zeros;
        (least..=most).contains(&len)
            && (0..len.div_ceil(512)).all(|index| {
                let found = padded(bytes, index);
                let gap = index * 512 >= least;
                let cut = |known: &[u8; 512]| {
                    let mut known = *known;
                    let end = usize::try_from((len - index * 512).min(512)).unwrap();
                    known[end..].fill(0);
                    known == found
                };
                // Zeros grown into the sector that held the synced end are legal as well.
                let known = sectors.get(&index).is_some_and(|all| all.iter().any(cut));
                known || (gap && (any_fill || found == [0; 512]))
            })
    }
}

#[test]
fn no_weak_crash_leaves_more_than_the_naive_model_allows() {
    let (mut images, mut differing) = (0, 0);
    for seed in 0..1000 {
        let mut random = Random::new(seed);
        let env = SimEnv::new(seed);
        let dir = env.open_dir(Path::new("db"), true).unwrap();
        let mut allowed = Allowed::default();
        let (file, log) = ("f.tbl", "l.log");
        let mut writer = dir.create(file).unwrap();
        let region = dir.create_log(log, LOG_BYTES).unwrap();
        allowed.exists = BTreeMap::from([(file, false), (log, false)]);
        allowed.note(file, b"", true);
        allowed.note(log, b"", true);
        allowed.note(log, &vec![0; usize::try_from(LOG_BYTES).unwrap()], false);
        for _ in 0..random.index(12) {
            let bytes = vec![random.next_u64().to_le_bytes()[0] | 1; random.index(1300)];
            match random.below(6) {
                0 => dir.sync().unwrap(),
                1 => writer.sync().unwrap(),
                2 => region.sync().unwrap(),
                3 => writer.append(&bytes).unwrap(),
                _ => {
                    // Written as one part, so that the model knows every sector state.
                    let at = random.below(LOG_BYTES - 1300);
                    region
                        .write(at, &[&bytes[..bytes.len().min(8)]], false)
                        .unwrap();
                }
            }
            let last = env.ops().last().cloned().unwrap();
            let synced = |name| last.kind == OpKind::SyncFile && last.name == name;
            for name in [file, log] {
                let bytes = env.read_file(&Path::new("db").join(name)).unwrap();
                allowed.note(name, &bytes, synced(name));
            }
            if last.kind == OpKind::SyncDir {
                allowed.exists = BTreeMap::from([(file, true), (log, true)]);
            }
        }
        let mut hashes = BTreeSet::new();
        for state in env.crash_states(Profile::Weak, seed, 150) {
            images += 1;
            for name in [file, log] {
                let found = state.image.read_file(&Path::new("db").join(name));
                let holds = allowed.holds(name, found.as_deref(), state.choice.fill);
                assert!(holds, "seed {seed}, {name}, {:?}", state.choice);
            }
            hashes.insert(state.hash);
        }
        differing += hashes.len();
        assert!(env.crash_states(Profile::Strict, seed, 9).count() == 1);
    }
    assert_eq!(images, differing, "states are distinct");
    assert!(
        images > 20_000,
        "{images} states were held against the model"
    );
}
