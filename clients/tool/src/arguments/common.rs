//! Arguments that several commands have.

use std::ffi::OsString;

use clap::Args;

/// How keys and values are written.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct CodingArguments {
    /// Read and print keys and values as hexadecimal digits.
    #[arg(long)]
    pub(crate) hex: bool,
    /// Read and print keys and values as Base64.
    #[arg(long, conflicts_with = "hex")]
    pub(crate) base64: bool,
}

/// The keyspace in which a command works.
#[derive(Args, Debug)]
pub(crate) struct KeyspaceArguments {
    /// Work in this keyspace instead of the default one.
    #[arg(long, value_name = "NAME")]
    pub(crate) keyspace: Option<String>,
}

impl KeyspaceArguments {
    /// Returns the name; `None` is the default keyspace.
    pub(crate) fn name(&self) -> Option<&str> {
        self.keyspace.as_deref()
    }
}

/// A range of keys.
#[derive(Args, Debug)]
pub(crate) struct RangeArguments {
    /// First key of the range.
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    pub(crate) from: Option<OsString>,
    /// End of the range: the first key that is not in it.
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    pub(crate) to: Option<OsString>,
    /// Only keys that begin with these bytes.
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true, conflicts_with_all = ["from", "to"])]
    pub(crate) prefix: Option<OsString>,
}
