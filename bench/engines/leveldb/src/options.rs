//! LevelDB's options for given settings.

use std::ffi::c_int;

use bench_core::workload::settings::Settings;

/// Maximum number of files that LevelDB keeps open by default.
const OPEN_FILES_DEFAULT: u32 = 1000;
const BLOCK_BYTES_DEFAULT: u64 = 4 << 10;
const FILE_BYTES_DEFAULT: u64 = 2 << 20;

/// The options set on open. LevelDB cannot report them; these are the values passed to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chosen {
    pub(crate) write_buffer: usize,
    pub(crate) cache: usize,
    pub(crate) compression: bool,
    pub(crate) bloom_bits: Option<c_int>,
    pub(crate) block: usize,
    pub(crate) file: usize,
    pub(crate) files: c_int,
}

/// Converts a size to the library's `size_t`.
fn size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// Converts a count to the library's `int`.
fn int(count: u32) -> c_int {
    c_int::try_from(count).unwrap_or(c_int::MAX)
}

impl Chosen {
    pub(crate) fn new(settings: &Settings) -> Self {
        let files = settings.open_files.filter(|&files| files > 0);
        Self {
            write_buffer: size(settings.memory.write_bytes),
            cache: size(settings.memory.cache_bytes),
            compression: settings.compression,
            bloom_bits: settings.bloom_bits.filter(|&bits| bits > 0).map(int),
            block: size(settings.block_bytes.unwrap_or(BLOCK_BYTES_DEFAULT)),
            file: size(settings.file_bytes.unwrap_or(FILE_BYTES_DEFAULT)),
            files: int(files.unwrap_or(OPEN_FILES_DEFAULT)),
        }
    }

    /// Returns the options under LevelDB's own names.
    pub(crate) fn describe(&self) -> Vec<(String, String)> {
        let compression = if self.compression { "snappy" } else { "none" };
        let bloom_bits = self
            .bloom_bits
            .map_or("none".to_owned(), |bits| bits.to_string());
        let named = [
            ("write_buffer_size", self.write_buffer.to_string()),
            ("cache_size", self.cache.to_string()),
            ("compression", compression.to_owned()),
            ("bloom_bits", bloom_bits),
            ("block_size", self.block.to_string()),
            ("max_file_size", self.file.to_string()),
            ("max_open_files", self.files.to_string()),
        ];
        named
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bench_core::workload::settings::Memory;

    fn settings() -> Settings {
        Settings::plain(Memory::split(4 << 20, false))
    }

    #[test]
    fn no_bits_are_no_filter() {
        let reported = |bits| {
            let settings = Settings {
                bloom_bits: bits,
                ..settings()
            };
            Chosen::new(&settings).bloom_bits
        };
        assert_eq!(reported(None), None);
        assert_eq!(reported(Some(0)), None);
        assert_eq!(reported(Some(10)), Some(10));
    }

    #[test]
    fn four_megabytes_are_two_halves_with_snappy_and_no_filter() {
        let reported = Chosen::new(&settings()).describe();
        let reported: Vec<(&str, &str)> = reported
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        assert_eq!(
            reported,
            [
                ("write_buffer_size", "2097152"),
                ("cache_size", "2097152"),
                ("compression", "snappy"),
                ("bloom_bits", "none"),
                ("block_size", "4096"),
                ("max_file_size", "2097152"),
                ("max_open_files", "1000"),
            ]
        );
    }
}
