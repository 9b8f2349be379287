//! `shell`: scripts on stdin, and a person at a pseudo-terminal.

use super::{NONE, cairn, cairn_with};
use crate::{place, write_table};

#[test]
fn a_script_carries_out_every_line() {
    let path = place("db");
    let script = "# a script\nput --create apple red\nput 'two words' 'two\nlines' # a comment\n\n\
                  delete apple\nput dash '-'\nscan\ncount --json\nexit\nnonsense\n";
    let text = cairn_with("shell", &path, &[], script.as_bytes()).done();
    assert_eq!(text, "dash\t-\ntwo words\ttwo\\nlines\n{\"count\":2}\n");
    let raw = cairn("get", &path, &["--raw", "two words"]);
    assert_eq!(raw.stdout, b"two\nlines");
    assert_eq!(cairn("shell", &path, NONE).done(), "", "an empty script");
}

#[test]
fn an_error_names_the_line_and_ends_the_script() {
    let path = place("db");
    write_table(&path, [("a", "1")]);
    for (script, code, parts) in [
        (
            "count\n\nput b 'x\ny'\nlook\nput c 3\n",
            2,
            ["line 5:", "look"],
        ),
        ("get a\nget missing\nput c 3\n", 1, ["line 2:", "missing"]),
        ("get a\nput c 'open\nand on\n", 2, ["line 2:", "quote"]),
        ("put c -\n", 2, ["line 1:", "stdin"]),
        ("shell\nput c 3\n", 2, ["line 1:", "inside"]),
    ] {
        cairn_with("shell", &path, &[], script.as_bytes()).ended(code, &parts);
        assert_eq!(cairn("get", &path, &["c"]).code, 1, "{script}");
    }
    let script = b"get missing\nlook\nget a\n";
    let ran = cairn_with("shell", &path, &["--keep-going"], script);
    assert_eq!(ran.ended(1, &["line 1:", "line 2:"]), "1\n");
}

#[test]
fn a_line_that_is_not_text_is_refused_with_its_number() {
    let path = place("db");
    write_table(&path, [("a", "1")]);
    cairn_with("shell", &path, &[], b"get a\nget \xff\n").ended(5, &["line 2"]);
}

#[cfg(target_os = "linux")]
mod terminal {
    use std::fs::File;
    use std::io::{Read, Write};
    use std::path::Path;
    use std::process::{Child, Command};
    use std::sync::mpsc::{Receiver, channel};
    use std::time::{Duration, Instant};

    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use rustix::termios::{Winsize, tcsetwinsize};

    use super::super::{NONE, cairn};
    use crate::{assert_has, home, write_table};

    /// Longest wait for what the shell prints.
    const PATIENCE: Duration = Duration::from_mins(1);

    /// A shell at a terminal of 80 columns and 10 rows.
    struct Session {
        keys: File,
        screen: Receiver<Vec<u8>>,
        seen: String,
        child: Child,
    }

    impl Session {
        fn start(path: &Path, state: &Path) -> Session {
            let keys = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
            grantpt(&keys).unwrap();
            unlockpt(&keys).unwrap();
            let size = Winsize {
                ws_col: 80,
                ws_row: 10,
                ws_xpixel: 0,
                ws_ypixel: 0,
            };
            tcsetwinsize(&keys, size).unwrap();
            let name = ptsname(&keys, Vec::new()).unwrap().into_string().unwrap();
            let end = || {
                let mut options = File::options();
                options.read(true).write(true).open(&name).unwrap()
            };
            let mut program = Command::new(env!("CARGO_BIN_EXE_cairn"));
            program.arg("shell").arg(path).env("XDG_STATE_HOME", state);
            program.env("TERM", "xterm").env("NO_COLOR", "1");
            program.stdin(end()).stdout(end()).stderr(end());
            let child = program.spawn().unwrap();
            // The command holds the other end of the terminal.
            drop(program);
            let keys = File::from(keys);
            let mut output = keys.try_clone().unwrap();
            let (sender, screen) = channel();
            std::thread::spawn(move || {
                let mut bytes = [0; 4096];
                // The terminal reports an error once the shell has ended.
                while let Ok(len @ 1..) = output.read(&mut bytes) {
                    if sender.send(bytes[..len].to_vec()).is_err() {
                        break;
                    }
                }
            });
            let seen = String::new();
            Session {
                keys,
                screen,
                seen,
                child,
            }
        }

