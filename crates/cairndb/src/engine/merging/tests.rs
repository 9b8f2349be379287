//! Tables that are not on disk as they were written.

use std::path::Path;

use cairndb_base::{ErrorKind, FileNumber, Kind};
use cairndb_env::sim::SimEnv;
use cairndb_format::name;

use crate::engine::core::Core;
use crate::engine::install::MergePlan;
use crate::state::options::{Durability, Options};

#[test]
fn a_compaction_that_was_not_written_as_it_should_be_is_thrown_away() {
    let env = SimEnv::new(7);
    let options = Options::new().env(env.clone()).create_if_missing(true);
    let core = Core::open(&options, Path::new("/db")).expect("it opens");
    for round in 0..2_u8 {
        for n in 0..500_u32 {
            let key = (n * 2 + u32::from(round)).swap_bytes().to_le_bytes();
            core.write_one(Kind::Put, &key, &[round; 60], Durability::Os)
                .expect("the disk has room");
        }
        core.flush_all().expect("the disk has room");
    }
    let plan = {
        let mut state = core.state.lock();
        let inputs: Vec<_> = state
            .version
            .runs
            .iter()
            .map(|run| (**run).clone())
            .collect();
        assert_eq!(inputs.len(), 2);
        MergePlan {
            inputs,
            target: 99,
            bottom: true,
            waited_for: false,
            at_rest: false,
            relocation: None,
        }
        .begun(&mut state)
    };
    let mut whole = core.carry_out(&plan).expect("the inputs can be read");
    core.open_checked(&mut whole).expect("as it was written");
    whole.discard(&*core.dir);

    let mut outcome = core.carry_out(&plan).expect("the inputs can be read");
    let file = name::table(FileNumber(outcome.tables[0].record.file));
    let path = Path::new("/db").join(&file);
    // In the first data page, which opening the table does not look at.
    assert!(env.corrupt(&path, 2_000, 1));
    let error = core.open_checked(&mut outcome).expect_err("it is not");
    assert_eq!(error.kind(), ErrorKind::Corruption);
    assert_eq!(error.file_name(), Some(&*file));
    assert!(env.read_file(&path).is_none(), "nothing names it");
}
