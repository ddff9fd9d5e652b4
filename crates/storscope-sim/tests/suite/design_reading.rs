//! Designs as people write them, and the mistakes they make.

use storscope_sim::read_design;
use storscope_types::design::{Layout, ReadChoice};
use storscope_types::{Bytes, Nanos};

const SOUND: &str = r#"
name = "desk"
source = "a data sheet"

[drive.sata]
kind = "mechanical"
size = "1 TB"
turns_per_min = 7200
seek = { form = "data_sheet", track_to_track = "0.8 ms", average = "8.9 ms", full_stroke = "18 ms" }
outer_rate = "120 MB/s"
inner_rate = "60 MB/s"
overhead = "0.2 ms"

[[group]]
name = "g"
drive = "sata"
count = 46
spares = 2
layout = "raid10"
segment = "512 KiB"
read_choice = "shortest_queue"

[[volume]]
name = "v"
group = "g"
size = "10 TB"
owner = "a"

[[controller]]
name = "a"
cost_per_op = "50 us"
cost_per_kib = "0.5 us"

[cache]
write = { size = "512 MiB", low_watermark = "20 %" }

[links]
front_end = { preset = "iscsi1", ports = 2 }

[[host]]
name = "h"
[[host.volume]]
volume = "v"
queue_limit = 32

[[background]]
name = "scrub"
kind = "scrub"
group = "g"
start = "10m"
rate = "20 MB/s"

[[at]]
time = "30 s"
drive_fails = { group = "g", index = 3 }
"#;

#[test]
fn a_design_is_read_with_its_units() {
    let design = read_design(SOUND).expect("a sound design");
    assert_eq!(design.groups[0].layout, Layout::Raid10);
    assert_eq!(design.groups[0].segment, Bytes::from_kib(512));
    assert_eq!(design.groups[0].read_choice, Some(ReadChoice::ShortestQueue));
    assert_eq!(design.volumes[0].size, Bytes(10 << 40));
    assert!((design.controllers[0].cost_per_op_ns - 50_000.0).abs() < 1e-9);
    assert!((design.controllers[0].cost_per_kib_ns - 500.0).abs() < 1e-9);
    assert!((design.cache.expect("memory").write.expect("write-back").low_watermark - 0.2).abs() < 1e-12);
    assert_eq!(design.background[0].start, Some(Nanos(600_000_000_000)));
    assert_eq!(design.background[0].rate_bytes_per_s, Some(20e6));
    assert_eq!(design.changes[0].time, Nanos(30_000_000_000));
    assert!(design.links.front_end.and_then(|link| link.bandwidth()).is_some_and(|rate| rate > 117e6));
}

/// The error of the design with one text put for another.
fn error(old: &str, new: &str) -> String {
    assert!(SOUND.contains(old), "{old}");
    read_design(&SOUND.replacen(old, new, 1)).expect_err(new).to_string()
}

/// Each of the design's texts, put for another, is refused with what is expected of the message.
fn refuses(mistakes: &[(&str, &str, &str)]) {
    for (old, new, expected) in mistakes {
        let message = error(old, new);
        assert!(message.contains(expected), "{new}: {message}");
    }
}

