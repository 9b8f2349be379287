//! Arguments of `shell`.

use std::path::PathBuf;

use clap::Args;

#[derive(Args, Debug)]
pub(crate) struct Shell {
    /// Directory of the database.
    pub(crate) directory: PathBuf,
    /// Continue a script after a line that fails. The exit code is that of the first failure.
    #[arg(long)]
    pub(crate) keep_going: bool,
}
