//! `copy`: its report.

use serde_json::Value;

use crate::arguments::Copy;
use crate::copy::copy as run;
use crate::failure::Result;
use crate::output::{counted, print, print_json};
use crate::range::Range;

/// Copies the entries of one store into another.
pub(super) fn copy(arguments: &Copy) -> Result<()> {
    let range = Range::read(&arguments.range, arguments.coding.into())?;
    let copied = run(arguments, &range)?;
    let (from, to, changed) = (copied.from, copied.to, copied.changed);
    let contents = copied.contents;
    let (entries, bytes, hash) = (contents.entries, contents.bytes, contents.hash);
    if arguments.json {
        let (from, to) = (Value::from(from), Value::from(to));
        return print_json(&format!(
            "{{\"from\":{from},\"to\":{to},\"entries\":{entries},\"bytes\":{bytes},\
             \"hash\":\"{hash:016x}\",\"changed\":{changed}}}"
        ));
    }
    let copied = counted(entries, "entry", "entries");
    let written = counted(changed, "key was", "keys were");
    let copied = format!("copied {copied} from {from} to {to}, hash {hash:016x}");
    let written = format!("{written} written or deleted");
    print(
        [copied]
            .into_iter()
            .chain((changed != entries).then_some(written)),
    )
}
