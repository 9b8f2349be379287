//! The example of the layout in `testdata/golden/`.

use std::fmt::Write;

use cairndb_base::Result;
use cairndb_env::implement::SharedHeap;

use crate::layout::{LogPosition, Needs, WORDS};
use crate::log_reader::{LogWish, SharedLog};
use crate::request::{Answer, Request};
use crate::shared::Shared;
use crate::slot::{Pin, Slot};
use crate::sync::Ordering;

/// A writer that has announced a manifest and a seal and published a record, and a follower with
/// one view that needs the log and asks for a lease.
#[test]
fn the_words_are_those_of_the_golden_file() -> Result<()> {
    let file = SharedHeap::new(WORDS);
    let words = file.open(0);
    let [writer, follower] = [11, 12].map(|process| Shared::set_up(file.open(process), "SHARED"));
    let (writer, follower) = (writer?, follower?);
    assert!(writer.become_writer()?);
    writer.begin_session(7, 640, (90, 110));
    writer.announce(7, 700);
    writer.announce_seal(120);
    writer.publish(LogPosition::new(3, 4096));
    let slot = Slot::take(&follower)?.expect("the words are writable");
    let generation = slot.begin_reading();
    let needs = Needs {
        generation,
        next_file: 25,
    };
    let _pin = Pin::new(Some(&slot), needs);
    slot.lease_until(9_000_000_000);
    slot.end_reading();
    slot.hold_log(&LogWish {
        after: 110,
        lease: None,
        bytes_max: 3 << 20,
        interval_us: 100_000,
    });
    let asked = SharedLog::of(&follower).ask(&Request::Lease {
        name: "search-index".to_owned(),
        after: Some(110),
        bytes_max: 3 << 20,
    })?;
    assert!(asked.is_some());
    let (ticket, _) = SharedLog::of(&writer).requested().expect("it was asked");
    SharedLog::of(&writer).answer(ticket, Answer::FellOff);
    let mut found = String::new();
    for (at, word) in words.iter().enumerate() {
        let word = word.load(Ordering::Relaxed);
        if word != 0 {
            let bytes = word.to_le_bytes().map(|byte| format!("{byte:02x}"));
            let _ = writeln!(found, "{at}: {}", bytes.join(" "));
        }
    }
    let golden = include_str!("../../../testdata/golden/shared-v1.hex");
    let lines = golden.lines().filter_map(|line| line.split('#').next());
    let lines = lines.map(str::trim).filter(|line| !line.is_empty());
    let expected: Vec<&str> = lines.collect();
    assert_eq!(found.lines().collect::<Vec<_>>(), expected);
    Ok(())
}
