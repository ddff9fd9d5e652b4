//! From TOML to the keys of the JSON form, remembering where everything stands.

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::DesignError;
use super::quantity::{Dimension, parse};

/// Keys whose values are names: text that looks like a quantity stays text there.
const NAMES: [&str; 18] = [
    "name",
    "source",
    "drive",
    "group",
    "volume",
    "owner",
    "via",
    "to",
    "cache_lost",
    "cache_restored",
    "flash_cache_lost",
    "flash_cache_restored",
    "controller",
    "controller_returns",
    "background_starts",
    "background_stops",
    "kind",
    "layout",
];
/// Lists that have the singular name of their tables in TOML.
pub const LISTS: [(&str, &str); 6] = [
    ("drive", "drives"),
    ("group", "groups"),
    ("volume", "volumes"),
    ("controller", "controllers"),
    ("host", "hosts"),
    ("at", "changes"),
];

/// Tables that are there once at most.
const TABLES: [&str; 23] = [
    "cache",
    "links",
    "transition",
    "write",
    "read",
    "prefetch",
    "front_end",
    "back_end",
    "mirror",
    "journal",
    "flash_cache",
    "seek",
    "read_ahead",
    "write_cache",
    "queueing",
    "channels",
    "drive_fails",
    "controller_fails",
    "volume_moves",
    "limits_change",
    "limit",
    "read_limit",
    "write_limit",
];

/// Where a key stands: the offset in the text, and the key as it is written.
#[derive(Debug, Clone, PartialEq)]
pub struct PlaceInText {
    /// Byte offset of the value, or of the key of a table.
    pub offset: usize,
    /// As in `group[0].segment`.
    pub written: String,
    /// What stands there.
    pub text: String,
    /// What a text with a unit comes to, as a number of the JSON form.
    pub number: Option<f64>,
}

/// Places by path, as in `groups[0].segment_bytes`.
pub type Places = BTreeMap<String, PlaceInText>;

/// The JSON form of a table, and where its keys stand.
pub struct Tree<'text> {
    text: &'text str,
    /// Where everything stands.
    pub places: Places,
}

impl<'text> Tree<'text> {
    /// Of this text.
    pub fn new(text: &'text str) -> Self {
        Self { text, places: Places::new() }
    }

    /// The JSON form of a table at a path.
    ///
    /// # Errors
    /// When two keys mean the same, or a number does not fit.
    pub fn table(&mut self, table: &DeTable<'_>, path: &str, written: &str) -> Result<Value, DesignError> {
        let mut object = Map::new();
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            let (canonical, quantity) = canonical_key(path, name, value.get_ref());
            let inner = join(path, &canonical);
            let as_written = join(written, name);
            let place = PlaceInText {
                offset: if is_table(value.get_ref()) { key.span().start } else { value.span().start },
                written: as_written.clone(),
                text: self.text.get(value.span()).unwrap_or_default().to_owned(),
                number: quantity.as_ref().and_then(Value::as_f64),
            };
            if let Some(other) = self.places.get(&inner) {
                let (first, again) = if other.offset < place.offset { (other, &place) } else { (&place, other) };
                return Err(repeated(self.text, first, again));
            }
            self.check_form(path, &canonical, value.get_ref(), &place)?;
            self.places.insert(inner.clone(), place);
            let value = match quantity {
                Some(quantity) => quantity,
                None => self.value(value, &inner, &as_written)?,
            };
            object.insert(canonical, value);
        }
        Ok(Value::Object(object))
    }

    /// Lists of what is there once: each would be taken for the parts of one table, in their order.
    fn check_form(&self, path: &str, key: &str, value: &DeValue<'_>, place: &PlaceInText) -> Result<(), DesignError> {
        let expected = match key {
            _ if !value.is_array() => return Ok(()),
            "drives" => "a table for each drive, such as [drive.NAME]".to_owned(),
            _ if path == "drives" || TABLES.contains(&key) => {
                format!("one table: [{}] in single brackets, or {{ key = value }}", place.written)
            }
            _ => return Ok(()),
        };
        Err(self.error(place.offset, &place.written, &expected, "a list"))
    }

    fn value(&mut self, value: &Spanned<DeValue<'_>>, path: &str, written: &str) -> Result<Value, DesignError> {
        let offset = value.span().start;
        Ok(match value.get_ref() {
            DeValue::String(text) => Value::String(text.to_string()),
            DeValue::Boolean(boolean) => Value::Bool(*boolean),
            DeValue::Integer(integer) => {
                let number = i64::from_str_radix(integer.as_str(), integer.radix());
                let number =
                    number.map_err(|_| self.error(offset, written, "a number of 64 bits", integer.as_str()))?;
                Value::Number(number.into())
            }
            DeValue::Float(float) => {
                let number = float.as_str().parse::<f64>().ok().and_then(Number::from_f64);
                Value::Number(number.ok_or_else(|| self.error(offset, written, "a finite number", float.as_str()))?)
            }
            DeValue::Datetime(_) => return Err(self.error(offset, written, "no date", "a date")),
            DeValue::Table(table) => self.table(table, path, written)?,
            DeValue::Array(items) => {
                let mut list = Vec::new();
                for (index, item) in items.iter().enumerate() {
                    let (path, written) = (format!("{path}[{index}]"), format!("{written}[{index}]"));
                    let place = PlaceInText {
                        offset: item.span().start,
                        written: written.clone(),
                        text: self.text.get(item.span()).unwrap_or_default().to_owned(),
                        number: None,
                    };
                    self.places.insert(path.clone(), place);
                    list.push(self.value(item, &path, &written)?);
                }
                Value::Array(list)
            }
        })
    }

    /// An error at an offset.
    pub fn error(&self, offset: usize, key: &str, expected: &str, found: &str) -> DesignError {
        let (line, column) = position(self.text, offset);
        DesignError {
            line: Some(line),
            column: Some(column),
            key: key.to_owned(),
            expected: expected.to_owned(),
            found: found.to_owned(),
            hint: None,
        }
    }
}

