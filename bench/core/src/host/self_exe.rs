//! The running program, as a file to start child processes from.

use std::path::PathBuf;
use std::{env, io};

/// The kernel's link to this process's program, valid even if the file was removed or replaced.
const SELF: &str = "/proc/self/exe";

/// First argument that makes `db_bench` a child; not for users. A child reads its plan from stdin.
pub const CHILD_WORD: &str = "--child-of-db-bench";

/// Returns the path to start this program again: its own path, or the kernel's link if the file was
/// removed or replaced (for example by `make build` while a suite runs).
///
/// # Errors
/// If the system does not report the path.
pub fn program() -> io::Result<PathBuf> {
    let path = env::current_exe()?;
    let kept = PathBuf::from(SELF);
    Ok(if !path.exists() && kept.exists() {
        kept
    } else {
        path
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::host::test_text::has;

    /// Environment variable that is set for the restarted program.
    const AGAIN: &str = "CAIRN_STARTED_AGAIN";

    fn child(program: &std::path::Path) -> Command {
        let mut command = Command::new(program);
        command.args(["--ignored", "--exact", "--nocapture"]);
        command.arg("host::self_exe::tests::removes_itself_and_starts_itself_again");
        command
    }

    #[test]
    fn a_program_whose_file_is_gone_starts_itself() {
        let home = tempfile::tempdir().expect("a directory");
        let copy = home.path().join("copy");
        std::fs::copy(program().expect("reported"), &copy).expect("copied");
        let output = child(&copy).output().expect("started");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{text}");
        has(&text, "here again");
        assert!(!copy.exists());
    }

    #[test]
    #[ignore = "started by the other test of this file"]
    fn removes_itself_and_starts_itself_again() {
        if env::var_os(AGAIN).is_some() {
            println!("here again");
            return;
        }
        std::fs::remove_file(program().expect("reported")).expect("removed");
        let mut again = child(&program().expect("reported"));
        assert!(again.env(AGAIN, "1").status().expect("started").success());
    }
}
