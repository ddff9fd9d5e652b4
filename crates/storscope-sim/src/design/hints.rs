//! What to try instead of a value that a key does not take.

use super::nearest::{nearest, nearest_within};
use super::quantity::{Dimension, has_units_out_of_order, parse};

/// Values of designs, and other words for them, in small letters and digits alone.
const WORDS: [(&str, &[&str]); 23] = [
    ("raid0", &["0", "stripe", "striped", "jbod", "none"]),
    ("raid1", &["1", "mirror", "mirrored", "raid10"]),
    ("raid10", &["10", "01", "raid01", "mirroredstripes"]),
    ("raid5", &["5", "raidz", "raidz1"]),
    ("raid6", &["6", "raidz2", "raiddp", "dualparity"]),
    ("raid50", &["50", "raid05"]),
    ("raid60", &["60", "raid06"]),
    ("fc2", &["2gfc", "2gbfc", "fc2g", "fc2gb"]),
    ("fc4", &["4gfc", "4gbfc", "fc4g", "fc4gb"]),
    ("fc8", &["8gfc", "8gbfc", "fc8g", "fc8gb"]),
    ("fc16", &["16gfc", "16gbfc", "fc16g", "fc16gb"]),
    ("iscsi1", &["iscsi", "gbe", "1gbe", "iscsi1g", "iscsi1gb", "iscsi1gbe"]),
    ("iscsi10", &["10gbe", "iscsi10g", "iscsi10gb", "iscsi10gbe"]),
    ("ebs-gp2", &["gp2", "awsgp2"]),
    ("ebs-gp3", &["gp3", "awsgp3"]),
    ("ebs-st1", &["st1", "awsst1"]),
    ("ebs-sc1", &["sc1", "awssc1"]),
    (
        "azure-premium",
        &["premiumssd", "p1", "p2", "p3", "p4", "p6", "p10", "p15", "p20", "p30", "p40", "p50", "p60", "p70", "p80"],
    ),
    ("mechanical", &["hdd", "disk", "harddisk", "sata", "sas", "fc", "magnetic", "rotating"]),
    ("flash", &["ssd", "nvme", "solidstate"]),
    ("rebuild", &["resilver", "resync", "reconstruct", "reconstruction", "recovery"]),
    ("restripe", &["rebalance", "levelling", "leveling", "level", "expansion"]),
    ("scrub", &["verify", "check", "patrol", "patrolread", "mediascan"]),
];

/// Names of layouts with three parities (ZFS, NetApp).
const THREE_PARITIES: [&str; 5] = ["raidz3", "raidtp", "raidtec", "tripleparity", "raid73"];

/// What stands for a text that was not given.
pub const NO_TEXT: &str = "\"NAME\"";

/// What was meant by a value that is none of a key's, from serde's message about it.
pub fn hint_for_variant(message: &str) -> Option<String> {
    let (written, known) = message.strip_prefix("unknown variant `")?.split_once('`')?;
    let known = || known.split('`').skip(1).step_by(2);
    let word = only_letters_and_digits(written);
    if let Some(level) = word.strip_prefix("vraid").filter(|_| known().any(|name| name == "pool")) {
        return Some(format!("Vraid{level} of an EVA is layout = \"pool\" with redundancy = \"raid{level}\""));
    }
    if THREE_PARITIES.contains(&word.as_str()) && known().any(|name| name == "raid6") {
        return Some("three parities are layout = \"raid6\" with parity = 3".to_owned());
    }
    let same = || known().find(|name| only_letters_and_digits(name) == word);
    let synonym =
        || known().find(|name| WORDS.iter().any(|(key, words)| key == name && words.contains(&word.as_str())));
    // RAID 7 is not nearly RAID 6.
    let slip = || nearest(&word, known().filter(|name| digits(name) == digits(&word)));
    same().or_else(synonym).or_else(slip).map(|name| format!("did you mean \"{name}\"?"))
}

