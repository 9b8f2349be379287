use std::path::Path;

use cairndb_env::testing::conformance;

use super::*;

mod crash;
mod faults;
#[cfg(unix)]
mod honesty;
mod naming;
mod protocol;

#[test]
fn behaves_as_every_environment() {
    conformance::check(&*SimEnv::new(1), Path::new("/db"));
}
