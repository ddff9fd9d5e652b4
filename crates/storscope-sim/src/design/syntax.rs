//! Text that is no TOML: the same key twice, and values without quotes, in the words of designs.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::DesignError;
use super::tree::position;

/// Stands for the second of two keys, to find the table that they are in.
const AGAIN: &str = "the_same_key_again";

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
        "duplicate key" => {
            let is_header = heads_a_table(text, span.start);
            repeated_key(text, span).map_or(said.clone(), |(key, found)| DesignError {
                hint: is_header.then(|| format!("one table has [{key}], each of several [[{key}]]")),
                key,
                expected: "each key once".to_owned(),
                found,
                ..said
            })
        }
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

/// Whether a key stands in the line `[KEY]` above a table.
fn heads_a_table(text: &str, key: usize) -> bool {
    let line = text[..key].rsplit('\n').next().unwrap_or_default().trim_start();
    line.starts_with('[') && !line.starts_with("[[") && !line.contains('{')
}

/// The path of a key that is there twice, and where it is for the first time.
fn repeated_key(text: &str, again: std::ops::Range<usize>) -> Option<(String, String)> {
    let key = text.get(again.clone())?.trim_matches(['"', '\'']);
    let marked = format!("{}{AGAIN}{}", text.get(..again.start)?, text.get(again.end..)?);
    let (table, _) = DeTable::parse_recoverable(&marked);
    let (path, first) = beside_the_mark(table.get_ref(), "", key)?;
    let (line, _) = position(text, first);
    Some((path, format!("{key} again, after line {line}")))
}

/// The path of a key in the table of the mark, and its offset.
fn beside_the_mark(table: &DeTable<'_>, path: &str, key: &str) -> Option<(String, usize)> {
    let join = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    if table.keys().any(|name| name.get_ref() == AGAIN) {
        let first = table.keys().find(|name| name.get_ref() == key)?;
        return Some((join(key), first.span().start));
    }
    table.iter().find_map(|(name, value)| beside_the_mark_in(value, &join(name.get_ref()), key))
}

fn beside_the_mark_in(value: &Spanned<DeValue<'_>>, path: &str, key: &str) -> Option<(String, usize)> {
    match value.get_ref() {
        DeValue::Table(table) => beside_the_mark(table, path, key),
        DeValue::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(index, item)| beside_the_mark_in(item, &format!("{path}[{index}]"), key)),
        _ => None,
    }
}
