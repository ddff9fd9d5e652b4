//! What engineers write in designs by habit or by a slip, and what they are told.

use storscope_sim::read_design;

const SOUND: &str = r#"name = "desk"

[drive.nl]
kind = "mechanical"
size = "1 TB"
turns_per_min = 7200
seek = { form = "data_sheet", track_to_track = "0.8 ms", average = "8.5 ms", full_stroke = "16 ms" }
outer_rate = "115 MB/s"
inner_rate = "60 MB/s"
overhead = "0.3 ms"
queueing = { gamma = 0.68, depth = 32 }

[[group]]
name = "g"
drive = "nl"
count = 24
spares = 1
layout = "raid10"
segment = "512 KiB"

[[volume]]
name = "v"
group = "g"
size = "2 TiB"
owner = "A"

[[controller]]
name = "A"
servers = 2

[[controller]]
name = "B"

[cache]
write = { size = "1 GiB", mirrored = true }
read = { size = "2 GiB" }

[links]
front_end = { preset = "fc4", ports = 2 }
mirror = { bandwidth = "400 MB/s" }

[[host]]
name = "h"
queue_limit = 128
volumes = [{ volume = "v", queue_limit = 32 }]

[[background]]
name = "rebuilding"
kind = "rebuild"
group = "g"
rate = "20 MB/s"

[[at]]
time = "30 s"
drive_fails = { group = "g", index = 3 }
"#;

/// Each of the design's texts, put for another, is refused in these words.
fn is_told(mistakes: &[(&str, &str, &str)]) {
    assert!(read_design(SOUND).is_ok(), "{:?}", read_design(SOUND));
    for (old, new, said) in mistakes {
        assert!(SOUND.contains(old), "{old}");
        let error = read_design(&SOUND.replacen(old, new, 1)).expect_err(new).to_string();
        assert!(error.contains(said), "{new}: {error}");
    }
}

#[test]
fn keys_in_other_words_are_told_in_those_of_designs() {
    is_told(&[
        ("segment =", "stripe =", "line 19, column 10: group[0].stripe: expected one of name, drive"),
        ("segment =", "stripe =", "did you mean segment?"),
        ("segment =", "chunk_size =", "did you mean segment?"),
        ("size = \"2 TiB\"", "capacity = \"2 TiB\"", "volume[0].capacity: expected one of name, group, size"),
        ("size = \"2 TiB\"", "capacity = \"2 TiB\"", "did you mean size?"),
        ("count = 24", "disks = 24", "did you mean count?"),
        ("layout = \"raid10\"", "raid = 10", "did you mean layout?"),
        ("layout = \"raid10\"", "raid_level = 10", "did you mean layout?"),
        ("turns_per_min", "rpm", "did you mean turns_per_min?"),
        ("queueing = {", "ncq = {", "did you mean queueing?"),
        ("servers = 2", "cores = 2", "did you mean servers?"),
        ("queue_limit = 128", "queue_depth = 128", "did you mean queue_limit?"),
        ("volumes = [", "luns = [", "did you mean volumes?"),
        ("[[controller]]", "[[sp]]", "did you mean controller?"),
        ("bandwidth =", "speed =", "did you mean bandwidth?"),
        ("rate = \"20", "throttle = \"20", "did you mean rate?"),
        ("average =", "avg =", "drive.nl.seek.avg: expected one of track_to_track, average, full_stroke"),
        ("index = 3", "slot = 3", "did you mean index?"),
        ("write = { size = \"1 GiB\", mirrored = true }", "size = \"4 GiB\"", "memory for writes and for reads"),
        ("bandwidth = \"400 MB/s\"", "bandwidth_mbps = 400", "with the number: bandwidth = \"400 Mbit/s\""),
        ("bandwidth = \"400 MB/s\"", "bandwidth_mb_s = 400", "with the number: bandwidth = \"400 MB/s\""),
        ("size = \"2 TiB\"", "size_tb = 2", "did you mean size? The unit stands with the number: size = \"2 TiB\""),
    ]);
}