/// The error of a key that says what another one says.
pub fn repeated(text: &str, first: &PlaceInText, again: &PlaceInText) -> DesignError {
    let name = |place: &PlaceInText| place.written.rsplit('.').next().unwrap_or_default().to_owned();
    let ((line, column), (first_line, _)) = (position(text, again.offset), position(text, first.offset));
    DesignError {
        line: Some(line),
        column: Some(column),
        key: again.written.clone(),
        expected: "each key once".to_owned(),
        found: format!("{}, which means the same as {} in line {first_line}", name(again), name(first)),
        hint: None,
    }
}

/// Line and column of an offset, from 1.
pub fn position(text: &str, offset: usize) -> (u32, u32) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line as u32, column as u32)
}

/// The name of the JSON form, and the number if the value is a quantity with a unit.
fn canonical_key(path: &str, name: &str, value: &DeValue<'_>) -> (String, Option<Value>) {
    let in_host = path.starts_with("hosts[") && !path.contains('.');
    let list = LISTS.iter().find(|list| list.0 == name);
    if let Some((_, plural)) = list.filter(|_| is_table(value) && (path.is_empty() || (in_host && name == "volume"))) {
        return ((*plural).to_owned(), None);
    }
    let text = value.as_str().filter(|_| !NAMES.contains(&name));
    let Some((number, dimension)) = text.and_then(parse) else { return (name.to_owned(), None) };
    let (number, suffix) = match dimension {
        Dimension::DurationOrSize if is_duration(path, name) => (number * 60e9, Dimension::Duration.suffix()),
        Dimension::DurationOrSize => (number * 1_048_576.0, Dimension::Size.suffix()),
        _ => (number, dimension.suffix()),
    };
    let key = if name.ends_with(suffix) { name.to_owned() } else { format!("{name}{suffix}") };
    (key, Some(json_number(number)))
}

/// What "m" is: minutes for the few keys that are durations of that length.
fn is_duration(path: &str, name: &str) -> bool {
    ["time", "window", "latency", "burst_for", "takeover"].contains(&name)
        || (name == "start" && path.starts_with("background"))
}

/// Whole numbers stay whole, so that they fit fields of whole units. What is beyond all bounds becomes the greatest of them,
/// to be told as out of bounds.
fn json_number(number: f64) -> Value {
    let rounded = number.round();
    if (number - rounded).abs() <= 1e-9 * number.abs() {
        return Value::Number((rounded as i64).into());
    }
    Number::from_f64(number).map_or(Value::Null, Value::Number)
}

fn is_table(value: &DeValue<'_>) -> bool {
    value.is_table() || value.is_array()
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}