/// How a quantity is written right, from what its key takes and what stands there.
pub fn hint_for_quantity(expected: &str, found: &str) -> Option<String> {
    let text = found.strip_prefix('"')?.strip_suffix('"')?;
    if expected.starts_with("a number") {
        return hint_for_number(text);
    }
    let with_point = text.replace(',', ".");
    if with_point != text && parse(&with_point).is_some() {
        return Some(format!("a decimal point, not a comma: \"{with_point}\""));
    }
    let is_size = |text: &str| parse(text).is_some_and(|(_, dimension)| dimension == Dimension::Size);
    let in_bytes = text.strip_suffix('b').map(|text| format!("{text}B")).filter(|text| is_size(text));
    if expected.starts_with("a rate") {
        let lower = text.to_lowercase();
        let are_bits = text.ends_with("b/s") || in_bytes.is_some();
        if are_bits || lower.ends_with("bps") {
            return Some(
                "bits are spelt out, as in \"4 Gbit/s\"; bytes have a capital B, as in \"400 MB/s\"".to_owned(),
            );
        }
        if is_size(text) {
            return Some(format!("try \"{text}/s\""));
        }
    }
    if let Some(in_bytes) = in_bytes.filter(|_| expected.starts_with("a size") && !is_size(text)) {
        return Some(format!("a small b means bits; try \"{in_bytes}\""));
    }
    if expected.starts_with("a size") && text.parse::<f64>().is_ok_and(|number| number > 0.0) {
        return Some(format!("try \"{text} KiB\", \"{text} MiB\" or \"{text} GiB\""));
    }
    if expected.starts_with("a duration") && has_units_out_of_order(text) {
        return Some("each unit once, the larger first, as in \"1h30m\"".to_owned());
    }
    (text.starts_with(|first: char| first.is_ascii_digit()) && parse(text).is_none())
        .then(|| units(expected).to_owned())
}

/// A number that was written as text, perhaps with a unit that its key does not take.
fn hint_for_number(text: &str) -> Option<String> {
    let end = text.find(|letter: char| !(letter.is_ascii_digit() || "._,".contains(letter))).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number: f64 = number.replace([',', '_'], "").parse().ok()?;
    let factor = match unit.trim().to_ascii_lowercase().split(' ').next().unwrap_or_default() {
        "k" => 1e3,
        "m" => 1e6,
        "" | "iops" | "io/s" | "/s" | "ops" | "ops/s" | "rpm" => 1.0,
        _ => return None,
    };
    Some(format!("a number stands without quotes: {}", number * factor))
}

fn units(expected: &str) -> &'static str {
    match expected {
        _ if expected.starts_with("a rate") => "units are kB/s, MB/s and GB/s, KiB/s and so on, Mbit/s and Gbit/s",
        _ if expected.starts_with("a duration") => "units are ns, us, ms, s, min, h and d",
        _ => "units are B, KiB, MiB, GiB and TiB; K, M, G and T mean the same",
    }
}

/// How a table is written in one line, with a text that was given in its place.
pub fn form_of_table(key: &str, text: &str) -> Option<String> {
    let inside = match key {
        "front_end" | "back_end" | "mirror" => format!("preset = {text}, ports = 1"),
        "write" | "read" if text != NO_TEXT => format!("size = {text}"),
        "write" | "read" => "size = \"1 GiB\"".to_owned(),
        "journal" => "size = \"4 KiB\"".to_owned(),
        "prefetch" => "depth = \"1 MiB\"".to_owned(),
        "queueing" => "gamma = 0.6, depth = 32".to_owned(),
        "read_ahead" => "segments = 16, segment = \"512 KiB\"".to_owned(),
        "write_cache" => "size = \"16 MiB\", extents = 64, window = 8".to_owned(),
        "limit" | "read_limit" | "write_limit" => "iops = 3000, bandwidth = \"125 MB/s\"".to_owned(),
        "flash_cache" => "size = \"20 GiB\"".to_owned(),
        "seek" => "form = \"data_sheet\", track_to_track = \"0.8 ms\", average = \"8.5 ms\", full_stroke = \"16 ms\""
            .to_owned(),
        "drive_fails" => "group = \"NAME\", index = 0".to_owned(),
        "controller_fails" if text != NO_TEXT => format!("controller = {text}, takeover = \"20 s\""),
        "controller_fails" => "controller = \"NAME\", takeover = \"20 s\"".to_owned(),
        "limits_change" => "volume = \"NAME\", limit = { iops = 500 }".to_owned(),
        "volume_moves" => "volume = \"NAME\", to = \"NAME\"".to_owned(),
        _ => return None,
    };
    Some(format!("try {key} = {{ {inside} }}"))
}

