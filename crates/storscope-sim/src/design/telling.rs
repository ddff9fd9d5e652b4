//! Errors of a design that parsed, with their places in the text.

use super::error::DesignError;
use super::hints::{NO_TEXT, form_of_table, hint_for_missing, hint_for_name, hint_for_quantity, hint_for_variant};
use super::keys::{WITH_UNIT, guess, names, plain};
use super::plain_words::expected_and_found;
use super::tree::{LISTS, PlaceInText, Places, position, repeated};

/// From here on a number is hardly one whose unit was forgotten.
const MOST_WITHOUT_UNIT: u64 = 1 << 20;

/// Tables of others that people write at the top.
const BELOW: [(&str, &[&str]); 6] = [
    ("cache.write", &["write", "write_cache", "write_back_cache", "nvram"]),
    ("cache.read", &["read", "read_cache"]),
    ("cache.prefetch", &["prefetch", "read_ahead", "readahead"]),
    ("links.front_end", &["front_end", "frontend"]),
    ("links.back_end", &["back_end", "backend"]),
    ("links.mirror", &["mirror", "mirror_link", "interconnect"]),
];

/// The table that a key at the top of a design was meant for.
fn place_of_table(path: &str, key: &str) -> Option<&'static str> {
    let is_at_top = !path.contains(['.', '[']);
    BELOW.iter().find(|(_, words)| is_at_top && words.contains(&key)).map(|(place, _)| *place)
}

/// Tells what is wrong, and where it stands.
pub struct Teller<'text> {
    text: &'text str,
    places: Places,
}

impl<'text> Teller<'text> {
    /// Of a text, in which keys have these places.
    pub fn new(text: &'text str, places: Places) -> Self {
        Self { text, places }
    }

    /// A key that does not exist here, perhaps for lack of the right unit.
    pub fn unknown(&self, path: &str, key: &str, known: &[String]) -> DesignError {
        let bare = plain(key);
        let unit_of = |name: &String| WITH_UNIT.iter().find(|unit| name.strip_prefix(bare) == Some(unit.0));
        if let Some((_, expected)) = known.iter().find_map(unit_of) {
            let found = self.places.get(path).map_or("another value", |place| place.text.as_str());
            return self.at(path, (*expected).to_owned(), found.to_owned(), hint_for_quantity(expected, found));
        }
        let hint = self.advice(path, bare, known);
        let names: Vec<&str> = names(known).collect();
        self.at(path, format!("one of {}", names.join(", ")), "a key that does not exist here".to_owned(), hint)
    }

    /// What to try instead of a key that does not exist.
    fn advice(&self, path: &str, key: &str, known: &[String]) -> Option<String> {
        let is_cache = names(known).any(|name| name == "prefetch");
        if is_cache && ["size", "capacity", "memory"].contains(&key) {
            return Some("memory for writes and for reads is given apart, as size of write and of read".to_owned());
        }
        if let Some(advice) = advice_on_limits(path, key, known) {
            return Some(advice.to_owned());
        }
        if let Some(place) = place_of_table(path, key) {
            return Some(format!("did you mean [{place}]?"));
        }
        let Some(guess) = guess(key, known) else {
            let is_drive = !path.contains('.') && self.places.contains_key(&format!("{path}.kind"));
            return is_drive.then(|| format!("if it is a drive: [drive.{key}]"));
        };
        let singular = LISTS.iter().find(|list| list.1 == guess.key).filter(|_| !path.contains('.'));
        let name = singular.map_or(guess.key.as_str(), |list| list.0);
        let number = self.places.get(path).map_or("5", |place| place.text.as_str());
        let value = guess.unit.map(|unit| format!(" The unit stands with the number: {name} = \"{number} {unit}\""));
        Some(format!("did you mean {name}?{}", value.unwrap_or_default()))
    }

    /// A value of the wrong kind, or one that is missing.
    pub fn wrong(&self, path: &str, message: &str) -> DesignError {
        if let Some(rest) = message.strip_prefix("missing field `") {
            let key = rest.split('`').next().unwrap_or_default();
            let table = LISTS.iter().find(|list| list.1 == key).filter(|_| path == ".");
            let expected = table.map_or_else(
                || format!("the key {}", plain(key)),
                |(singular, _)| format!("one or more tables [[{singular}]]"),
            );
            return self.at(path, expected, "nothing".to_owned(), hint_for_missing(path, key));
        }
        let (expected, found) = expected_and_found(message);
        let hint = hint_for_variant(message).or_else(|| self.form_hint(path, &expected, &found));
        let hint = hint.or_else(|| hint_for_quantity(&expected, &found).filter(|_| expected.starts_with("a number")));
        self.at(path, expected, found, hint)
    }

    /// How a list or a table is written that was given in another form.
    fn form_hint(&self, path: &str, expected: &str, found: &str) -> Option<String> {
        let written = &self.place(path)?.written;
        if expected.starts_with("a list") && !path.contains('.') && found == "a table" {
            return Some(format!("each has a table of its own: [[{written}]]"));
        }
        let key = path.rsplit('.').next()?;
        let text = if found.starts_with('"') { found } else { NO_TEXT };
        if path.starts_with("hosts[") && key.starts_with("volume") {
            return Some(format!("try volumes = [{{ volume = {text} }}]"));
        }
        if path.strip_prefix("drives.").is_some_and(|name| !name.contains('.')) {
            return Some("a drive has a name: [drive.NAME]".to_owned());
        }
        expected.starts_with("a table").then(|| form_of_table(key, text)).flatten()
    }

