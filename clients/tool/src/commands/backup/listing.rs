//! `backups` and `verify-backup`: what can be restored, and what is damaged.

use std::time::{Duration, SystemTime};

use cairndb::Error;
use cairndb_backup::Moments;
use humantime::format_rfc3339_millis;
use serde_json::{Value, json};

use super::{failure, repository};
use crate::arguments::backup::Backups;
use crate::failure::{Failure, Result};
use crate::message::notify;
use crate::output::{Output, counted, print_json, size};
use crate::progress::watched;

/// Lists what can be restored.
pub(in crate::commands) fn backups(arguments: &Backups) -> Result<()> {
    let repository = repository(&arguments.at, false)?;
    let found = repository.backups().map_err(failure)?;
    let now = SystemTime::now();
    let looked = found.looked.map(|(time, _)| time);
    if arguments.json {
        print_json(
            &json!({
                "moments": found.moments.iter().map(json_of).collect::<Vec<Value>>(),
                "looked": looked.map(|time| format_rfc3339_millis(time).to_string()),
                "writer": found.writer,
                "ended": found.ended,
                "bases": found.bases,
                "damage": found.damage.iter().map(ToString::to_string).collect::<Vec<_>>(),
            })
            .to_string(),
        )?;
        return report_damage(&found.damage);
    }
    let mut output = Output::stdout()?;
    add_moments(&found.moments, &mut output)?;
    if let Some(looked) = looked {
        let age = now.duration_since(looked).unwrap_or_default();
        let age = humantime::format_duration(Duration::from_secs(age.as_secs()));
        let writer = found.writer.unwrap_or_default();
        let state = if found.ended {
            "ended"
        } else {
            "looked for changes"
        };
        output.line(&format!("{writer} {state} {age} ago"))?;
    }
    output.finish()?;
    report_damage(&found.damage)
}

fn json_of(moments: &Moments) -> Value {
    let time = |time: Option<SystemTime>| time.map(|time| format_rfc3339_millis(time).to_string());
    json!({
        "first": moments.first.to_string(),
        "last": moments.last.to_string(),
        "from": time(moments.from),
        "to": time(moments.to),
    })
}

/// Prints ranges of moments: from, to, first place, last place.
fn add_moments(moments: &[Moments], output: &mut Output) -> Result<()> {
    let time = |time: Option<SystemTime>| {
        time.map_or("-".to_owned(), |time| {
            format_rfc3339_millis(time).to_string()
        })
    };
    for range in moments {
        let line = format!(
            "{}\t{}\t{}\t{}",
            time(range.from),
            time(range.to),
            range.first,
            range.last
        );
        output.buffer().extend_from_slice(line.as_bytes());
        output.end_line()?;
    }
    Ok(())
}

/// Prints damage, and fails if there is any.
fn report_damage(damage: &[Error]) -> Result<()> {
    for error in damage {
        notify(&error.to_string());
    }
    if damage.is_empty() {
        return Ok(());
    }
    let damaged = counted(damage.len() as u64, "object is", "objects are");
    Err(Failure::damaged(format!(
        "{damaged} damaged or missing; the moments listed can be restored all the same. Back up \
         again, so that later ones do not need them"
    )))
}

/// Reads all objects.
pub(in crate::commands) fn verify(arguments: &Backups) -> Result<()> {
    let repository = repository(&arguments.at, false)?;
    let verified = watched("verifying", || repository.verify());
    let report = verified.map_err(failure)?;
    if arguments.json {
        print_json(
            &json!({
                "objects": report.objects,
                "bytes": report.bytes,
                "moments": report.moments.iter().map(json_of).collect::<Vec<Value>>(),
                "damage": report.damage.iter().map(|it| it.file_name()).collect::<Vec<_>>(),
            })
            .to_string(),
        )?;
    } else {
        let mut output = Output::stdout()?;
        add_moments(&report.moments, &mut output)?;
        let objects = counted(report.objects, "object", "objects");
        output.line(&format!("read {objects}, {}", size(report.bytes)))?;
        output.finish()?;
    }
    report_damage(&report.damage)
}
