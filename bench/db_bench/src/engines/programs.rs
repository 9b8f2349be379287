//! Engines in separate programs: `db_bench` with one more engine, built by `make peers`.
//!
//! Such a program understands what a child of `db_bench` understands, so it is started where this
//! program would start itself, and building this program builds no other store. `--against` starts
//! another build of this program in the same way, as an engine with another name.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use bench_core::host::local_peers;
use bench_core::workload::plan::Program;

use super::extra;

/// Names of the engines. The program of each is called `db_bench-NAME`.
pub(crate) const NAMES: &[&str] = &["fjall", "tidesdb", "mdbx", "bftree"];

/// Those that run without being named. The others wait for a thread of theirs in each write, so
/// that a suite would take twice as long.
pub(crate) const UNNAMED: &[&str] = &["fjall", "mdbx"];

/// What follows the name of an engine that another build measures.
const AGAINST: &str = "-against";

/// The other build, and the engine that it measures.
static OTHER: OnceLock<(String, Program)> = OnceLock::new();

/// Adds an engine: `engine`, measured by the build of this program at `path`. Returns its name.
pub(crate) fn set_against(engine: &str, path: &Path) -> String {
    let program = Program {
        path: path.to_owned(),
        engine: engine.to_owned(),
    };
    OTHER
        .get_or_init(|| (format!("{engine}{AGAINST}"), program))
        .0
        .clone()
}

/// Returns the engine that another build measures as well, and its name there.
pub(crate) fn against() -> Option<[&'static str; 2]> {
    let (name, program) = OTHER.get()?;
    Some([&program.engine, name])
}

/// Returns the name of an engine's folder. Two builds that are compared have names of one length:
/// otherwise memory is laid out differently in them, and rows of one build with itself differed by
/// 3 to 5 % (Mytkowicz and others, "Producing wrong data without doing anything obviously wrong",
/// 2009).
pub(crate) fn folder(engine: &str) -> &str {
    match OTHER.get() {
        Some((name, _)) if name == engine => "that",
        Some((_, program)) if program.engine == engine => "this",
        _ => engine,
    }
}

/// Returns the name of an engine in this program.
pub(crate) fn own_name(engine: &str) -> &str {
    match OTHER.get() {
        Some((name, program)) if name == engine => &program.engine,
        _ => engine,
    }
}

/// Returns the program that measures an engine, if it is not this one and can be found.
pub(crate) fn of(engine: &str) -> Option<Program> {
    if let Some((name, program)) = OTHER.get()
        && name == engine
    {
        return Some(program.clone());
    }
    if !NAMES.contains(&engine) || extra::named(engine).is_some() {
        return None;
    }
    let file = format!("db_bench-{engine}");
    let here = std::env::current_exe().ok();
    let folder = here.and_then(|path| Some(path.parent()?.to_owned()));
    let mut folders = folder.into_iter().chain(local_peers::built());
    let path = folders.find_map(|folder| Some(folder.join(&file)).filter(|path| path.is_file()));
    path.map(|path: PathBuf| Program {
        path,
        engine: engine.to_owned(),
    })
}
