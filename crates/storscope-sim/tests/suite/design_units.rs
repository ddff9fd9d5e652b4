//! Numbers without a unit in designs: where the mistake is, and what to try.

use storscope_sim::read_design;

/// Every key of a size, a duration or a rate, each on a line of its own.
const EVERY_QUANTITY: &str = r#"
name = "desk"

[drive.disk]
kind = "mechanical"
size = "1 TB"
turns_per_min = 7200
outer_rate = "120 MB/s"
inner_rate = "60 MB/s"
head_switch = "0.8 ms"
overhead = "0.2 ms"
hit = "0.1 ms"
switch = "0.1 ms"
write_settle = "0.5 ms"
interface_rate = "250 MB/s"
[drive.disk.seek]
form = "data_sheet"
track_to_track = "0.8 ms"
average = "8.9 ms"
full_stroke = "18 ms"
[drive.disk.read_ahead]
segments = 16
segment = "512 KiB"
[drive.disk.write_cache]
size = "16 MiB"
extents = 64
window = 8
accept = "0.1 ms"

[drive.old]
kind = "mechanical"
size = "1 TB"
turns_per_min = 7200
outer_rate = "120 MB/s"
inner_rate = "60 MB/s"
overhead = "0.2 ms"
[drive.old.seek]
form = "curve"
a = "1 ms"
b = "9 ms"
c = "2 ms"

[drive.chips]
kind = "flash"
size = "400 GB"
dies = 32
page = "16 KiB"
map_unit = "4 KiB"
overhead = "10 us"
read = "60 us"
program = "600 us"
interface_rate = "550 MB/s"
write_accept = "20 us"
erase = "3 ms"
[drive.chips.channels]
count = 8
rate = "400 MB/s"

[drive.points]
kind = "curve"
size = "1 TB"
block = "4 KiB"
rate = "100 MB/s"
reads = [{ qd = 1, iops = 70.0 }]

[[group]]
name = "g"
drive = "disk"
count = 8
layout = "raid5"
segment = "64 KiB"
[group.journal]
size = "4 KiB"

[[group]]
name = "p"
drive = "disk"
count = 8
layout = "pool"
redundancy = "raid1"
extent = "1 GiB"

[[volume]]
name = "v"
group = "g"
start = "1 GiB"
size = "1 TB"
owner = "a"

[[controller]]
name = "a"
cost_per_op = "50 us"
cost_per_kib = "0.5 us"
parity_cost_per_kib = "0.5 us"
proxy_cost_per_op = "20 us"

[[controller]]
name = "b"

[transition]
window = "1 h"

[cache]
page = "16 KiB"
[cache.write]
size = "512 MiB"
run = "1 MiB"
[cache.read]
size = "1 GiB"
[cache.prefetch]
depth = "1 MiB"

[links.front_end]
bandwidth = "117 MB/s"
latency = "0.1 ms"

[[host]]
name = "h"
[[host.volume]]
volume = "v"
[host.volume.flash_cache]
size = "1 GiB"
block = "8 KiB"
read = "100 us"
write = "50 us"
bandwidth = "400 MB/s"

[[background]]
name = "scrub"
kind = "scrub"
group = "g"
start = "10m"
chunk = "512 KiB"
rate = "20 MB/s"

[[at]]
time = "30 s"
drive_fails = { group = "g", index = 3 }
"#;

/// The quantities of the design: their lines from 1, and the keys with their tables' headings.
fn quantities() -> Vec<(usize, String)> {
    let mut table = String::new();
    let mut found = Vec::new();
    for (index, line) in EVERY_QUANTITY.lines().enumerate() {
        if line.starts_with('[') {
            table = line.trim_matches(['[', ']']).to_owned();
        }
        let is_quantity = |value: &str| {
            value.strip_prefix('"').is_some_and(|text| text.starts_with(|first: char| first.is_ascii_digit()))
        };
        if let Some((key, value)) = line.split_once(" = ")
            && is_quantity(value)
        {
            found.push((index + 1, format!("{table}.{key}")));
        }
    }
    found
}

/// The design with `number` instead of the quantity of a line.
fn with_bare_number(line: usize, number: &str) -> String {
    let lines = EVERY_QUANTITY.lines().enumerate().map(|(index, text)| match text.split_once(" = ") {
        Some((key, _)) if index + 1 == line => format!("{key} = {number}\n"),
        _ => format!("{text}\n"),
    });
    lines.collect()
}

#[test]
fn a_number_without_a_unit_is_told_at_its_own_key() {
    let sound = read_design(EVERY_QUANTITY);
    assert!(sound.is_ok(), "{sound:?}");
    let mut taken = Vec::new();
    for (line, key) in quantities() {
        let Err(error) = read_design(&with_bare_number(line, "7")) else {
            taken.push(key);
            continue;
        };
        assert_eq!(error.line, Some(line as u32), "{key}: {error}");
        let last = key.rsplit('.').next().unwrap_or_default();
        assert_eq!(error.key.rsplit('.').next(), Some(last), "{key}: {error}");
        let says_what = ["found 7", "try \"7 KiB\""].iter().any(|text| error.to_string().contains(text));
        assert!(says_what, "{key}: {error}");
    }
    assert!(taken.is_empty(), "7 bytes make no sense anywhere: {taken:?}");
}

#[test]
fn a_size_of_few_bytes_gets_a_unit_to_try() {
    let error = |number: &str| {
        let (line, _) = quantities().into_iter().find(|(_, key)| key == "group.segment").expect("it is there");
        read_design(&with_bare_number(line, number)).expect_err(number).to_string()
    };
    let tries = "group[0].segment: expected 512 bytes to 1 GiB, found 64; a number without a unit is bytes: \
                 try \"64 KiB\", \"64 MiB\" or \"64 GiB\"";
    assert_eq!(error("64"), format!("line 71, column 11: {tries}"));
    assert!(error("5_000_000_000").ends_with("found 5000000000"));
    assert!(error("\"64 B\"").ends_with("found \"64 B\""));
}

#[test]
fn a_volume_that_misses_by_little_is_told_in_sizes_that_differ() {
    // Seven of eight drives of 1 TiB hold data.
    for (size, found) in [
        ("7696581396481", "7,696,581,394,432 B left of the 7,696,581,394,432 B of group g, found 7,696,581,396,481 B"),
        ("7697000000000", "7 TiB left of the 7 TiB of group g, found 7.0004 TiB"),
        ("\"9 TB\"", "7 TiB left of the 7 TiB of group g, found 9 TiB"),
    ] {
        let too_large = EVERY_QUANTITY.replace("start = \"1 GiB\"\nsize = \"1 TB\"", &format!("size = {size}"));
        let error = read_design(&too_large).expect_err(size).to_string();
        assert!(error.ends_with(&format!("expected at most the {found}")), "{error}");
    }
}
