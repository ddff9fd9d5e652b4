//! Reading a design: syntax, keys and types, then sense; every error with its line.

use serde_json::Value;
use storscope_types::design::ArrayDesign;
use storscope_types::design::drive::DriveDesign;
use toml::de::DeTable;

use super::error::DesignError;
use super::plain_words::expected_and_found;
use super::tree::{PlaceInText, Places, Tree, position};

/// Most numbers without a unit that are taken for sizes.
const MOST_RETRIES: usize = 10_000;
/// From here on a number is hardly one whose unit was forgotten.
const MOST_WITHOUT_UNIT: u64 = 1 << 20;

/// A design from its TOML text, checked, with the drives of the catalogue that it names.
///
/// # Errors
/// The first thing that is wrong, with line, column, key, what was expected and found, and a hint where there is one.
pub fn read_design(text: &str) -> Result<ArrayDesign, DesignError> {
    let table = DeTable::parse(text).map_err(|error| syntax_error(text, &error))?;
    let mut tree = Tree::new(text);
    let mut value = tree.table(table.get_ref(), "", "")?;
    let reader = Reader { text, places: tree.places };
    let design = reader.design(&mut value)?;
    reader.check_names_of_drives(&design)?;
    complete_design(design).map_err(|fault| reader.at(&fault.path, fault.expected, fault.found, None))
}

/// Adds the drives of the catalogue that a design names, and checks it.
///
/// # Errors
/// The first key that does not make sense, with its path in the JSON form.
pub fn complete_design(mut design: ArrayDesign) -> Result<ArrayDesign, storscope_types::design::DesignFault> {
    for group in &design.groups {
        if !design.drives.contains_key(&group.drive)
            && let Some(drive) = drive_of_catalogue(&group.drive)
        {
            design.drives.insert(group.drive.clone(), drive);
        }
    }
    design.check()?;
    Ok(design)
}

fn drive_of_catalogue(name: &str) -> Option<DriveDesign> {
    crate::drive::catalogue::find(name).map(|entry| entry.design())
}

fn syntax_error(text: &str, error: &toml::de::Error) -> DesignError {
    let place = error.span().map(|span| position(text, span.start));
    DesignError {
        line: place.map(|place| place.0),
        column: place.map(|place| place.1),
        key: String::new(),
        expected: "TOML".to_owned(),
        found: error.message().to_owned(),
        hint: None,
    }
}

struct Reader<'text> {
    text: &'text str,
    places: Places,
}