#[test]
fn what_is_far_beyond_all_bounds_is_told_as_that() {
    is_told(&[
        ("size = \"2 TiB\"", "size = \"256 PiB\"", "volume[0].size: expected at most the "),
        ("size = \"2 TiB\"", "size = \"999999999 PB\"", "volume[0].size: expected at most the "),
        ("size = \"1 TB\"", "size = \"999999999 PB\"", "drive.nl.size: expected "),
        ("count = 24", "count = 0", "group[0].count: expected at least one drive, found 0"),
        ("count = 24", "count = 9000", "group[0].count: expected 1 to 8,192 drives in all groups, found 9001"),
        ("spares = 1", "spares = 4000000000", "group[0].spares: expected 1 to 8,192 drives in all groups"),
        ("[cache]", "[cache]\npage = \"256 KiB\"", "cache.page: expected 512 bytes to 128 KiB, found "),
    ]);
}

#[test]
fn a_key_that_is_no_slip_away_gets_no_guess() {
    for word in ["colour", "tiering", "dedupe", "strap"] {
        let error = read_design(&SOUND.replacen("segment =", &format!("{word} ="), 1)).expect_err(word);
        assert_eq!(error.hint, None, "{word}");
    }
}

#[test]
fn the_same_key_again_is_told_with_both_lines() {
    is_told(&[
        (
            "count = 24",
            "count = 24\ncount = 25",
            "line 17, column 1: group[0].count: expected each key once, found count",
        ),
        ("count = 24", "count = 24\ncount = 25", "found count again, after line 16"),
        (
            "[links]",
            "[cache]\n[links]",
            "line 38, column 2: cache: expected each key once, found cache again, after line 34",
        ),
        ("[links]", "[cache]\n[links]", "one table has [cache], each of several [[cache]]"),
        ("[links]", "[rack]\n[rack]\n[links]", "one table has [rack], each of several [[rack]]"),
        ("ports = 2", "ports = 2, ports = 4", "line 39, column 42: links.front_end.ports: expected each key once"),
        (
            "kind = \"mech",
            "[drive.nl]\nkind = \"mech",
            "line 4, column 8: drive.nl: expected each key once, found nl again",
        ),
        (
            "size = \"2 TiB\"",
            "size = \"2 TiB\"\nsize_bytes = 4096",
            "line 25, column 14: volume[0].size_bytes: expected each key once, found size_bytes, which means the same as size",
        ),
    ]);
}

