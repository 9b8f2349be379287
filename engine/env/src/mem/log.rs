//! Log regions in memory.

use std::sync::Arc;

use cairndb_base::Result;

use super::file::MemFile;
use crate::file::LogRegion;
use crate::implement::Mirror;

#[derive(Debug)]
pub(super) struct MemLog {
    pub(super) file: Arc<MemFile>,
    pub(super) len: u64,
    pub(super) mirror: Option<Mirror>,
    pub(super) _alone: Arc<()>,
}

impl LogRegion for MemLog {
    fn size(&self) -> u64 {
        self.len
    }

    fn write(&self, offset: u64, parts: &[&[u8]], _sync_next: bool) -> Result<()> {
        let mut shared = self.file.bytes.lock();
        let bytes = Arc::make_mut(&mut shared);
        let mut at = usize::try_from(offset).expect("a log write lies within its region");
        for part in parts {
            let end = at + part.len();
            bytes[at..end].copy_from_slice(part);
            at = end;
        }
        if let Some(mirror) = &self.mirror {
            mirror.write(offset, parts);
        }
        Ok(())
    }

    fn bytes(&self, offset: u64, len: usize) -> Option<&[u8]> {
        let mirror = self.mirror.as_ref();
        mirror.map(|mirror| mirror.bytes(offset, len))
    }

    fn reuse(&mut self) {
        self.mirror.iter_mut().for_each(Mirror::reuse);
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn warm(&self) {}
}
