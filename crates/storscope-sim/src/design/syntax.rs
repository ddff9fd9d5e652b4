//! Text that is no TOML: values without quotes, in the words of designs.

use super::error::DesignError;
use super::tree::position;

/// How messages begin about values without quotes: such as begin like `nan`, `inf`, `true` or `false` are taken for those.
const UNQUOTED: [&str; 3] = ["string values must be quoted", "invalid float", "invalid boolean"];

/// The first thing that is wrong with the syntax of a text.
pub fn syntax_error(text: &str, error: &toml::de::Error) -> DesignError {
    let place = error.span().map(|span| position(text, span.start));
    let said = DesignError {
        line: place.map(|place| place.0),
        column: place.map(|place| place.1),
        key: String::new(),
        expected: "TOML".to_owned(),
        found: error.message().to_owned(),
        hint: None,
    };
    let Some(span) = error.span() else { return said };
    let rest = text.get(span.start..).and_then(|rest| rest.lines().next()).unwrap_or_default();
    match error.message() {
        message if message.starts_with("unexpected key or value") => {
            let (found, _) = unquoted(rest);
            let hint = "texts, and numbers with a unit, stand in quotes; no number has a comma".to_owned();
            DesignError { expected: "nothing more behind the value".to_owned(), found, hint: Some(hint), ..said }
        }
        message if UNQUOTED.iter().any(|start| message.starts_with(start)) => {
            let (found, hint) = unquoted(rest);
            DesignError { expected: "a value".to_owned(), found, hint, ..said }
        }
        _ => said,
    }
}

/// The value without quotes that a line begins with, and how it is written.
fn unquoted(line: &str) -> (String, Option<String>) {
    let value = line.split(['#', ',', '}', ']']).next().unwrap_or_default().trim();
    let text = value.trim_matches(['\u{201c}', '\u{201d}', '\u{201e}', '\'', '"']);
    match value.to_lowercase().as_str() {
        "" => ("nothing".to_owned(), None),
        "yes" | "on" | "true" => (value.to_owned(), Some("try true".to_owned())),
        "no" | "off" | "false" => (value.to_owned(), Some("try false".to_owned())),
        _ => (value.to_owned(), Some(format!("texts, and numbers with a unit, stand in quotes: \"{text}\""))),
    }
}
