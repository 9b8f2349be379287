//! Every error of the simulated environment names its path: each kind of operation under each fault
//! that gives an error, and after a loss of power. See `cairndb_env::testing::naming`.

use std::path::Path;
use std::sync::Arc;

use cairndb_base::Result;
use cairndb_env::testing::naming::{About, SPAWN, Walk, walk_what_all_refuse};
use cairndb_env::{
    Access, Background, Dir, Env, FileSync, LogRegion, MemEnv, ReadFile, WritableFile,
};

use super::super::*;

const PATH: &str = "/db";
const TO: &str = "/to";

/// All objects that an operation can concern.
struct World {
    env: Arc<SimEnv>,
    dir: Arc<dyn Dir>,
    to: Arc<dyn Dir>,
    writer: Box<dyn WritableFile>,
    syncer: Arc<dyn FileSync>,
    reader: Arc<dyn ReadFile>,
    log: Arc<dyn LogRegion>,
}

impl World {
    fn new() -> World {
        let env = SimEnv::new(1);
        let dir = env.open_dir(Path::new(PATH), true).unwrap();
        let to = env.open_dir(Path::new(TO), true).unwrap();
        let mut writer = dir.create("f").unwrap();
        writer.append(b"bytes").unwrap();
        dir.create_log("old", 512).unwrap();
        World {
            syncer: writer.syncer(),
            reader: dir.open_read("f").unwrap(),
            log: dir.create_log("l", 4096).unwrap(),
            writer,
            env,
            dir,
            to,
        }
    }

    /// Makes every call that is an operation of this kind; all of them must fail.
    fn fail(&mut self, kind: OpKind, walk: &mut Walk) {
        let (path, to) = (Path::new(PATH), Path::new(TO));
        let here = |name| About::File(path, name);
        let (dir, whole) = (&*self.dir, About::Directory(path));
        let mut fails = |call, about, result: Result<()>| walk.fails(call, about, result);
        match kind {
            OpKind::OpenDir => {
                let other = Path::new("/other");
                let opened = self.env.open_dir(other, true).map(drop);
                fails("Env::open_dir", About::Directory(other), opened);
            }
            OpKind::Lock => {
                fails("Dir::lock", here("LOCK"), dir.lock("LOCK").map(drop));
                let shared = dir.lock_shared("LOCK").map(drop);
                fails("Dir::lock_shared", here("LOCK"), shared);
                let state = dir.lock_state("LOCK").map(drop);
                fails("Dir::lock_state", here("LOCK"), state);
            }
            OpKind::List => fails("Dir::list", whole, dir.list().map(drop)),
            OpKind::SizeOf => fails("Dir::size_of", here("f"), dir.size_of("f").map(drop)),
            OpKind::Create => fails("Dir::create", here("new"), dir.create("new").map(drop)),
            OpKind::OpenRead => fails("Dir::open_read", here("f"), dir.open_read("f").map(drop)),
            OpKind::CreateLog | OpKind::FillLog => {
                let made = dir.create_log("new", 512).map(drop);
                fails("Dir::create_log", here("new"), made);
            }
            OpKind::OpenLog => fails("Dir::open_log", here("old"), dir.open_log("old").map(drop)),
            OpKind::Append => {
                let appended = self.writer.append(b"more");
                fails("WritableFile::append", here("f"), appended);
                let appended = self.writer.append_parts(&[b"and", b"more"]);
                fails("WritableFile::append_parts", here("f"), appended);
            }
            OpKind::WriteLog => {
                let written = self.log.write(0, &[b"record"], false);
                fails("LogRegion::write", here("l"), written);
            }
            OpKind::SyncFile => {
                fails("WritableFile::sync", here("f"), self.writer.sync());
                fails("FileSync::sync", here("f"), self.syncer.sync());
                fails("LogRegion::sync", here("l"), self.log.sync());
                fails("Dir::sync_file", here("f"), dir.sync_file("f"));
            }
            OpKind::ReadAt => {
                let read = self.reader.read_at(0, &mut [0; 5]);
                fails("ReadFile::read_at", here("f"), read);
            }
            OpKind::Map => {
                let mapped = self.reader.map(5, Access::Random).map(drop);
                fails("ReadFile::map", here("f"), mapped);
            }
            OpKind::Rename => fails("Dir::rename", here("f"), dir.rename("f", "g")),
            OpKind::Unlink => fails("Dir::unlink", here("f"), dir.unlink("f")),
            OpKind::Link => {
                let linked = dir.link("f", &*self.to, "t").map(drop);
                fails("Dir::link", About::File(to, "t"), linked);
            }
            OpKind::SyncDir => fails("Dir::sync", whole, dir.sync()),
            OpKind::RemoveDir => fails("Dir::remove", whole, dir.remove()),
            OpKind::OpenShared => {
                let opened = dir.open_shared("s", 8, true).map(drop);
                fails("Dir::open_shared", here("s"), opened);
            }
            OpKind::RenameDir => {
                let other = Path::new("/other");
                let renamed = dir.rename_to(other);
                fails("Dir::rename_to", About::Directory(other), renamed);
            }
        }
    }
}

/// Returns whether the operation reports an error at once. Lists every effect, so that a new one
/// must be classified.
fn reports(effect: Effect) -> bool {
    match effect {
        Effect::Fails(_)
        | Effect::DoneButFails(_)
        | Effect::WritesPart(..)
        | Effect::ReadsShort
        | Effect::SyncKeepsCache
        | Effect::SyncDropsCache => true,
        Effect::SyncReportsLate | Effect::SyncLies => false,
    }
}

#[test]
fn every_error_names_its_path() {
    let foreign = MemEnv::new(Background::Stepped);
    let foreign = foreign.open_dir(Path::new(PATH), true).unwrap();
    let mut walk = walk_what_all_refuse(&*SimEnv::new(1), Path::new(PATH), &*foreign);
    for kind in OpKind::ALL {
        let effects = Cause::ALL.into_iter().flat_map(|cause| {
            [
                Effect::Fails(cause),
                Effect::DoneButFails(cause),
                Effect::WritesPart(Short::Half, cause),
            ]
        });
        let effects = effects.chain([
            Effect::ReadsShort,
            Effect::SyncKeepsCache,
            Effect::SyncDropsCache,
            Effect::SyncReportsLate,
            Effect::SyncLies,
        ]);
        for effect in effects.filter(|effect| effect.applies_to(kind) && reports(*effect)) {
            let mut world = World::new();
            world.env.inject(Fault::on(kind, "", effect).sticky());
            world.fail(kind, &mut walk);
        }
        let mut world = World::new();
        world.env.crash_at(world.env.op_count());
        world.fail(kind, &mut walk);
    }
    walk_late_errors(&mut walk);
    walk_a_full_disk(&mut walk);
    let space = ("Dir::space", "the simulated disk always knows it");
    walk.assert_complete(&[space, SPAWN]);
}

fn walk_late_errors(walk: &mut Walk) {
    let world = World::new();
    let late = Effect::SyncReportsLate;
    world.env.inject(Fault::on(OpKind::SyncFile, "", late));
    world.dir.sync_file("f").unwrap();
    let file = About::File(Path::new(PATH), "f");
    walk.fails("FileSync::sync", file, world.syncer.sync());
}

fn walk_a_full_disk(walk: &mut Walk) {
    let mut world = World::new();
    world.env.set_capacity(0);
    for kind in [OpKind::Append, OpKind::FillLog] {
        world.fail(kind, walk);
    }
}