#[test]
fn values_in_other_words_are_told_in_those_of_designs() {
    is_told(&[
        ("\"raid10\"", "\"RAID 1+0\"", "did you mean \"raid10\"?"),
        ("\"raid10\"", "\"vraid5\"", "layout = \"pool\" with redundancy = \"raid5\""),
        ("\"fc4\"", "\"8GFC\"", "did you mean \"fc8\"?"),
        ("\"mechanical\"", "\"hdd\"", "did you mean \"mechanical\"?"),
        ("kind = \"rebuild\"", "kind = \"resync\"", "did you mean \"rebuild\"?"),
        ("[drive.nl]", "[nl]", "if it is a drive: [drive.nl]"),
        ("7200", "\"7.2k\"", "drive.nl.turns_per_min: expected a number, found \"7.2k\""),
        ("\"raid10\"", "raid10", "line 18, column 10: expected a value, found raid10; texts, and numbers with a unit"),
        ("\"512 KiB\"", "512 KiB", "found 512 KiB; texts, and numbers with a unit, stand in quotes: \"512 KiB\""),
        ("\"512 KiB\"", "“512 KiB”", "stand in quotes: \"512 KiB\""),
        ("\"512 KiB\"", "", "line 19, column 11: expected a value, found nothing"),
        ("owner = \"A\"", "owner = nobody", "expected a value, found nobody; texts, and numbers with a unit"),
        ("mirrored = true", "mirrored = True", "expected a value, found True; try true"),
        ("\"2 TiB\"", "2,5 TB", "line 24, column 9: expected nothing more behind the value, found"),
        ("\"30 s\"", "\"30 seconds\"", "found \"30 seconds\"; units are ns, us, ms, s, min, h and d"),
        ("\"512 KiB\"", "\"100 %\"", "segment: expected a size, such as \"64 KiB\", found \"100 %\""),
        ("owner = \"A\"", "owner = \"a\"", "found \"a\"; did you mean \"A\"?"),
        (
            "drive_fails = { group = \"g\", index = 3 }",
            "",
            "at[0]: expected one of drive_fails, cache_lost, cache_restored",
        ),
        ("drive_fails = { group = \"g\", index = 3 }", "", "found none of them"),
        ("index = 3", "index = 24", "index: expected 0 to 23, found 24, a spare, and spares do not fail"),
        ("index = 3", "index = 25", "index: expected 0 to 23, found 25"),
        ("[cache]\nwrite = {", "[write_cache]\nsize = \"1 GiB\"\n[cache]\nwrite = {", "did you mean [cache.write]?"),
        ("[cache]\nwrite = {", "[front_end]\npreset = \"fc8\"\n[cache]\nwrite = {", "did you mean [links.front_end]?"),
        (
            "drive_fails = { group = \"g\", index = 3 }",
            "controller_fails = \"A\"",
            "expected a table, such as { key = value }, found \"A\"; try controller_fails = { controller = \"A\", takeover",
        ),
        (
            "drive_fails = { group = \"g\", index = 3 }",
            "controller_fails = { controller = \"C\" }",
            "at[0].controller_fails.controller: expected the name of a controller: A, B, found \"C\"",
        ),
        (
            "drive_fails = { group = \"g\", index = 3 }",
            "controller_fails = { controller = \"A\", failover_time = \"20 s\" }",
            "did you mean takeover?",
        ),
        (
            "drive_fails = { group = \"g\", index = 3 }",
            "controller_fails = { controller = \"A\" }\n[[at]]\ntime = \"1 min\"\n\
             controller_fails = { controller = \"B\" }",
            "at[1].controller_fails.controller: expected a controller besides which another one works",
        ),
        ("mirrored = true", "mirrored = yes", "line 35, column 38: expected a value, found yes; try true"),
        ("\"2 TiB\"", "\"2,5 TiB\"", "found \"2,5 TiB\"; a decimal point, not a comma: \"2.5 TiB\""),
        ("\"400 MB/s\"", "\"4 Gb/s\"", "bits are spelt out, as in \"4 Gbit/s\""),
        ("\"400 MB/s\"", "\"400 MB\"", "try \"400 MB/s\""),
        ("\"2 TiB\"", "\"2\"", "try \"2 KiB\", \"2 MiB\" or \"2 GiB\""),
        ("mirrored = true", "low_watermark = 20", "found 20; try \"20 %\""),
    ]);
}

#[test]
fn lists_and_tables_in_another_form_are_told_how_they_are_written() {
    let seek =
        "seek = { form = \"data_sheet\", track_to_track = \"0.8 ms\", average = \"8.5 ms\", full_stroke = \"16 ms\" }";
    is_told(&[
        (
            "kind = \"mechanical\"\n",
            "",
            "drive.nl: expected the key kind, found nothing; kind = \"mechanical\", \"flash\" or",
        ),
        (
            "form = \"data_sheet\", ",
            "",
            "expected the key form, found nothing; form = \"data_sheet\", with three times",
        ),
        ("[drive.nl]", "[drive]", "found \"60 MB/s\"; a drive has a name: [drive.NAME]"),
        ("[[host]]", "[host]", "each has a table of its own: [[host]]"),
        ("[links]", "[[links]]", "line 38, column 3: links: expected one table: [links] in single brackets"),
        ("[cache]", "[[cache]]", "cache: expected one table: [cache] in single brackets"),
        ("[drive.nl]", "[[drive.nl]]", "drive.nl: expected one table: [drive.nl] in single brackets"),
        ("[drive.nl]", "[[drive]]", "drive: expected a table for each drive, such as [drive.NAME], found a list"),
        ("volumes = [{ volume = \"v\", queue_limit = 32 }]", "volumes = [\"v\"]", "try volumes = [{ volume = \"v\" }]"),
        ("volumes = [{ volume = \"v\", queue_limit = 32 }]", "volume = \"v\"", "try volumes = [{ volume = \"v\" }]"),
        (seek, "seek = \"8.5 ms\"", "found \"8.5 ms\"; try seek = { form = \"data_sheet\", track_to_track"),
        ("{ preset = \"fc4\", ports = 2 }", "\"fc4\"", "try front_end = { preset = \"fc4\", ports = 1 }"),
        ("read = { size = \"2 GiB\" }", "read = \"2 GiB\"", "found \"2 GiB\"; try read = { size = \"2 GiB\" }"),
        ("{ group = \"g\", index = 3 }", "3", "try drive_fails = { group = \"NAME\", index = 0 }"),
    ]);
    let without_hosts = SOUND
        .replace("[[host]]", "[[controller]]")
        .replace("queue_limit = 128\nvolumes = [{ volume = \"v\", queue_limit = 32 }]", "");
    let error = read_design(&without_hosts).expect_err("no host").to_string();
    assert_eq!(error, "expected one or more tables [[host]], found nothing");
}

