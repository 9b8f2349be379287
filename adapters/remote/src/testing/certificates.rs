//! Certificates for tests of encrypted connections, made by the program `openssl`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::process::{find, in_path};

/// An authority, and a certificate of it for the address 127.0.0.1, which servers and clients
/// share.
#[derive(Debug)]
pub struct Certificates(TempDir);

impl Certificates {
    /// Makes new ones, or returns `None` if `openssl` is not installed.
    ///
    /// # Panics
    /// If it is installed and fails.
    pub fn new() -> Option<Certificates> {
        let openssl = find(in_path("openssl"))?;
        let directory = tempfile::tempdir().expect("a temporary directory");
        let made = Certificates(directory);
        let run = |arguments: &str| {
            let mut command = Command::new(&openssl);
            let command = command.args(arguments.split(' '));
            let output = command
                .current_dir(made.0.path())
                .stdin(Stdio::null())
                .output();
            let output = output.expect("openssl runs");
            let text = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "openssl {arguments}: {text}");
        };
        let new_key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
        run(&format!(
            "req -x509 {new_key} -keyout ca.key -out ca.pem -days 2 -subj /CN=authority"
        ));
        run(&format!(
            "req {new_key} -keyout own.key -out own.csr -subj /CN=cairn \
             -addext subjectAltName=IP:127.0.0.1 -addext extendedKeyUsage=serverAuth,clientAuth"
        ));
        run(
            "x509 -req -in own.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 \
             -copy_extensions copy -out own.pem",
        );
        Some(made)
    }

    /// Returns the file of the authority's certificate.
    pub fn ca(&self) -> PathBuf {
        self.0.path().join("ca.pem")
    }

    /// Returns the file of the shared certificate.
    pub fn cert(&self) -> PathBuf {
        self.0.path().join("own.pem")
    }

    /// Returns the file of its key.
    pub fn key(&self) -> PathBuf {
        self.0.path().join("own.key")
    }

    /// Copies the files of a server into `directory`, and returns the paths there.
    pub(super) fn copy_to(&self, directory: &Path) -> [String; 3] {
        [self.ca(), self.cert(), self.key()].map(|from| {
            let to = directory.join(from.file_name().expect("a file has a name"));
            let copied = Command::new("cp").args([&from, &to]).status();
            assert!(
                copied.is_ok_and(|status| status.success()),
                "{}",
                to.display()
            );
            to.to_string_lossy().into_owned()
        })
    }
}
