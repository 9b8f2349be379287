//! Room on a full disk.

pub(crate) mod make_room;
pub(crate) mod squeeze;
