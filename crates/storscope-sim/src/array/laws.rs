//! The laws that hold in every run, whatever the design: an error here is one of the simulator.
//!
//! Both sides of each law are counted in different ways. Conservation: what came or was there has left or is there.
//! Little's law (1961): the integral of the number present is the sum of the times they were present. Utilisation law
//! (Denning and Buzen 1978): servers work for as long as the service times of what they did, and are idle otherwise.

use super::Array;
use crate::error::SimError;

impl Array {
    /// Whether the books of all components balance.
    ///
    /// # Errors
    /// The first law that is violated, with both sides.
    pub fn check_laws(&self) -> Result<(), SimError> {
        self.check_targets()?;
        self.check_drives()?;
        self.check_stations()
    }

    fn check_targets(&self) -> Result<(), SimError> {
        for (target, account) in self.targets.iter().zip(&self.accounts) {
            let name = || format!("{} on {}", target.volume_name, target.host);
            let came = account.submitted.iter().sum::<u64>() + account.present_at_start;
            equal(name, "conservation of I/Os", came, account.completed.iter().sum::<u64>() + account.present)?;
            equal(name, "Little's law", account.area(self.now), account.residence(self.now))?;
        }
        Ok(())
    }

    fn check_drives(&self) -> Result<(), SimError> {
        let time = (self.now - self.began).0;
        for (index, station) in self.drives.iter().enumerate() {
            let name = || format!("drive {index}");
            let totals = &station.totals;
            let came = totals.submitted.iter().sum::<u64>() + totals.flushes + totals.present_at_start;
            equal(name, "conservation of operations", came, totals.completed + u64::from(station.present()))?;
            equal(name, "Little's law", station.area(self.now), station.residence(self.now))?;
            at_most(name, "utilisation law", station.busy(self.now).0, time)?;
            at_most(name, "utilisation law", totals.service + station.idle(self.now), time)?;
        }
        Ok(())
    }

    fn check_stations(&self) -> Result<(), SimError> {
        for (index, station) in self.stations.iter().enumerate() {
            let name = || format!("{:?} {}", self.station_names[index].0, self.station_names[index].1);
            let totals = station.totals(self.now);
            let came = totals.arrived + totals.present_at_start;
            equal(name, "conservation of jobs", came, totals.departed + station.present() as u64)?;
            equal(name, "Little's law", totals.area, totals.residence)?;
            let all = totals.time.0 * totals.servers as u64;
            equal(name, "utilisation law", totals.busy.0 + totals.idle.0, all)?;
        }
        Ok(())
    }
}

fn equal(component: impl Fn() -> String, law: &'static str, left: u64, right: u64) -> Result<(), SimError> {
    if left == right {
        return Ok(());
    }
    Err(SimError::Law { component: component(), law, left: left as f64, right: right as f64 })
}

fn at_most(component: impl Fn() -> String, law: &'static str, left: u64, right: u64) -> Result<(), SimError> {
    if left <= right { Ok(()) } else { equal(component, law, left, right) }
}