#[test]
fn numbers_out_of_range_are_told_in_the_units_they_are_written_in() {
    is_told(&[
        (
            "\"60 MB/s\"",
            "\"130 MB/s\"",
            "inner_rate: expected 10 kB/s to the outer_rate of 115 MB/s, found \"130 MB/s\"",
        ),
        (
            "average = \"8.5 ms\"",
            "average = \"18.5 ms\"",
            "seek: expected track_to_track <= average <= full_stroke, found 0.8 ms, 18.5 ms, 16 ms",
        ),
        ("overhead = \"0.3 ms\"", "overhead = \"2 s\"", "overhead: expected 0 to 1 s, found \"2 s\""),
        ("\"512 KiB\"", "\"20 KiB\"", "segment: expected a multiple of the cache's page of 16 KiB, found \"20 KiB\""),
        ("size = \"1 TB\"", "size = \"2 MB\"", "drive.nl.size: expected at least 58.49 MiB, 64 tracks of 935.87 KiB"),
    ]);
}

#[test]
fn memory_without_a_unit_is_told_what_it_needs_in_bytes() {
    let flash = "queue_limit = 32, flash_cache = { size = 60 }";
    is_told(&[
        ("\"1 GiB\"", "1", "cache.write.size: expected 256 KiB to 2.98 TiB, room for 8 to 100,000,000 pages, found 1"),
        ("\"1 GiB\"", "4096", "found 4096; a number without a unit is bytes: try \"4096 KiB\", \"4096 MiB\""),
        ("\"2 GiB\"", "2", "cache.read.size: expected 16 KiB to 1.49 TiB, room for 1 to 100,000,000 pages, found 2"),
        ("queue_limit = 32", flash, "flash_cache.size: expected 8 KiB to 762.94 GiB, room for 1 to 100,000,000 blocks"),
        ("queue_limit = 32", flash, "found 60; a number without a unit is bytes: try \"60 KiB\""),
    ]);
}

#[test]
fn a_volume_of_few_bytes_is_refused() {
    is_told(&[
        (
            "\"2 TiB\"",
            "200",
            "line 24, column 8: volume[0].size: expected a size with a unit, found 200; a number without",
        ),
        ("\"2 TiB\"", "\"200 B\"", "line 24, column 8: volume[0].size: expected 512 bytes or more, found \"200 B\""),
        ("owner =", "start = 300\nowner =", "volume[0].start: expected a size with a unit, found 300"),
    ]);
    for sound in ["2_000_000_000", "\"64 KiB\"", "2e12"] {
        let text = SOUND.replace("\"2 TiB\"", sound).replace("owner =", "start = 0\nowner =");
        assert_eq!(read_design(&text).is_ok(), sound != "2e12", "{sound}");
    }
}

#[test]
fn names_are_there_and_differ() {
    // Of two controllers A, none is B, which a volume may name: the second A is the mistake.
    let owned = SOUND.replace("owner = \"A\"", "owner = \"B\"").replace("name = \"B\"", "name = \"A\"");
    let error = read_design(&owned).expect_err("two of a name").to_string();
    assert!(error.contains("controller[1].name: expected a name of its own, found \"A\" again"), "{error}");
    is_told(&[(
        "name = \"desk\"",
        "name = \"\"",
        "name: expected a name, as reports will show it, found an empty one",
    )]);
}

