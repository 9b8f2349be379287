//! The machine and the process: memory, libraries, directories, kernel counters.

pub mod directory;
pub mod exit_status;
pub mod facts;
pub(crate) mod heap_profile;
pub mod library;
pub mod load_library;
pub mod local_peers;
pub mod lock_file;
pub mod memory_group;
pub mod page_cache;
pub mod process;
pub mod self_exe;
pub mod test_skip;
pub mod test_text;
