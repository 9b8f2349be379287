//! Tests of names: printing, parsing, and rejected names.

use super::*;

#[test]
fn every_kind_survives_printing_and_parsing() {
    let numbered = [FileKind::Manifest, FileKind::Log, FileKind::Table];
    for make in numbered
        .into_iter()
        .chain([FileKind::Value, FileKind::Temp])
    {
        for number in [0, 1, 999_999, 1_000_000, u64::MAX] {
            let kind = make(FileNumber(number));
            assert_eq!(FileKind::parse(&kind.to_string()), Some(kind));
            assert_eq!(kind.number(), Some(FileNumber(number)));
        }
    }
    assert_eq!(FileKind::parse("LOCK"), Some(FileKind::Lock));
    assert_eq!(FileKind::parse("CURRENT"), Some(FileKind::Current));
    assert_eq!(FileKind::Lock.number(), None);
}

#[test]
fn names_are_as_documented() {
    assert_eq!(manifest(FileNumber(1)), "MANIFEST-000001");
    assert_eq!(log(FileNumber(2)), "000002.log");
    assert_eq!(table(FileNumber(3)), "000003.tbl");
    assert_eq!(value(FileNumber(4)), "000004.val");
    assert_eq!(temp(FileNumber(12_345_678)), "12345678.tmp");
}

#[test]
fn other_names_are_not_ours() {
    let foreign = "|.|..|lock|CURRENT |MANIFEST-|MANIFEST-1|MANIFEST-00001|MANIFEST-0000001|\
                   MANIFEST-+00001|MANIFEST-000001\n|MANIFEST-../../x|\
                   MANIFEST-18446744073709551616|MANIFEST-100000000000000000000|\
                   000001|000001.|000001.ldb|000001.sst|000001.log.1|000001.LOG|1.log|0000001.log|\
                   -00001.log|00000a.log|00000\u{661}.log|/000001.log|000001.tbl/|\0.tbl|\
                   leveldb-original|LOG|LOG.old|IDENTITY| 000001.log|000001 .log";
    for name in foreign.split('|') {
        assert_eq!(FileKind::parse(name), None, "{name:?}");
    }
}

proptest::proptest! {
    #[test]
    fn parsing_accepts_only_what_printing_makes(name in "(MANIFEST-)?[0-9]{0,22}(\\.(log|tbl|val|tmp))?") {
        if let Some(kind) = FileKind::parse(&name) {
            proptest::prop_assert_eq!(kind.to_string(), name);
        }
    }
}