    /// Two keys that mean the same.
    pub fn twice(&self, path: &str, other: &str) -> DesignError {
        let (one, other) = (self.places.get(path), self.places.get(other));
        let (Some(one), Some(other)) = (one, other) else {
            return self.at(path, "each key once".to_owned(), "another of the same meaning".to_owned(), None);
        };
        let (first, again) = if one.offset < other.offset { (one, other) } else { (other, one) };
        repeated(self.text, first, again)
    }

    /// Whether what stands there is a number without a unit.
    pub fn is_bare(&self, path: &str) -> bool {
        self.places.get(path).is_none_or(|place| place.number.is_none())
    }

    /// The text of a quantity whose key takes none.
    pub fn as_text(&self, path: &str, key: &str, known: &[String]) -> Option<String> {
        let takes_another = plain(key) != key && known.iter().any(|name| name == plain(key));
        let quoted =
            |place: &PlaceInText| place.number.is_some().then(|| place.text.trim_matches(['"', '\'']).to_owned());
        self.places.get(path).filter(|_| takes_another).and_then(quoted)
    }

    /// An error at a path, or at the nearest key around it.
    pub fn at(&self, path: &str, expected: String, found: String, hint: Option<String>) -> DesignError {
        let mut around = if path == "." { "" } else { path };
        let mut place = self.place(around);
        while place.is_none() && !around.is_empty() {
            around = around.rfind(['.', '[']).map_or("", |end| &around[..end]);
            place = self.place(around);
        }
        let here = place.filter(|_| around == path);
        let hint = hint.or_else(|| here.and_then(|place| self.unit_hint(path, &expected, place)));
        let hint = hint.or_else(|| hint_for_name(&expected, &found));
        let found = here.and_then(|place| as_written(place, &found)).unwrap_or(found);
        let rest = path.strip_prefix(around).unwrap_or_default();
        let key = match place {
            Some(place) => format!("{}{}", place.written, plain(rest)),
            None => plain(path).trim_start_matches('.').to_owned(),
        };
        let place = place.map(|place| position(self.text, place.offset));
        DesignError { line: place.map(|at| at.0), column: place.map(|at| at.1), key, expected, found, hint }
    }

    /// Where the key of a path stands, also that of a value that was put under another key.
    fn place(&self, path: &str) -> Option<&PlaceInText> {
        let with_unit = || WITH_UNIT.iter().find_map(|unit| self.places.get(&format!("{path}{}", unit.0)));
        self.places.get(path).or_else(|| self.places.get(plain(path))).or_else(with_unit)
    }

    /// The number of few bytes that stands without a unit at the path of a size.
    pub fn forgotten_unit(&self, path: &str) -> Option<String> {
        let was_taken_as_bytes = path.ends_with("_bytes") && !self.places.contains_key(path);
        let number: u64 = self.place(path).filter(|_| was_taken_as_bytes)?.text.parse().ok()?;
        (1..MOST_WITHOUT_UNIT).contains(&number).then(|| number.to_string())
    }

    /// What to try where a number without a unit makes no sense.
    fn unit_hint(&self, path: &str, expected: &str, place: &PlaceInText) -> Option<String> {
        if expected.starts_with("a ratio") {
            let percent: f64 = place.text.parse().ok().filter(|percent| (1.0..=100.0).contains(percent))?;
            return Some(format!("try \"{percent} %\""));
        }
        let number = self
            .forgotten_unit(path)
            .or_else(|| (place.text == "0" && path.ends_with("_bytes")).then(|| "1".to_owned()))?;
        let tries = format!("try \"{number} KiB\", \"{number} MiB\" or \"{number} GiB\"");
        Some(format!("a number without a unit is bytes: {tries}"))
    }
}

/// Of limits of rates in a table that has none, and of what does not stand within one.
fn advice_on_limits(path: &str, key: &str, known: &[String]) -> Option<&'static str> {
    let has = |name: &str| names(known).any(|other| other == name);
    let parent = path.rsplit('.').nth(1).unwrap_or_default();
    if has("burst_left") {
        return match key {
            "read" | "reads" | "read_iops" | "read_bandwidth" => {
                Some("limits of reads stand beside it, as read_limit = { ... }")
            }
            "write" | "writes" | "write_iops" | "write_bandwidth" => {
                Some("limits of writes stand beside it, as write_limit = { ... }")
            }
            "credits" | "burst_credits" | "credit" | "bucket" => {
                Some("credits are told by how long they last: burst_for = credits / (burst_iops - iops)")
            }
            _ => None,
        };
    }
    let is_of_rates = ["limit", "read_limit", "write_limit", "iops_limit", "max_iops", "qos", "bandwidth_limit"];
    let is_elsewhere = !has("limit") && !has("commands_per_s") && !parent.starts_with("background");
    (is_of_rates.contains(&key) && is_elsewhere).then_some("limits of rates belong to a [[volume]] or a [[host]]")
}

/// A number as it is written, with its unit, where the message has it without.
fn as_written(place: &PlaceInText, found: &str) -> Option<String> {
    let same = found.parse::<f64>().ok()? == place.number?;
    same.then(|| place.text.clone())
}