#[test]
fn what_would_have_no_effect_is_refused() {
    let another = "[[background]]\nname = \"again\"\nkind = \"rebuild\"\ngroup = \"g\"\n\n[[at]]";
    let scrub = another.replace("rebuild", "scrub");
    assert!(read_design(&SOUND.replace("[[at]]", &scrub)).is_ok());
    is_told(&[
        (
            "segment =",
            "parity_update = \"cheaper\"\nsegment =",
            "parity_update: expected nothing: only layouts with parity",
        ),
        ("\"raid10\"", "\"raid5\"\nread_choice = \"round_robin\"", "read_choice: expected nothing: only mirrors"),
        (
            "[[at]]",
            "[[at]]\ntime = \"1 s\"\nlimits_change = { limit = { iops = 5 } }\n[[at]]",
            "limits_change: expected volume or host: whose limits change, found neither",
        ),
        (
            "[[at]]",
            "[[at]]\ntime = \"1 s\"\nlimits_change = { volume = \"x\" }\n[[at]]",
            "limits_change.volume: expected the name of a volume: v",
        ),
        (
            "[[at]]",
            "[[at]]\ntime = \"1 s\"\nlimits_change = { volume = \"v\", limit = { io_unit = \"4k\" } }\n[[at]]",
            "limits_change.limit: expected iops, a bandwidth, or both, or a preset, found neither",
        ),
        (
            "write = { size",
            "write = { placement = \"log\", run = \"1 MiB\", size",
            "cache.write.run: expected nothing: a log (placement = \"log\") writes one full stripe at a time, found a run",
        ),
        ("\"raid10\"", "\"raid5\"\ncopies = 3", "group[0].copies: expected nothing: only mirrors"),
        ("\"raid10\"", "\"raid5\"\nparity = 3", "group[0].parity: expected nothing: only raid6"),
        ("\"raid10\"", "\"raid10\"\ncopies = 5", "group[0].count: expected a multiple of 5, found 24"),
        ("\"raid10\"", "\"raid10\"\ncopies = 1", "group[0].copies: expected 2 to 8 copies"),
        ("\"raid10\"", "\"raid6\"\nparity = 1", "group[0].parity: expected 2 to 16 parity segments"),
        ("\"raid10\"", "\"raid6\"\nreplicas = 3", "did you mean copies?"),
        ("\"raid10\"", "\"raidz3\"", "layout = \"raid6\" with parity = 3"),
        (
            "\"fc4\"",
            "\"fc4\", duplex = true",
            "front_end.duplex: expected nothing: both directions of a front-end link",
        ),
        ("\"raid10\"", "\"raid0\"", "group[0].spares: expected 0: without redundancy there is nothing to rebuild"),
        (
            "[[at]]",
            another,
            "background[1].group: expected one rebuild for a group: \"rebuilding\" rebuilds all drives of g that fail",
        ),
    ]);
    let lone = "[[group]]\nname = \"lone\"\ndrive = \"nl\"\ncount = 1\nlayout = \"raid0\"\n\n[[volume]]";
    let moved = "[[background]]\nname = \"r\"\nkind = \"restripe\"\ngroup = \"lone\"\n\n[[at]]";
    let nowhere = SOUND.replace("[[volume]]", lone).replace("[[at]]", moved);
    let error = read_design(&nowhere).expect_err("nothing can move").to_string();
    assert!(error.contains("background[1].group: expected a group of several drives"), "{error}");
    assert!(read_design(&nowhere.replace("count = 1", "count = 2")).is_ok());
    assert!(read_design(&nowhere.replace("restripe", "scrub")).is_ok());
    let single = SOUND.replace("[[controller]]\nname = \"B\"\n", "").replace(", mirrored = true", "");
    let error = read_design(&single).expect_err("a link to nowhere").to_string();
    let said = "links.mirror: expected nothing, or a second controller at the other end of it, found a link with one";
    assert!(error.contains(said), "{error}");
    assert!(read_design(&single.replace("mirror = { bandwidth = \"400 MB/s\" }\n", "")).is_ok());
}

