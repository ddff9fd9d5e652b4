//! Where requests go.

use serde::{Deserialize, Serialize};

use crate::Bytes;

/// The distribution of random offsets over a region.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Offsets {
    /// Every position alike.
    #[default]
    Uniform,
    /// The k-th most popular position is chosen with a probability in proportion to `k^-exponent`; popular positions
    /// are scattered over the region.
    Zipf {
        /// Greater than 0; 0.99 is YCSB's usual value, 1.2 is fio's example.
        exponent: f64,
    },
    /// A part of the region gets more than its share.
    HotSpot {
        /// Share of the requests that go to the hot part.
        access_share: f64,
        /// Share of the region that is hot.
        space_share: f64,
        /// Where the hot part starts, as a share of the region.
        #[serde(default)]
        start_share: f64,
    },
}

/// The part of each target that is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Region {
    /// First byte.
    #[serde(default, rename = "start_bytes")]
    pub start: Bytes,
    /// Length; absent means to the end of the target.
    #[serde(default, rename = "length_bytes")]
    pub length: Option<Bytes>,
}

/// Where the workers of a stream begin what is not random.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Starts {
    /// All at the start of the region, as Iometer's and fio's do: what one has read the others find in a cache.
    #[default]
    Together,
    /// Evenly spread over the region: of n workers the k-th, counting from 0, at k/n of it.
    Apart,
}