        fn press(&mut self, keys: &str) {
            self.keys.write_all(keys.as_bytes()).unwrap();
        }

        /// Waits for a text, and returns what the shell has printed before it.
        fn wait_for(&mut self, text: &str) -> String {
            let end = Instant::now() + PATIENCE;
            loop {
                if let Some(at) = self.seen.find(text) {
                    let rest = self.seen.split_off(at + text.len());
                    let before = std::mem::replace(&mut self.seen, rest);
                    return before[..at].to_owned();
                }
                let left = end.saturating_duration_since(Instant::now());
                let bytes = self.screen.recv_timeout(left);
                let bytes = bytes.unwrap_or_else(|_| panic!("no {text:?} in {:?}", self.seen));
                self.seen.push_str(&String::from_utf8_lossy(&bytes));
            }
        }

        /// Waits until the shell reads a line. Each time, it asks the terminal to mark pasted
        /// text; keys pressed before would be interpreted by the terminal, not by the shell.
        fn wait_for_prompt(&mut self) -> String {
            self.wait_for("\u{1b}[?2004h")
        }

        /// Waits for the end of the shell, and returns its exit code.
        fn ends(mut self) -> i32 {
            self.child.wait().unwrap().code().expect("not killed")
        }
    }

    impl Drop for Session {
        /// Ends a shell whose test has failed.
        fn drop(&mut self) {
            let _ = self.child.kill();
        }
    }

    #[test]
    fn lines_are_completed_carried_out_and_kept() {
        let parent = &*home();
        let (path, state) = (parent.join("db"), parent.join("state"));
        let mut session = Session::start(&path, &state);
        session.wait_for("Ctrl-D ends");
        session.wait_for_prompt();
        session.press("pu\t--cr\tapple 'two\r");
        session.press("lines'\r");
        session.wait_for_prompt();
        session.press("get apple\r");
        session.wait_for("two\\nlines");
        session.wait_for_prompt();
        session.press("get plum\r");
        session.wait_for("\"plum\" is not in");
        session.wait_for_prompt();
        session.press("help scan\r");
        let help = session.wait_for("-- Enter");
        assert!(help.contains("Usage: scan [OPTIONS]"), "{help}");
        session.press("q");
        session.wait_for_prompt();
        session.press(" put secret value\r");
        session.wait_for_prompt();
        session.press("nonsense\u{3}");
        session.wait_for_prompt();
        session.press("exit\r");
        assert_eq!(session.ends(), 0);
        let history = std::fs::read_to_string(state.join("cairn/history")).unwrap();
        assert_has(&history, &["get plum"]);
        assert!(!history.contains("secret"), "{history}");
        assert_eq!(cairn("count", &path, NONE).done(), "2\n");
    }

    #[test]
    fn long_output_stops_at_each_page() {
        let parent = &*home();
        let (path, state) = (parent.join("db"), parent.join("state"));
        write_table(&path, (0..100u32).map(|n| (format!("{n:03}"), Vec::new())));
        let mut session = Session::start(&path, &state);
        session.wait_for_prompt();
        session.press("scan --keys-only\r");
        let page = session.wait_for("-- Enter");
        assert!(page.contains("008") && !page.contains("009"), "{page:?}");
        session.press("\r");
        let page = session.wait_for("-- Enter");
        assert!(page.contains("009") && page.contains("017"), "{page:?}");
        session.press("q");
        let rest = session.wait_for_prompt();
        assert!(!rest.contains("018"), "{rest:?}");
        session.press("\u{4}");
        assert_eq!(session.ends(), 0);
    }
}
