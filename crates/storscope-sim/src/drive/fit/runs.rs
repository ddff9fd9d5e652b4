//! Loops on drives that a fit tries, each made once: leaving a point out tries most drives again.

use std::cell::RefCell;
use std::collections::HashMap;

use storscope_device::Direction;
use storscope_types::design::drive::{DriveDesign, MechanicalDesign};

use super::closed_loop::{ClosedLoop, Measured};
use super::grid::{Grid, SEED};

type Key = (String, bool, u32, u32);

/// What was measured of drives under the requests of one grid.
pub struct Runs<'a> {
    grid: &'a Grid,
    made: RefCell<HashMap<Key, Measured>>,
}

impl<'a> Runs<'a> {
    /// None yet. Of the grid only its requests matter, not its points.
    pub fn of(grid: &'a Grid) -> Self {
        Self { grid, made: RefCell::default() }
    }

    /// What a drive does with so many outstanding.
    pub fn run(&self, design: &DriveDesign, direction: Direction, qd: u32, requests: u32) -> Measured {
        let Grid { block_bytes: block, span_ratio, .. } = *self.grid;
        let make = || ClosedLoop { qd, direction, block, span_ratio, requests }.run(design, SEED);
        let Ok(drive) = serde_json::to_string(design) else { return make() };
        let key = (drive, direction == Direction::Write, qd, requests);
        let known = self.made.borrow().get(&key).copied();
        known.unwrap_or_else(|| {
            let measured = make();
            self.made.borrow_mut().insert(key, measured);
            measured
        })
    }

    /// The same of reads of a drive with platters. One that has nothing to choose among at such a depth does as one that
    /// does not sort.
    pub fn reads(&self, design: &MechanicalDesign, qd: u32, requests: u32) -> Measured {
        let mut drive = design.clone();
        drive.queueing = design.queueing.filter(|queueing| qd > queueing.least_depth + 1);
        self.run(&DriveDesign::Mechanical(drive), Direction::Read, qd, requests)
    }
}
