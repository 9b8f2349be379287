//! Commands that show files, and that change them without the database.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use cairndb_format::log::{SegmentHeader, SegmentReader, Step};
use cairndb_scripts::Command;
use cairndb_sim::SimEnv;
use cairndb_testkit::oracle::PATH;

/// Returns the path of file `name`, in the database's directory unless `name` is a path.
fn path_of(name: &str) -> PathBuf {
    Path::new(PATH).join(name)
}

fn read(env: &SimEnv, name: &str) -> Result<Vec<u8>, String> {
    let bytes = env.read_file(&path_of(name));
    bytes.ok_or_else(|| format!("no file {name}"))
}

/// Returns the names of the files in all directories; names in the database's directory have no
/// path.
fn names(env: &SimEnv) -> String {
    let files = env.files().into_iter();
    let names = files.map(|(path, _)| {
        let short = path.strip_prefix(PATH).unwrap_or(&path);
        format!("{}\n", short.display())
    });
    names.collect()
}

/// Returns the records of a log segment up to the first invalid record.
fn records(bytes: &[u8]) -> Result<String, String> {
    let header = SegmentHeader::decode(bytes).map_err(|error| error.to_string())?;
    let mut text = format!("segment {}\n", header.segment);
    let mut reader = SegmentReader::new(bytes, &header);
    while let Step::Record(record) = reader.advance() {
        let count = record.count().map_err(|error| error.to_string())?;
        let (offset, seq, synced) = (record.offset, record.seq, record.synced);
        let _ = write!(text, "{offset}: {count} from {seq}, synced to {synced}");
        if record.gap > 0 {
            let _ = write!(text, ", after {} unlogged", record.gap);
        }
        text.push('\n');
    }
    Ok(text)
}

/// Runs `command` if it belongs to this module.
pub(crate) fn run(env: &SimEnv, command: &mut Command) -> Result<Option<String>, String> {
    let done = |changed: bool| {
        let answer = changed.then(String::new).map(Some);
        answer.ok_or_else(|| "this byte or file does not exist".to_owned())
    };
    match &*command.name.clone() {
        "ls" => Ok(Some(names(env))),
        "size" => Ok(Some(read(env, &command.word()?)?.len().to_string())),
        "log" => records(&read(env, &command.word()?)?).map(Some),
        "corrupt" => {
            let xor = command.value("xor")?.unwrap_or(1);
            let path = path_of(&command.word()?);
            done(env.corrupt(&path, number(command)?, xor))
        }
        "truncate" => {
            let path = path_of(&command.word()?);
            done(env.truncate(&path, number(command)?))
        }
        "remove" => done(env.delete(&path_of(&command.word()?))),
        "copy" => {
            let bytes = read(env, &command.word()?)?;
            env.write_file(&path_of(&command.word()?), &bytes);
            done(true)
        }
        "create" => {
            let path = path_of(&command.word()?);
            env.write_file(&path, command.word()?.as_bytes());
            done(true)
        }
        _ => Ok(None),
    }
}

fn number(command: &mut Command) -> Result<u64, String> {
    let text = command.word()?;
    text.parse().map_err(|_| format!("not a number: {text}"))
}