#[test]
fn every_mistake_is_named_with_line_and_key() {
    refuses(&[
        ("count = 46", "cuont = 46", "line 17, column 9: group[0].cuont: expected one of name, drive, count"),
        ("count = 46", "count = 45", "line 17, column 9: group[0].count: expected a multiple of 2, found 45"),
        (
            "count = 46",
            "count = \"many\"",
            "line 17, column 9: group[0].count: expected a whole number, found \"many\"",
        ),
        ("\"raid10\"", "\"raid11\"", "line 19, column 10: group[0].layout: expected one of raid0, raid1"),
        (
            "segment = \"512 KiB\"",
            "segment = \"5 ms\"",
            "line 20, column 11: group[0].segment: expected a size, such as",
        ),
        (
            "cost_per_op = \"50 us\"",
            "cost_per_op = 50",
            "controller[0].cost_per_op: expected a duration with a unit, such as \"5 ms\", found 50",
        ),
        ("10 TB", "100 TB", "line 26, column 8: volume[0].size: expected at most the"),
        (
            "group = \"g\"\nsize",
            "group = \"x\"\nsize",
            "line 25, column 9: volume[0].group: expected the name of a group: g, found \"x\"",
        ),
        ("drive = \"sata\"", "drive = \"scsi\"", "line 16, column 9: group[0].drive: expected the name of a drive"),
        (
            "drive = \"sata\"",
            "drive = \"sat\"",
            "found \"sat\"; did you mean \"sata\"? The catalogue: storscope simulate --drives",
        ),
        ("drive = \"sata\"", "drive = \"7201-SATA\"", "did you mean \"7200-sata\"?"),
        ("drive = \"sata\"", "drive = \"tape\"", "drive: sata, or one of the catalogue, found \"tape\"; The catalogue"),
        ("7200", "72000", "drive.sata.turns_per_min: expected 1000 to 30000, found 72000"),
        ("overhead = \"0.2 ms\"", "", "line 5, column 8: drive.sata: expected the key overhead, found nothing"),
        (
            "0.8 ms",
            "19 ms",
            "drive.sata.seek: expected track_to_track <= average <= full_stroke, found 19 ms, 8.9 ms, 18 ms",
        ),
        ("kind = \"mechanical\"", "kind = \"magnetic\"", "drive.sata"),
        (
            "size = \"1 TB\"",
            "size = 1099511627776\nsize_bytes = 5",
            "drive.sata.size_bytes: expected each key once, found size_bytes, which means the same as size in line 7",
        ),
        ("volume = \"v\"", "volume = \"w\"", "host[0].volume[0].volume: expected the name of a volume: v, found \"w\""),
        ("low_watermark = \"20 %\"", "low_watermark = \"120 %\"", "cache.write.low_watermark: expected a ratio"),
        ("time = \"30 s\"", "time = \"30 s\"\ncache_lost = \"a\"", "at[0]: expected one of drive_fails"),
        ("index = 3", "index = 46", "at[0].drive_fails.index: expected 0 to 45, found 46"),
        ("[[host]]", "[[host]", "line 40, column 8: expected TOML, found unclosed array table"),
        ("name = \"desk\"", "name = \"desk\"\ncolour = \"red\"", "line 3, column 10: colour: expected one of name"),
    ]);
}

#[test]
fn a_number_without_a_unit_is_bytes_where_a_size_belongs_and_nowhere_else() {
    let plain = SOUND.replace("segment = \"512 KiB\"", "segment = 524288");
    assert_eq!(read_design(&plain), read_design(SOUND));
    assert!(error("rate = \"20 MB/s\"", "rate = 20").contains("a rate with a unit"));
}

#[test]
fn near_misses_get_a_hint() {
    assert!(error("count = 46", "cuont = 46").ends_with("did you mean count?"));
    assert!(error("[links]", "[linsk]").ends_with("did you mean links?"));
}

#[test]
fn impossible_geometry_is_refused() {
    for (layout, count, extra, key) in [
        ("raid6", 3, "", "count"),
        ("raid5", 2, "", "count"),
        ("raid50", 10, "", "width"),
        ("raid50", 10, "width = 4", "count"),
        ("raid60", 6, "width = 3", "width"),
        ("raid0", 4, "width = 2", "width"),
        ("raid10", 4, "redundancy = \"raid5\"", "redundancy"),
        ("pool", 4, "redundancy = \"raid5\"\nspares = 0", "count"),
        ("pool", 4, "redundancy = \"raid5\"\nwidth = 9\nspares = 0", "width"),
        ("raid50", 4, "width = 5", "width"),
        ("raid50", 5_000, "width = 5", "count"),
    ] {
        let new = format!("count = {count}\n{extra}");
        let text = SOUND
            .replace("spares = 2\n", if layout == "pool" { "" } else { "spares = 2\n" })
            .replace("count = 46", &new)
            .replace("\"raid10\"", &format!("\"{layout}\""));
        let error = read_design(&text).expect_err(layout);
        assert_eq!(error.key, format!("group[0].{key}"), "{layout} {count} {extra}: {error}");
    }
}

