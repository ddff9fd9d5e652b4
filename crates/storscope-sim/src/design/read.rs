//! Reading a design: syntax, keys and types, then sense; every error with its line.

use serde_json::Value;
use storscope_types::Bytes;
use storscope_types::design::drive::DriveDesign;
use storscope_types::design::{ArrayDesign, RateLimitDesign, VolumeDesign};
use toml::de::DeTable;

use super::error::DesignError;
use super::keys::plain;
use super::nearest::nearest_within;
use super::syntax::syntax_error;
use super::telling::Teller;
use super::tree::Tree;

/// Most values that are put under another key, such as numbers without a unit that are taken for sizes.
const MOST_RETRIES: usize = 10_000;

/// A design from its TOML text, checked, with the drives of the catalogue that it names.
///
/// # Errors
/// The first thing that is wrong, with line, column, key, what was expected and found, and a hint where there is one.
pub fn read_design(text: &str) -> Result<ArrayDesign, DesignError> {
    let table = DeTable::parse(text).map_err(|error| syntax_error(text, &error))?;
    let mut tree = Tree::new(text);
    let mut value = tree.table(table.get_ref(), "", "")?;
    let reader = Reader { teller: Teller::new(text, tree.places) };
    let design = reader.design(&mut value)?;
    reader.check_names_of_drives(&design)?;
    reader.check_sizes_of_volumes(&design)?;
    complete_design(design).map_err(|fault| reader.teller.at(&fault.path, fault.expected, fault.found, None))
}

/// Adds the drives of the catalogue that a design names, and the figures of presets that depend on it, and checks it.
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
    for volume in &mut design.volumes {
        fit_to_size(volume.size, [&mut volume.limit, &mut volume.read_limit, &mut volume.write_limit]);
    }
    for change in design.changes.iter_mut().filter_map(|change| change.limits_change.as_mut()) {
        let of_it = |volume: &&VolumeDesign| Some(&volume.name) == change.volume.as_ref();
        if let Some(volume) = design.volumes.iter().find(of_it) {
            fit_to_size(volume.size, [&mut change.limit, &mut change.read_limit, &mut change.write_limit]);
        }
    }
    design.check()?;
    Ok(design)
}

/// Gives limits of a volume of this size the figures of their presets.
fn fit_to_size(size: Bytes, limits: [&mut Option<RateLimitDesign>; 3]) {
    for limit in limits {
        *limit = limit.map(|limit| limit.for_size(size));
    }
}

fn drive_of_catalogue(name: &str) -> Option<DriveDesign> {
    crate::drive::catalogue::find(name).map(|entry| entry.design())
}

struct Reader<'text> {
    teller: Teller<'text>,
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
        Err(self.teller.at("", "fewer keys".to_owned(), "too many".to_owned(), None))
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
        let all = own.iter().copied().chain(of_catalogue());
        let nearest = nearest_within(&group.drive, all, 1 + group.drive.len() / 3);
        let guess = nearest.map_or_else(String::new, |other| format!("did you mean {other:?}? "));
        let hint = format!("{guess}The catalogue: storscope simulate --drives");
        Err(self.teller.at(&format!("groups[{index}].drive"), expected, format!("{:?}", group.drive), Some(hint)))
    }

    /// Volumes whose unit was forgotten: any number of bytes would make sense to an array, but hardly to a person.
    fn check_sizes_of_volumes(&self, design: &ArrayDesign) -> Result<(), DesignError> {
        for index in 0..design.volumes.len() {
            for key in ["size", "start"] {
                let path = format!("volumes[{index}].{key}_bytes");
                let Some(number) = self.teller.forgotten_unit(&path) else { continue };
                return Err(self.teller.at(&path, "a size with a unit".to_owned(), number, None));
            }
        }
        Ok(())
    }

    /// Puts a value under the key that it belongs to, if that is what is wrong, else says what is.
    fn repair_or_fail(&self, value: &mut Value, path: &str, message: &str) -> Result<(), DesignError> {
        let Some((key, known)) = unknown_field(message) else { return Err(self.teller.wrong(path, message)) };
        let parent = path.strip_suffix(&key).unwrap_or(path).trim_end_matches('.');
        let whole = if parent.is_empty() { key.clone() } else { format!("{parent}.{key}") };
        let Some(object) = find(value, parent).and_then(Value::as_object_mut) else {
            return Err(self.teller.unknown(&whole, &key, &known));
        };
        let in_bytes = format!("{key}_bytes");
        if known.contains(&in_bytes) && object.contains_key(&in_bytes) {
            return Err(self.teller.twice(&whole, &format!("{whole}_bytes")));
        }
        let other = if known.contains(&in_bytes)
            && object.get(&key).is_some_and(Value::is_u64)
            && self.teller.is_bare(&whole)
        {
            object.get(&key).cloned().map(|number| (in_bytes, number))
        } else {
            self.teller.as_text(&whole, &key, &known).map(|text| (plain(&key).to_owned(), Value::String(text)))
        };
        let Some((right, value)) = other else { return Err(self.teller.unknown(&whole, &key, &known)) };
        object.remove(&key);
        object.insert(right, value);
        Ok(())
    }
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
