//! Files of an open database: how they are opened, shared, mapped, created and removed.

pub(crate) mod mapped_values;
pub(crate) mod mapping;
pub(crate) mod open_files;
pub(crate) mod opener;
pub(crate) mod reaper;
pub(crate) mod value_handle;