#[test]
fn drives_of_the_catalogue_are_known_by_name() {
    let text = SOUND.replace("drive = \"sata\"", "drive = \"samsung-f1-1tb\"").replace("10 TB", "1 TB");
    let design = read_design(&text).expect("a drive of the catalogue");
    assert!(design.drives.contains_key("samsung-f1-1tb"));
}

#[test]
fn what_would_be_ignored_or_make_no_sense_is_refused() {
    let second = "\n[[volume]]\nname = \"w\"\ngroup = \"g\"\nsize = \"1 TB\"\nstart = \"9 TB\"\n\n[[controller]]";
    let flash = "queue_limit = 32\nflash_cache = { size = \"1 GiB\", block = \"3 KiB\" }";
    refuses(&[
        ("\n[[controller]]", second, "volume[1].start: expected a place of its own: volume v takes 0 B to 10 TiB"),
        (
            "queue_limit = 32",
            "queue_limit = 32\n[[host.volume]]\nvolume = \"v\"",
            "host[0].volume[1].volume: expected each volume once",
        ),
        ("\"raid10\"", "\"raid5\"", "group[0].read_choice: expected nothing: only mirrors"),
        (
            "read_choice = \"shortest_queue\"",
            "parity_update = \"read_modify_write\"",
            "group[0].parity_update: expected nothing: only layouts with parity",
        ),
        ("low_watermark = \"20 %\"", "mirrored = true", "cache.write.mirrored: expected false, or a second controller"),
        ("queue_limit = 32", flash, "flash_cache.block: expected a power of two from 512 bytes to 128 KiB"),
        ("low_watermark = \"20 %\"", "run = \"1 GiB\"", "cache.write.run: expected 512 bytes to 64 MiB"),
        ("low_watermark = \"20 %\"", "order = \"random\"", "cache.write.order: expected"),
    ]);
    let pool = SOUND.replace("spares = 2\n", "").replace("\"raid10\"", "\"pool\"\nredundancy = \"raid1\"");
    assert!(read_design(&pool.replace("rate = \"20 MB/s\"", "chunk = \"512 KiB\"")).is_ok());
    let chunk = read_design(&pool.replace("rate = \"20 MB/s\"", "chunk = \"1 MiB\"")).expect_err("chunk").to_string();
    assert!(chunk.contains("background[0].chunk: expected nothing: stripes of a pool"), "{chunk}");
}

#[test]
fn volumes_may_be_beside_each_other_in_any_order() {
    let second = "\n[[volume]]\nname = \"w\"\ngroup = \"g\"\nsize = \"1 TB\"\nstart = \"0 B\"\n\n[[controller]]";
    let text = SOUND.replace("owner = \"a\"", "start = \"1 TB\"").replace("\n[[controller]]", second);
    assert!(read_design(&text).is_ok());
}

#[test]
fn values_of_the_wrong_kind_are_told_in_words_of_toml() {
    refuses(&[
        ("count = 46", "count = \"46\"", "group[0].count: expected a whole number, found \"46\""),
        ("count = 46", "count = 4.5", "group[0].count: expected a whole number, found 4.5"),
        ("count = 46", "count = -1", "group[0].count: expected a whole number of at least 0, found -1"),
        ("turns_per_min = 7200", "turns_per_min = true", "turns_per_min: expected a number, found true"),
        ("owner = \"a\"", "owner = 1", "volume[0].owner: expected a text in quotes, found 1"),
        ("layout = \"raid10\"", "layout = 10", "group[0].layout: expected a name in quotes, or a table"),
        ("[[controller]]", "[controller]", "controller: expected a list, or tables in double brackets"),
        ("write = {", "read = 5\nwrite = {", "cache.read: expected a table, such as { key = value }, found 5"),
        ("write = {", "read = \"x\"\nwrite = {", "cache.read: expected a table, such as { key = value }, found \"x\""),
    ]);
}
