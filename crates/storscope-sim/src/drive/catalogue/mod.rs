//! Named drives and classes of drives, with the source of every number.
//!
//! A number is read in a source, measured (fitted to published measurements), recalled (known to us, but not seen in a
//! source when this was written) or taken from its class. Recalled and class numbers are a start; a drive's own data sheet
//! or a fit to its own measurements is better.

mod flash;
mod rotating;
mod row;

use storscope_types::design::drive::DriveDesign;

/// A drive, or what is typical of a class.
#[derive(Debug, Clone, Copy)]
pub struct CatalogueEntry {
    /// What designs call it.
    pub name: &'static str,
    /// Maker and model, or the class.
    pub title: &'static str,
    /// Class: of the catalogue's class entries, the one that fits.
    pub class: &'static str,
    /// Where its numbers come from.
    pub sources: &'static [Source],
    kind: Kind,
}

/// Where some of an entry's numbers come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source {
    /// Fields of the design, separated by commas.
    pub fields: &'static str,
    /// How they are known.
    pub origin: Origin,
    /// Document or measurement.
    pub text: &'static str,
}

const fn source(fields: &'static str, origin: Origin, text: &'static str) -> Source {
    Source { fields, origin, text }
}

/// How a number is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// It stands in the source.
    Read,
    /// Fitted to the measurements of the source.
    Measured,
    /// Known to us; check before use.
    Recalled,
    /// Typical of the class.
    Class,
}

impl Origin {
    /// The word for it in lists.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Measured => "measured",
            Self::Recalled => "recalled",
            Self::Class => "class",
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Rotating(&'static row::Row),
    Flash(&'static flash::Row),
}

impl CatalogueEntry {
    /// The drive's parameters.
    #[must_use]
    pub fn design(&self) -> DriveDesign {
        match self.kind {
            Kind::Rotating(row) => DriveDesign::Mechanical(row.design()),
            Kind::Flash(row) => DriveDesign::Flash(row.design()),
        }
    }

    /// Whether any of its numbers is recalled, not read or measured.
    #[must_use]
    pub fn has_recalled_numbers(&self) -> bool {
        self.sources.iter().any(|source| source.origin == Origin::Recalled)
    }
}

/// All entries: mechanical drives, then flash; classes first.
pub fn entries() -> impl Iterator<Item = CatalogueEntry> {
    let rotating = rotating::ROWS.iter().map(|row| CatalogueEntry {
        name: row.name,
        title: row.title,
        class: row.class,
        sources: row.sources,
        kind: Kind::Rotating(row),
    });
    let flash = flash::ROWS.iter().map(|row| CatalogueEntry {
        name: row.name,
        title: row.title,
        class: row.class,
        sources: row.sources,
        kind: Kind::Flash(row),
    });
    rotating.chain(flash)
}

/// The entry of that name.
#[must_use]
pub fn find(name: &str) -> Option<CatalogueEntry> {
    entries().find(|entry| entry.name == name)
}

#[cfg(test)]
mod tests {
    use super::{Origin, entries, find};
    use crate::drive::fit::closed_loop::ClosedLoop;

    #[test]
    fn every_entry_is_sound_and_unlike_the_others() {
        let names: Vec<&str> = entries().map(|entry| entry.name).collect();
        for entry in entries() {
            entry.design().check().unwrap_or_else(|error| panic!("{}: {error}", entry.name));
            assert_eq!(names.iter().filter(|name| **name == entry.name).count(), 1, "{}", entry.name);
            assert!(names.contains(&entry.class), "{} is of the class {}", entry.name, entry.class);
            assert!(!entry.sources.is_empty(), "{} has no source", entry.name);
        }
    }

    #[test]
    fn every_field_of_an_entry_has_a_source() {
        let given = ["size", "rotation", "seek", "rates", "heads", "overhead", "settle", "buffer", "sorting"];
        for entry in entries().filter(|entry| matches!(entry.kind, super::Kind::Rotating(_))) {
            let sourced: Vec<&str> = entry.sources.iter().flat_map(|source| source.fields.split(", ")).collect();
            for field in given {
                let count = sourced.iter().filter(|name| **name == field).count();
                assert_eq!(count, 1, "{}: {field} has {count} sources", entry.name);
            }
        }
    }

    #[test]
    fn classes_reach_what_is_typical_of_them() {
        // Rules of thumb of administrators for random 4 KiB reads, one and 32 outstanding.
        for (name, one, many) in [
            ("7200-sata", 70.0..=82.0, 115.0..=170.0),
            ("10k-sas", 120.0..=150.0, 180.0..=300.0),
            ("15k-sas", 170.0..=195.0, 300.0..=450.0),
        ] {
            let design = find(name).unwrap().design();
            let at_one = ClosedLoop::reads(1, 20_000).run(&design, 1).iops;
            let at_many = ClosedLoop::reads(32, 20_000).run(&design, 1).iops;
            assert!(one.contains(&at_one), "{name}: {at_one} at depth 1");
            assert!(many.contains(&at_many), "{name}: {at_many} at depth 32");
        }
    }

    #[test]
    fn the_documentation_lists_every_entry() {
        let page = include_str!("../../../../../docs/drives.md");
        for entry in entries() {
            assert!(
                page.contains(&format!("| `{}` | {} |", entry.name, entry.title)),
                "{}: run drive_catalogue",
                entry.name
            );
        }
    }

    #[test]
    fn origins_have_different_words() {
        let words = [Origin::Read, Origin::Measured, Origin::Recalled, Origin::Class].map(Origin::word);
        assert_eq!(words, ["read", "measured", "recalled", "class"]);
    }
}
