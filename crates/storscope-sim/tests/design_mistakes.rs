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
        ("\"raid10\"", "\"raid0\"", "group[0].spares: expected 0: without redundancy there is nothing to rebuild"),
        (
            "[[at]]",
            another,
            "background[1].group: expected one rebuild for a group: \"rebuilding\" rebuilds all drives of g that fail",
        ),
    ]);
    let single = SOUND.replace("[[controller]]\nname = \"B\"\n", "").replace(", mirrored = true", "");
    let error = read_design(&single).expect_err("a link to nowhere").to_string();
    let said = "links.mirror: expected nothing, or a second controller at the other end of it, found a link with one";
    assert!(error.contains(said), "{error}");
    assert!(read_design(&single.replace("mirror = { bandwidth = \"400 MB/s\" }\n", "")).is_ok());
}
