//! What a value of the wrong kind should have been, in words for people who write TOML.
//!
//! The messages are those of serde ("invalid type: string \"8\", expected u32"): they name types of Rust.

/// What was expected and what was found, from a message of serde about a value.
pub fn expected_and_found(message: &str) -> (String, String) {
    let (found, expected) = message.split_once(", expected ").unwrap_or((message, "something else"));
    let (is_out_of_range, found) = match found.strip_prefix("invalid value: ") {
        Some(rest) => (true, rest),
        None => (false, found.strip_prefix("invalid type: ").unwrap_or(found)),
    };
    let expected = match whole_number(expected) {
        Some(most) if is_out_of_range => bounded(found, most),
        Some(_) => "a whole number".to_owned(),
        None => kind(expected),
    };
    (expected, value(found))
}

/// The greatest number that a type of whole numbers holds.
fn whole_number(expected: &str) -> Option<&'static str> {
    match expected {
        "u8" => Some("255"),
        "u16" => Some("65,535"),
        "u32" | "a nonzero u32" => Some("4,294,967,295"),
        "u64" | "usize" => Some("2^64 - 1"),
        _ => None,
    }
}

fn bounded(found: &str, most: &str) -> String {
    if found.contains('-') {
        "a whole number of at least 0".to_owned()
    } else {
        format!("a whole number of at most {most}")
    }
}

fn kind(expected: &str) -> String {
    match expected {
        "f32" | "f64" => "a number".to_owned(),
        "a string" | "string" => "a text in quotes".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a sequence" => "a list, or tables in double brackets such as [[name]]".to_owned(),
        "a map" => "a table, such as { key = value }".to_owned(),
        "string or map" => "a name in quotes, or a table such as { key = value }".to_owned(),
        _ if expected.starts_with("struct ") || expected.contains("enum ") => {
            "a table, such as { key = value }".to_owned()
        }
        _ => expected.replace('`', ""),
    }
}

/// "integer `5`" is 5, "string \"8\"" is "8".
fn value(found: &str) -> String {
    let kinds = ["integer ", "floating point ", "boolean ", "string ", "unknown variant "];
    let bare = kinds.iter().find_map(|kind| found.strip_prefix(kind));
    match bare {
        Some(text) if found.starts_with("unknown variant ") => text.replace('`', "\""),
        Some(text) => text.replace('`', ""),
        None => match found {
            "map" => "a table".to_owned(),
            "sequence" => "a list".to_owned(),
            _ => found.replace('`', "\""),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::expected_and_found;

    #[test]
    fn types_of_rust_become_words_of_toml() {
        for (message, expected, found) in [
            ("invalid type: string \"8\", expected u32", "a whole number", "\"8\""),
            ("invalid type: floating point `1.5`, expected u32", "a whole number", "1.5"),
            ("invalid value: integer `-1`, expected u32", "a whole number of at least 0", "-1"),
            ("invalid value: integer `9`, expected u8", "a whole number of at most 255", "9"),
            ("invalid type: boolean `true`, expected f64", "a number", "true"),
            ("invalid type: integer `5`, expected struct CacheDesign", "a table, such as { key = value }", "5"),
            ("invalid type: map, expected a string", "a text in quotes", "a table"),
            ("unknown variant `raid11`, expected one of `raid0`, `raid10`", "one of raid0, raid10", "\"raid11\""),
        ] {
            assert_eq!(expected_and_found(message), (expected.to_owned(), found.to_owned()), "{message}");
        }
    }
}
