use super::*;
use bench_core::workload::settings::Memory;

const MIB: u64 = 1 << 20;

fn settings(total: u64, variant: Variant, durability: Durability) -> Settings {
    Settings {
        durability,
        variant,
        ..Settings::plain(Memory::split(total, false))
    }
}

#[test]
fn the_fair_variant_writes_its_log_to_the_system_and_checks_its_pages() {
    let fair = settings(4 * MIB, Variant::Fair, Durability::Os);
    let chosen = Chosen::new(TreeKind::Btree, &fair, Some(Path::new("/x/snappy.so")));
    assert_eq!(
        chosen.connection,
        "create,cache_size=4194304,eviction_dirty_target=5,eviction_dirty_trigger=20,\
         session_max=1200,statistics=(fast),log=(enabled=true,file_max=16777216),\
         transaction_sync=(enabled=true,method=none),checkpoint=(wait=60),\
         extensions=[\"/x/snappy.so\"]"
    );
    assert_eq!(
        chosen.table,
        "key_format=u,value_format=u,checksum=on,internal_page_max=4096,leaf_page_max=4096,\
         block_compressor=snappy,type=file"
    );
    assert!(!chosen.bulk && !chosen.zero_ended && chosen.compressed);
    let synced = settings(4 * MIB, Variant::Fair, Durability::Sync);
    let chosen = Chosen::new(TreeKind::Btree, &synced, None);
    assert!(chosen.connection.contains("method=fsync"), "{chosen:?}");
    assert!(!chosen.compressed && chosen.table.contains("block_compressor=none"));
}

#[test]
fn what_may_be_dirty_goes_by_shape_and_cache() {
    let reported = |kind, total| {
        let fair = settings(total, Variant::Fair, Durability::Os);
        Chosen::new(kind, &fair, None).connection
    };
    assert!(reported(TreeKind::Btree, 128 * MIB).contains("eviction_dirty_trigger=95"));
    assert!(reported(TreeKind::Lsm, 4 * MIB).contains("eviction_dirty_trigger=95"));
    assert!(reported(TreeKind::Lsm, 4 * MIB).contains("close_idle_time=1"));
    assert!(!reported(TreeKind::Btree, 4 * MIB).contains("close_idle_time"));
}

#[test]
fn the_seed_variant_is_that_of_the_engines_own_page() {
    let seed = settings(128 * MIB, Variant::Seed, Durability::Os);
    let chosen = Chosen::new(TreeKind::Lsm, &seed, Some(Path::new("/x/snappy.so")));
    assert_eq!(
        chosen.connection,
        "create,cache_size=134217728,eviction_dirty_target=80,eviction_dirty_trigger=95,\
         session_max=1200,statistics=(fast),extensions=[\"/x/snappy.so\"]"
    );
    assert_eq!(
        chosen.table,
        "key_format=S,value_format=S,prefix_compression=false,checksum=off,memory_page_max=120795955,\
         internal_page_max=16384,leaf_page_max=16384,block_compressor=snappy,\
         type=lsm,lsm=(chunk_size=20971520)"
    );
    assert!(chosen.bulk && chosen.zero_ended);
    let synced = settings(128 * MIB, Variant::Seed, Durability::Sync);
    let chosen = Chosen::new(TreeKind::Lsm, &synced, None);
    assert!(chosen.connection.contains("method=fsync"), "{chosen:?}");
    assert!(!chosen.bulk, "a bulk cursor writes no log");
}

#[test]
fn a_chunk_leaves_room_for_merges_in_a_small_cache() {
    let chunk = |total, block_bytes| {
        let settings = Settings {
            block_bytes,
            ..settings(total, Variant::Fair, Durability::Os)
        };
        let text = Chosen::new(TreeKind::Lsm, &settings, None).table;
        reported(&text, "chunk_size").map(str::to_owned)
    };
    // 4 MiB minus 45 pages of 4 KiB, divided by six.
    assert_eq!(chunk(4 * MIB, None).as_deref(), Some("668330"));
    assert_eq!(chunk(4 * MIB, Some(32 << 10)).as_deref(), Some("524288"));
    assert_eq!(chunk(32 * MIB, None).as_deref(), Some("5469525"));
    assert_eq!(chunk(MIB, None).as_deref(), Some("524288"));
}

#[test]
fn settings_are_found_by_their_whole_name() {
    let text = "app_metadata=,checksum=on,lsm=(auto_throttle=true,chunk_size=1MB),leaf_page_max=16KB,\
                old_leaf_page_max=4KB,type=lsm";
    assert_eq!(reported(text, "leaf_page_max"), Some("16KB"));
    assert_eq!(reported(text, "chunk_size"), Some("1MB"));
    assert_eq!(reported(text, "page_max"), None);
    let shown = describe(text, TreeKind::Btree);
    assert!(!shown.iter().any(|(name, _)| name == "chunk_size"));
    assert!(shown.contains(&("type".to_owned(), "lsm".to_owned())));
}
