//! What a fault of a design says.

use thiserror::Error;

/// A key that cannot be simulated as it stands.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{path}: expected {expected}, found {found}")]
pub struct DesignFault {
    /// The key, as in `groups[0].count`.
    pub path: String,
    /// What would be sound.
    pub expected: String,
    /// What stands there.
    pub found: String,
}

pub(crate) fn require(sound: bool, path: &str, expected: &str, found: &str) -> Result<(), DesignFault> {
    if sound {
        return Ok(());
    }
    Err(DesignFault { path: path.to_owned(), expected: expected.to_owned(), found: found.to_owned() })
}

pub(crate) fn within(value: f64, least: f64, most: f64, path: &str, expected: &str) -> Result<(), DesignFault> {
    require(value >= least && value <= most, path, expected, &value.to_string())
}
