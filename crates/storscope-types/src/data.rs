//! What is written, and whether reads are checked.

use serde::{Deserialize, Serialize};

use crate::Bytes;

/// The pool that written data comes from. Each block of a write is stamped, so that no two are equal by accident.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataPool {
    /// Share of each stamped block that is zeros, the rest being random: 0 cannot be compressed, 0.5 compresses 2:1.
    #[serde(default)]
    pub compressible_ratio: f64,
    /// Share of blocks that repeat one of a few contents.
    #[serde(default)]
    pub duplicate_ratio: f64,
    /// How many different contents the repeated blocks have.
    #[serde(default = "few")]
    pub duplicate_contents: u32,
    /// The blocks that repeat: whole, and where a multiple of it begins. Who compares smaller ones finds as many, who
    /// compares larger ones none.
    #[serde(default = "four_kib", rename = "duplicate_block_bytes")]
    pub duplicate_block: Bytes,
    /// Least size of the pool; it grows with the queue.
    #[serde(default = "four_mib", rename = "pool_bytes")]
    pub size: Bytes,
    /// Seed of contents and stamps, apart from the run's: what one run wrote another can verify.
    #[serde(default)]
    pub seed: u64,
}

impl Default for DataPool {
    fn default() -> Self {
        Self {
            compressible_ratio: 0.0,
            duplicate_ratio: 0.0,
            duplicate_contents: few(),
            duplicate_block: four_kib(),
            size: four_mib(),
            seed: 0,
        }
    }
}

/// Whether reads are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verification {
    /// Reads are thrown away.
    #[default]
    None,
    /// Each block's stamp must name the place it was written to. Finds misplaced, torn-off and lost first writes; does
    /// not find an old version of the right block.
    Stamps,
}

fn few() -> u32 {
    64
}

fn four_kib() -> Bytes {
    Bytes::from_kib(4)
}

fn four_mib() -> Bytes {
    Bytes::from_mib(4)
}
