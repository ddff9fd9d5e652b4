//! The full stroke where a grid does not show it: it keeps its ratio to the mean seek, which differs from drive to drive.
//!
//! Over a whole drive that hardly matters, since the rate tells the mean. Of the first part of a drive the rate tells a
//! short seek, and what mean belongs to it follows from the ratio: an error that no scatter of the measurements shows.

use storscope_types::Nanos;
use storscope_types::design::drive::{DriveDesign, MechanicalDesign, SeekDesign};

use crate::drive::catalogue::entries;

/// The drive with full strokes one standard deviation of the catalogue's ratios shorter and longer, as they lie around its
/// own; none beyond what the catalogue has. Nothing of a seek curve that has no full stroke.
pub fn others(base: &MechanicalDesign) -> Option<[MechanicalDesign; 2]> {
    let own = ratio(base)?;
    let known: Vec<f64> = entries().filter_map(|entry| ratio_of(&entry.design())).collect();
    let squares = known.iter().map(|ratio| (ratio / own).ln().powi(2)).sum::<f64>();
    let deviation = (squares / known.len() as f64).sqrt();
    let least = known.iter().copied().fold(own, f64::min);
    let most = known.iter().copied().fold(own, f64::max);
    Some([-deviation, deviation].map(|step| with_ratio(base, (own * step.exp()).clamp(least, most))))
}

fn ratio_of(design: &DriveDesign) -> Option<f64> {
    match design {
        DriveDesign::Mechanical(design) => ratio(design),
        DriveDesign::Flash(_) | DriveDesign::Curve(_) => None,
    }
}

/// Full stroke over mean.
fn ratio(design: &MechanicalDesign) -> Option<f64> {
    let SeekDesign::DataSheet { average, full_stroke, .. } = design.seek else { return None };
    Some(full_stroke.0 as f64 / average.0 as f64)
}

fn with_ratio(base: &MechanicalDesign, ratio: f64) -> MechanicalDesign {
    let SeekDesign::DataSheet { track_to_track, average, .. } = base.seek else { return base.clone() };
    let full_stroke = Nanos((average.0 as f64 * ratio) as u64);
    MechanicalDesign { seek: SeekDesign::DataSheet { track_to_track, average, full_stroke }, ..base.clone() }
}

#[cfg(test)]
mod tests {
    use super::{others, ratio, ratio_of};
    use crate::drive::catalogue::{entries, find};
    use storscope_types::design::drive::DriveDesign;

    #[test]
    fn the_others_lie_around_a_drive_and_within_the_catalogue() {
        let known: Vec<f64> = entries().filter_map(|entry| ratio_of(&entry.design())).collect();
        for name in ["7200-sata", "samsung-f1-1tb", "wd-raptor-74gb"] {
            let DriveDesign::Mechanical(base) = find(name).unwrap().design() else { panic!("a drive with platters") };
            let [short, long] = others(&base).unwrap().map(|other| {
                assert_eq!(DriveDesign::Mechanical(other.clone()).check(), Ok(()), "{name}");
                ratio(&other).unwrap()
            });
            let own = ratio(&base).unwrap();
            assert!(short <= own && own < long, "{name}: {short} {own} {long}");
            assert!(known.iter().any(|one| *one <= short + 1e-6) && known.iter().any(|one| *one >= long - 1e-6));
        }
    }
}