#[test]
fn more_than_the_simulator_can_number_is_refused() {
    let volumes = |count: usize| -> String {
        (0..count).map(|index| format!("[[volume]]\nname = \"v{index}\"\ngroup = \"g\"\nsize = \"1 MiB\"\n")).collect()
    };
    let text = |all: usize| SOUND.replace("[[host]]", &format!("{}\n[[host]]", volumes(all - 1)));
    assert!(read_design(&text(16_384)).is_ok());
    let error = read_design(&text(16_385)).expect_err("one too many").to_string();
    assert!(error.contains("volume: expected 16,384 volumes at most, found 16385"), "{error}");

    let seen = |hosts: usize| -> String {
        let all: Vec<String> = (0..255).map(|index| format!("{{ volume = \"v{index}\" }}")).collect();
        let host = |index| format!("[[host]]\nname = \"more {index}\"\nvolumes = [{}]\n", all.join(", "));
        (0..hosts).map(host).collect()
    };
    let with_hosts = |hosts: usize| text(256).replace("[[background]]", &format!("{}\n[[background]]", seen(hosts)));
    assert!(read_design(&with_hosts(64)).is_ok());
    let error = read_design(&with_hosts(65)).expect_err("too many places").to_string();
    assert!(error.contains("host[65]: expected hosts that see 16,384 volumes at most"), "{error}");

    let controllers: String = (0..255).map(|index| format!("[[controller]]\nname = \"c{index}\"\n")).collect();
    let error =
        read_design(&SOUND.replace("[cache]", &format!("{controllers}\n[cache]"))).expect_err("257").to_string();
    assert!(error.contains("controller: expected 256 controllers at most, found 257"), "{error}");
}

#[test]
fn limits_of_rates_are_told_how_they_are_written() {
    is_told(&[
        ("owner = \"A\"", "iops_limit = 3000", "did you mean limit?"),
        ("owner = \"A\"", "qos = 3000", "did you mean limit?"),
        ("owner = \"A\"", "read_iops = 3000", "did you mean read_limit?"),
        ("owner = \"A\"", "limit = 3000", "try limit = { iops = 3000, bandwidth = \"125 MB/s\" }"),
        (
            "owner = \"A\"",
            "limit = {}",
            "volume[0].limit: expected iops, a bandwidth, or both, or a preset, found neither",
        ),
        (
            "owner = \"A\"",
            "limit = { max_iops = 3000 }",
            "volume[0].limit.max_iops: expected one of preset, iops, bandwidth",
        ),
        ("owner = \"A\"", "limit = { iops = 0 }", "volume[0].limit.iops: expected 0.001 to 100,000,000 per second"),
        ("owner = \"A\"", "limit = { iops = 300, bandwidth = 125 }", "bandwidth: expected a rate with a unit"),
        (
            "owner = \"A\"",
            "limit = { bandwidth = \"1 MB/s\", io_unit = \"256 KiB\" }",
            "io_unit: expected iops beside it",
        ),
        ("owner = \"A\"", "limit = { iops = 300, burst_iops = 3000 }", "limit.burst_for: expected how long the burst"),
        (
            "owner = \"A\"",
            "limit = { iops = 300, burst_iops = 200, burst_for = \"1 s\" }",
            "burst_iops: expected more than iops, which is allowed without credits, found 200",
        ),
        (
            "owner = \"A\"",
            "limit = { iops = 300, burst_bandwidth = \"1 GB/s\", burst_for = \"1 s\" }",
            "limit.burst_bandwidth: expected bandwidth beside it, which holds when the credits are spent, found none",
        ),
        (
            "owner = \"A\"",
            "limit = { iops = 3, burst_left = 0.5 }",
            "burst_left: expected burst_iops or burst_bandwidth",
        ),
        (
            "queue_limit = 128",
            "limit = { iops = 3, burst_for = \"1 s\" }",
            "host[0].limit.burst_for: expected burst_iops",
        ),
        (
            "queue_limit = 128",
            "limit = { preset = \"ebs-gp3\" }",
            "host[0].limit.preset: expected nothing: a preset is of a",
        ),
        ("owner = \"A\"", "limit = { preset = \"gp3\" }", "did you mean \"ebs-gp3\"?"),
        ("owner = \"A\"", "limit = { preset = \"P30\" }", "did you mean \"azure-premium\"?"),
        ("queue_limit = 128", "write_limit = {}", "host[0].write_limit: expected iops, a bandwidth, or both"),
    ]);
}
