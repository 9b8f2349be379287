//! The path with which a TreeDB is opened, which contains its settings.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use bench_core::fault::Fault;
use bench_core::workload::settings::Settings;

/// Uncompressed page size in bytes, as in the 2011 document.
const PAGE_BYTES_DEFAULT: u64 = 1 << 10;
/// Number of bytes of the file that are mapped, as in the 2011 document.
const MAP_BYTES: u64 = 256 << 20;
const FILE: &str = "data.kct";

/// The options with which a file was created, as bits of its status.
const SMALL: u64 = 1;
const LINEAR: u64 = 2;
const COMPRESS: u64 = 4;

/// Returns the uncompressed page size in bytes for these settings.
pub(crate) fn page_bytes(settings: &Settings) -> u64 {
    settings.block_bytes.unwrap_or(PAGE_BYTES_DEFAULT)
}

/// Returns the path with the tuning parameters appended: small records, linear chains, pages
/// compressed with LZO unless compression is off, and the whole memory as page cache.
pub(crate) fn tuned_path(dir: &Path, settings: &Settings) -> Result<CString, Fault> {
    let path = dir.join(FILE);
    if path.as_os_str().as_bytes().contains(&b'#') {
        return Err(Fault::new(format!(
            "{}: Kyoto Cabinet takes what follows a # as settings; name another directory with --db",
            dir.display()
        )));
    }
    let compression = if settings.compression {
        "c#zcomp=lzo"
    } else {
        ""
    };
    let page = page_bytes(settings);
    let cache = settings.memory.total_bytes;
    let tuning =
        format!("#type=kct#opts=sl{compression}#psiz={page}#pccap={cache}#msiz={MAP_BYTES}");
    let mut bytes = path.into_os_string().into_encoded_bytes();
    bytes.extend_from_slice(tuning.as_bytes());
    CString::new(bytes).map_err(|_| Fault::new("the directory's name contains a NUL byte"))
}

/// Returns the settings in effect, parsed from the library's status text.
pub(crate) fn describe(status: &str, autosync: bool) -> Vec<(String, String)> {
    let reported = |name: &str| {
        status
            .lines()
            .filter_map(|line| line.split_once('\t'))
            .find(|(key, _)| *key == name)
            .map(|(_, value)| value.to_owned())
    };
    let bits: u64 = reported("opts")
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    let words: Vec<&str> = [(SMALL, "small"), (LINEAR, "linear"), (COMPRESS, "compress")]
        .into_iter()
        .filter(|(bit, _)| bits & bit != 0)
        .map(|(_, word)| word)
        .collect();
    let compression = if bits & COMPRESS == 0 { "none" } else { "lzo" };
    let mut options = vec![
        ("options".to_owned(), words.join("+")),
        ("compression".to_owned(), compression.to_owned()),
    ];
    for (name, shown) in [
        ("psiz", "page_size"),
        ("pccap", "page_cache"),
        ("msiz", "map_size"),
        ("bnum", "buckets"),
        ("apow", "alignment_power"),
    ] {
        options.extend(reported(name).map(|value| (shown.to_owned(), value)));
    }
    options.push(("autosync".into(), u8::from(autosync).to_string()));
    options
}

#[cfg(test)]
mod tests {
    use super::*;
    use bench_core::workload::settings::Memory;

    fn settings(compression: bool) -> Settings {
        Settings {
            compression,
            ..Settings::plain(Memory::split(4 << 20, false))
        }
    }

    #[test]
    fn the_settings_of_2011_are_in_the_path() {
        let path = tuned_path(Path::new("/a"), &settings(true)).expect("a path");
        assert_eq!(
            path.to_str(),
            Ok("/a/data.kct#type=kct#opts=slc#zcomp=lzo#psiz=1024#pccap=4194304#msiz=268435456")
        );
        let plain = tuned_path(Path::new("/a"), &settings(false)).expect("a path");
        assert!(plain.to_string_lossy().contains("#opts=sl#psiz"));
    }

    #[test]
    fn a_directory_that_would_be_read_as_settings_is_refused() {
        let fault = tuned_path(Path::new("/a#opts=c"), &settings(true)).expect_err("refused");
        assert!(fault.to_string().contains("/a#opts=c"), "{fault}");
    }

    #[test]
    fn what_the_status_says_is_reported() {
        let reported = describe("apow\t8\nopts\t7\npccap\t4194304\npsiz\t1024\n", false);
        let words: Vec<String> = reported
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        assert_eq!(
            words.join(" "),
            "options=small+linear+compress compression=lzo page_size=1024 page_cache=4194304 \
             alignment_power=8 autosync=0"
        );
    }
}