impl Reader<'_> {
    /// The design of a value. Numbers without a unit whose key is that of a size are taken as bytes.
    fn design(&self, value: &mut Value) -> Result<ArrayDesign, DesignError> {
        for _ in 0..MOST_RETRIES {
            self.check_drives(value)?;
            let error = match serde_path_to_error::deserialize::<_, ArrayDesign>(&*value) {
                Ok(design) => return Ok(design),
                Err(error) => error,
            };
            let path = error.path().to_string();
            self.repair_or_fail(value, &path, &error.inner().to_string())?;
        }
        Err(self.at("", "fewer keys".to_owned(), "too many".to_owned(), None))
    }

    /// Drives one by one, since the path within an enum that is told apart by a key gets lost.
    fn check_drives(&self, value: &mut Value) -> Result<(), DesignError> {
        let names: Vec<String> = match value.get("drives").and_then(Value::as_object) {
            Some(drives) => drives.keys().cloned().collect(),
            None => return Ok(()),
        };
        for name in names {
            loop {
                let drive = &value["drives"][&name];
                let Err((inner, message)) = parse_drive(drive) else { break };
                let path = if inner == "." { format!("drives.{name}") } else { format!("drives.{name}.{inner}") };
                self.repair_or_fail(value, &path, &message)?;
            }
        }
        Ok(())
    }

    /// Names of drives that neither the design nor the catalogue has, with the nearest that there is.
    fn check_names_of_drives(&self, design: &ArrayDesign) -> Result<(), DesignError> {
        let of_catalogue = || crate::drive::catalogue::entries().map(|entry| entry.name);
        let is_unknown = |name: &str| !design.drives.contains_key(name) && !of_catalogue().any(|other| other == name);
        let Some((index, group)) = design.groups.iter().enumerate().find(|(_, group)| is_unknown(&group.drive)) else {
            return Ok(());
        };
        let own: Vec<&str> = design.drives.keys().map(String::as_str).collect();
        let expected = match own.as_slice() {
            [] => "the name of a drive of the catalogue, or of a table [drives.NAME]".to_owned(),
            names => format!("the name of a drive: {}, or one of the catalogue", names.join(", ")),
        };
        let name = group.drive.to_lowercase();
        let nearest =
            own.iter().copied().chain(of_catalogue()).min_by_key(|other| distance(&other.to_lowercase(), &name));
        let is_near = |other: &&str| distance(&other.to_lowercase(), &name) <= 1 + name.len() / 3;
        let guess = nearest.filter(is_near).map_or_else(String::new, |other| format!("did you mean {other:?}? "));
        let hint = format!("{guess}The catalogue: storscope simulate --drives");
        Err(self.at(&format!("groups[{index}].drive"), expected, format!("{:?}", group.drive), Some(hint)))
    }

    /// Gives a number the unit of bytes if that is what its key lacks, else says what is wrong.
    fn repair_or_fail(&self, value: &mut Value, path: &str, message: &str) -> Result<(), DesignError> {
        let Some((key, known)) = unknown_field(message) else { return Err(self.wrong(path, message)) };
        let parent = path.strip_suffix(&key).unwrap_or(path).trim_end_matches('.');
        let whole = if parent.is_empty() || parent == "." { key.clone() } else { format!("{parent}.{key}") };
        let parent = if parent == "." { "" } else { parent };
        let in_bytes = format!("{key}_bytes");
        if known.contains(&in_bytes)
            && let Some(object) = find(value, parent).and_then(Value::as_object_mut)
            && object.get(&key).is_some_and(Value::is_u64)
            && !object.contains_key(&in_bytes)
            && let Some(number) = object.remove(&key)
        {
            object.insert(in_bytes, number);
            return Ok(());
        }
        Err(self.unknown(&whole, &key, &known))
    }

    /// A key that does not exist here, perhaps for lack of the right unit.
    fn unknown(&self, path: &str, key: &str, known: &[String]) -> DesignError {
        let bare = ["_bytes_per_s", "_bytes", "_ns"].iter().find_map(|suffix| key.strip_suffix(suffix)).unwrap_or(key);
        let same = known
            .iter()
            .find(|name| name.strip_prefix(bare).is_some_and(|rest| WITH_UNIT.iter().any(|unit| unit.0 == rest)));
        if let Some(name) = same {
            let unit = WITH_UNIT.iter().find(|unit| name.strip_prefix(bare) == Some(unit.0));
            let expected = unit.map_or("another unit", |unit| unit.1);
            let found = self.places.get(path).map_or("another value", |place| place.text.as_str());
            return self.at(path, expected.to_owned(), found.to_owned(), None);
        }
        let nearest = known.iter().map(|name| plain(name)).min_by_key(|name| distance(name, bare));
        let hint = nearest
            .filter(|name| distance(name, bare) <= 1 + bare.len() / 3)
            .map(|name| format!("did you mean {name}?"));
        let names: Vec<&str> = known.iter().map(|name| plain(name)).collect();
        self.at(path, format!("one of {}", names.join(", ")), "a key that does not exist here".to_owned(), hint)
    }

    /// A value of the wrong kind, or one that is missing.
    fn wrong(&self, path: &str, message: &str) -> DesignError {
        if let Some(rest) = message.strip_prefix("missing field `") {
            let key = rest.split('`').next().unwrap_or_default();
            return self.at(path, format!("the key {}", plain(key)), "nothing".to_owned(), None);
        }
        let (expected, found) = expected_and_found(message);
        self.at(path, expected, found, None)
    }

    /// An error at a path, or at the nearest key around it.
    fn at(&self, path: &str, expected: String, found: String, hint: Option<String>) -> DesignError {
        let mut around = if path == "." { "" } else { path };
        let mut place = self.place(around);
        while place.is_none() && !around.is_empty() {
            around = around.rfind(['.', '[']).map_or("", |end| &around[..end]);
            place = self.place(around);
        }
        let hint = hint.or_else(|| place.filter(|_| around == path).and_then(|place| self.unit_hint(path, place)));
        let rest = path.strip_prefix(around).unwrap_or_default();
        let key = match place {
            Some(place) => format!("{}{}", place.written, plain(rest)),
            None => plain(path).trim_start_matches('.').to_owned(),
        };
        let place = place.map(|place| position(self.text, place.offset));
        DesignError { line: place.map(|at| at.0), column: place.map(|at| at.1), key, expected, found, hint }
    }

    /// Where the key of a path stands, also that of a number that was taken as bytes.
    fn place(&self, path: &str) -> Option<&PlaceInText> {
        self.places.get(path).or_else(|| self.places.get(plain(path)))
    }

    /// What to try where a number of few bytes, written without a unit, makes no sense.
    fn unit_hint(&self, path: &str, place: &PlaceInText) -> Option<String> {
        let was_taken_as_bytes = path.ends_with("_bytes") && !self.places.contains_key(path);
        let number: u64 = place.text.parse().ok().filter(|_| was_taken_as_bytes)?;
        let number = number.max(1);
        let tries = format!("try \"{number} KiB\", \"{number} MiB\" or \"{number} GiB\"");
        (number < MOST_WITHOUT_UNIT).then(|| format!("a number without a unit is bytes: {tries}"))
    }
}

