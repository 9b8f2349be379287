//! `copy`: from the arguments to a job, and its report.

use crate::arguments::Copy;
use crate::copy::{Copied, Job, copy as run};
use crate::failure::Failure;
use crate::json::write_text;
use crate::output::{Output, counted};
use crate::range::Range;

/// Copies the entries of one store into another.
pub(super) fn copy(arguments: &Copy) -> Result<(), Failure> {
    let job = Job {
        from: arguments.source.clone(),
        to: arguments.target.clone(),
        range: Range::read(&arguments.range, arguments.coding.into())?,
        state: arguments.state.clone(),
        overwrite: arguments.overwrite,
        restart: arguments.restart,
        save_bytes: arguments.save_every,
        rate: arguments.rate_limit,
    };
    let copied = run(&job)?;
    let mut output = Output::stdout()?;
    if arguments.json {
        append_json(&copied, output.buffer());
        output.end_line()?;
    } else {
        let (contents, changed) = (copied.contents, copied.changed);
        output.line(&format!(
            "copied {} from {} to {}, hash {:016x}",
            counted(contents.entries, "entry", "entries"),
            copied.from,
            copied.to,
            contents.hash
        ))?;
        if changed != contents.entries {
            let changed = counted(changed, "key was", "keys were");
            output.line(&format!("{changed} written or deleted"))?;
        }
    }
    output.finish()
}

fn append_json(copied: &Copied, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"from\":");
    write_text(&copied.from, out);
    out.extend_from_slice(b",\"to\":");
    write_text(&copied.to, out);
    let (contents, changed) = (copied.contents, copied.changed);
    let rest = format!(
        ",\"entries\":{},\"bytes\":{},\"hash\":\"{:016x}\",\"changed\":{changed}}}",
        contents.entries, contents.bytes, contents.hash
    );
    out.extend_from_slice(rest.as_bytes());
}
