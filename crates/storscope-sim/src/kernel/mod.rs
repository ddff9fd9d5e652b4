//! What every simulation needs: an event list, stations, a slab of jobs, random draws and fast division.

mod divisor;
mod random;
mod slab;
mod station;
mod tournament;

pub use divisor::Divisor;
pub use random::Random;
pub use slab::{NONE, Slab};
pub use station::{Departure, Station, StationTotals};
pub use tournament::Tournament;
