//! Runs the policy on the scripts in `testdata/scripts/policy`.
//!
//! ```text
//! next WHO [FACT ...] [last=TASK] [fruitless=TASK,...]
//!     prints the task that the policy chooses, or `wait`
//! tries WHO [FACT ...]
//!     prints the tasks that it chooses one after the other if each finds nothing
//! ```
//!
//! `WHO` is `worker`, `syncer`, `all` or `emptying`; a `FACT` is the name of a field of `Facts` or
//! `Caller`, with hyphens.

use std::path::Path;

use cairndb_scripts::{Command, run_folder};

use super::{ALL, Caller, EMPTYING, Facts, SYNCER, Task, Tasks, WORKER, next};

const TASKS: [Task; 17] = [
    Task::TendReserve,
    Task::FreeSpace,
    Task::Flush,
    Task::FlushDeletes,
    Task::Compact,
    Task::CompactIdle,
    Task::Squeeze,
    Task::RelocateUnderLoad,
    Task::Reap,
    Task::SealForSpace,
    Task::FlushAll,
    Task::RelocateIdle,
    Task::DropValues,
    Task::RetakeReserve,
    Task::TrimSpares,
    Task::Persist,
    Task::PrepareSpare,
];

fn task(name: &str) -> Result<Task, String> {
    let found = TASKS.iter().find(|task| format!("{task:?}") == name);
    found.copied().ok_or_else(|| format!("no task `{name}`"))
}

fn facts(command: &mut Command) -> Result<Facts, String> {
    let mine = match &*command.word()? {
        "worker" => WORKER,
        "syncer" => SYNCER,
        "all" => ALL,
        "emptying" => EMPTYING,
        other => return Err(format!("`{other}` is not worker, syncer, all or emptying")),
    };
    let last = command.value::<String>("last")?;
    let fruitless = command.value::<String>("fruitless")?.unwrap_or_default();
    let fruitless = fruitless.split(',').filter(|name| !name.is_empty());
    let fruitless = fruitless
        .map(task)
        .try_fold(Tasks::NONE, |set, found| found.map(|found| set.with(found)))?;
    Ok(Facts {
        caller: Caller {
            mine,
            fruitless,
            last: last.as_deref().map(task).transpose()?,
            after_pause: command.flag("after-pause"),
            rested: command.flag("rested"),
            persisted: command.flag("persisted"),
        },
        paused: command.flag("paused"),
        reserve_due: command.flag("reserve-due"),
        nearly_full: command.flag("nearly-full"),
        flush_due: command.flag("flush-due"),
        can_flush: command.flag("can-flush"),
        compaction: command.flag("compaction"),
        idle_compaction: command.flag("idle-compaction"),
        others_work: command.flag("others-work"),
        hurrying: command.flag("hurrying"),
        quiet: command.flag("quiet"),
        persist_due: command.flag("persist-due"),
    })
}

fn shown(task: Option<Task>) -> String {
    task.map_or("wait".to_owned(), |task| format!("{task:?}"))
}

fn run(command: &mut Command) -> Result<String, String> {
    let mut facts = facts(command)?;
    match &*command.name {
        "next" => Ok(shown(next(&facts))),
        "tries" => {
            let mut tried = Vec::new();
            while let Some(task) = next(&facts) {
                tried.push(format!("{task:?}"));
                assert!(
                    !facts.caller.fruitless.contains(task),
                    "{task:?} is tried again"
                );
                facts.caller.fruitless = facts.caller.fruitless.with(task);
                facts.caller.last = Some(task);
            }
            tried.push("wait".to_owned());
            Ok(tried.join("\n"))
        }
        other => Err(format!("unknown command `{other}`")),
    }
}

#[test]
fn the_policy_does_what_the_scripts_expect() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    run_folder(&root.join("../../testdata/scripts/policy"), || run);
}