/// What a key may say that is not there, where it decides which others there are.
pub fn hint_for_missing(path: &str, key: &str) -> Option<String> {
    match key {
        "kind" if path.starts_with("drives.") => Some("kind = \"mechanical\", \"flash\" or \"curve\"".to_owned()),
        "form" => Some("form = \"data_sheet\", with three times, or \"curve\", with its coefficients".to_owned()),
        _ => None,
    }
}

/// The name of a list that somebody may have meant by another.
pub fn hint_for_name(expected: &str, found: &str) -> Option<String> {
    let (_, names) = expected.strip_prefix("the name of a ")?.split_once(": ")?;
    let name = found.strip_prefix('"')?.strip_suffix('"')?;
    let alike = names.split(", ").filter(|other| digits(other) == digits(name));
    nearest_within(name, alike, name.chars().count() / 4).map(|other| format!("did you mean \"{other}\"?"))
}

fn only_letters_and_digits(text: &str) -> String {
    text.to_lowercase().chars().filter(|letter| letter.is_ascii_alphanumeric()).collect()
}

fn digits(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
}

#[cfg(test)]
mod tests {
    use super::{hint_for_name, hint_for_quantity, hint_for_variant};

    #[test]
    fn values_are_guessed_where_they_can_be() {
        for (written, meant) in [
            ("RAID-10", Some("did you mean \"raid10\"?")),
            ("raid1+0", Some("did you mean \"raid10\"?")),
            ("RAID 0+1", Some("did you mean \"raid10\"?")),
            ("rad5", Some("did you mean \"raid5\"?")),
            ("Vraid5", Some("Vraid5 of an EVA is layout = \"pool\" with redundancy = \"raid5\"")),
            ("raid7", None),
            ("erasure", None),
        ] {
            let message = format!("unknown variant `{written}`, expected one of `raid10`, `raid5`, `pool`");
            assert_eq!(hint_for_variant(&message).as_deref(), meant, "{written}");
        }
    }

    #[test]
    fn names_are_guessed_where_they_can_be() {
        for (written, meant) in [
            ("Pool", Some("did you mean \"pool\"?")),
            ("archvie", None),
            ("archiv", Some("did you mean \"archive\"?")),
            ("vmfs2", None),
            ("B", None),
        ] {
            let expected = "the name of a group: pool, archive, vmfs1, A";
            assert_eq!(hint_for_name(expected, &format!("{written:?}")).as_deref(), meant, "{written}");
        }
    }

    #[test]
    fn quantities_are_corrected_where_they_can_be() {
        for (expected, found, hint) in [
            ("a size", "\"2,5 TB\"", Some("a decimal point, not a comma: \"2.5 TB\"")),
            ("a size", "\"200\"", Some("try \"200 KiB\", \"200 MiB\" or \"200 GiB\"")),
            ("a size", "\"0\"", Some("units are B, KiB, MiB, GiB and TiB; K, M, G and T mean the same")),
            ("a rate", "\"120 MB\"", Some("try \"120 MB/s\"")),
            ("a size", "\"5 ms\"", None),
            ("a size", "\"4 Tb\"", Some("a small b means bits; try \"4 TB\"")),
            ("a size", "\"4 TiBB\"", Some("units are B, KiB, MiB, GiB and TiB; K, M, G and T mean the same")),
            ("a duration", "\"5 usec\"", Some("units are ns, us, ms, s, min, h and d")),
            ("a rate", "\"5 MByte/s\"", Some("units are kB/s, MB/s and GB/s, KiB/s and so on, Mbit/s and Gbit/s")),
            ("a duration", "5", None),
            ("a duration", "\"30s2m\"", Some("each unit once, the larger first, as in \"1h30m\"")),
        ] {
            assert_eq!(hint_for_quantity(expected, found).as_deref(), hint, "{found}");
        }
        for found in ["\"4 Gb/s\"", "\"8 Gb\""] {
            let bits = hint_for_quantity("a rate", found).expect("a hint");
            assert!(bits.starts_with("bits are spelt out"), "{bits}");
        }
    }
}
