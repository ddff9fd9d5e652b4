//! What can go wrong.

use thiserror::Error;

/// Why a simulation cannot be made or trusted.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum SimError {
    /// The design cannot be simulated.
    #[error("{path}: expected {expected}, found {found}")]
    Design {
        /// The key, as in `groups[0].drive`.
        path: String,
        /// What would be sound.
        expected: String,
        /// What stands there.
        found: String,
    },
    /// The books do not balance: an error of the simulator, whose figures must not be used.
    #[error(
        "{component}: {law} is violated: {left} against {right}; this is an error of the simulator, please report it"
    )]
    Law {
        /// Where.
        component: String,
        /// Which law.
        law: &'static str,
        /// One side.
        left: f64,
        /// The other.
        right: f64,
    },
}

impl SimError {
    pub(crate) fn design(path: &str, expected: &str, found: &str) -> Self {
        Self::Design { path: path.to_owned(), expected: expected.to_owned(), found: found.to_owned() }
    }
}