/// How names of fields end, and what belongs there.
const WITH_UNIT: [(&str, &str); 3] = [
    ("_bytes_per_s", "a rate with a unit, such as \"400 MB/s\""),
    ("_bytes", "a size, such as \"64 KiB\""),
    ("_ns", "a duration with a unit, such as \"5 ms\""),
];

/// A name without its unit, as it is written in TOML.
fn plain(name: &str) -> &str {
    WITH_UNIT.iter().find_map(|unit| name.strip_suffix(unit.0)).unwrap_or(name)
}

/// A drive by its kind: the path within it and what is wrong.
fn parse_drive(value: &Value) -> Result<(), (String, String)> {
    let mut fields = value.clone();
    let kind = fields.as_object_mut().and_then(|object| object.remove("kind"));
    let outcome = match kind.as_ref().and_then(Value::as_str) {
        Some("mechanical") => errors_of::<storscope_types::design::drive::MechanicalDesign>(&fields),
        Some("flash") => errors_of::<storscope_types::design::drive::FlashDesign>(&fields),
        Some("curve") => errors_of::<storscope_types::design::drive::CurveDesign>(&fields),
        _ => errors_of::<DriveDesign>(value),
    };
    outcome.map_or(Ok(()), Err)
}

fn errors_of<'value, T: serde::Deserialize<'value>>(value: &'value Value) -> Option<(String, String)> {
    let error = serde_path_to_error::deserialize::<_, T>(value).err()?;
    Some((error.path().to_string(), error.inner().to_string()))
}

/// The key of "unknown field `x`, expected one of `a`, `b`", and what is known.
fn unknown_field(message: &str) -> Option<(String, Vec<String>)> {
    let rest = message.strip_prefix("unknown field `")?;
    let (key, known) = rest.split_once('`')?;
    let known = known.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    Some((key.to_owned(), known))
}

/// The value at a path such as `groups[0].journal`.
fn find<'value>(value: &'value mut Value, path: &str) -> Option<&'value mut Value> {
    let mut at = value;
    for part in path.split(['.', '[']).filter(|part| !part.is_empty()) {
        at = match part.strip_suffix(']') {
            Some(index) => at.get_mut(index.parse::<usize>().ok()?)?,
            None => at.get_mut(part)?,
        };
    }
    Some(at)
}

/// How many letters have to be changed, added or left out (Levenshtein 1966).
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (index, letter) in left.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for (at, other) in right.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *other);
            diagonal = row[at + 1];
            row[at + 1] = changed.min(row[at] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}
