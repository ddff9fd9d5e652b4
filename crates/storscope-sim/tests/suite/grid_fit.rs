//! Fitting a drive to throughput against queue depth: known drives are found again, and what the grid does not show is
//! said.

use storscope_device::Direction;
use storscope_sim::drive::catalogue::find;
use storscope_sim::drive::fit::{DepthPoint, FitError, Grid, GridFit, from_grid};
use storscope_types::design::drive::{
    CurveDesign, DriveDesign, FlashDesign, MechanicalDesign, QueueingDesign, WriteCacheDesign,
};
use storscope_types::{Bytes, Nanos};

fn catalogue(name: &str) -> DriveDesign {
    find(name).expect("the catalogue has it").design()
}

/// What a benchmark would find.
fn measure(design: &DriveDesign, depths: &[u32], write_depths: &[u32]) -> Grid {
    let empty = Grid { reads: vec![], writes: vec![], block_bytes: 4096, span_ratio: 1.0, latency_ns_sd: None };
    let point = |direction: Direction, qd: u32| DepthPoint { qd, iops: empty.run(design, direction, qd, 21_000).iops };
    Grid {
        reads: depths.iter().map(|&qd| point(Direction::Read, qd)).collect(),
        writes: write_depths.iter().map(|&qd| point(Direction::Write, qd)).collect(),
        ..empty
    }
}

fn fit(base: &DriveDesign, grid: &Grid) -> GridFit {
    from_grid(base, grid, &|| true).expect("the grid can be fitted")
}

fn number(fit: &GridFit, key: &str) -> f64 {
    fit.numbers.iter().find(|number| number.key == key).unwrap_or_else(|| panic!("{key} in {:?}", fit.numbers)).value
}

#[test]
fn a_known_mechanical_drive_is_found_again_from_another() {
    let DriveDesign::Mechanical(truth) = catalogue("wd-raptor-74gb") else { panic!("a mechanical drive") };
    let grid = measure(&DriveDesign::Mechanical(truth.clone()), &[1, 4, 8, 32], &[1, 8]);
    let unknown = MechanicalDesign {
        write_cache: truth.write_cache.map(|cache| WriteCacheDesign { window: 30, ..cache }),
        queueing: None,
        ..truth.clone()
    };
    let fit = fit(&DriveDesign::Mechanical(unknown), &grid);
    for point in fit.reads.iter().chain(&fit.writes) {
        assert!((point.fitted_per_s / point.measured_per_s - 1.0).abs() < 0.03, "{point:?}");
    }
    let gamma = truth.queueing.map_or(0.0, |queueing| queueing.gamma);
    assert!((number(&fit, "queueing.gamma") - gamma).abs() < 0.08, "{gamma} was found as {:?}", fit.numbers);
    assert!((3.0..=8.0).contains(&number(&fit, "write_cache.window")), "5 was found as {:?}", fit.numbers);
}

/// A fit makes these loops once for all ways to sort.
#[test]
fn a_drive_that_has_nothing_to_choose_among_does_as_one_that_does_not_sort() {
    let DriveDesign::Mechanical(drive) = catalogue("samsung-f1-1tb") else { panic!("a mechanical drive") };
    let grid = measure(&DriveDesign::Mechanical(drive.clone()), &[1], &[]);
    let sorting = drive.queueing.expect("it sorts");
    let rate = |queueing, qd| {
        let design = DriveDesign::Mechanical(MechanicalDesign { queueing, ..drive.clone() });
        grid.run(&design, Direction::Read, qd, 5_000).iops.to_bits()
    };
    for least_depth in [1, 3, 8] {
        let sorts = Some(QueueingDesign { least_depth, ..sorting });
        for qd in 1..=least_depth + 1 {
            assert_eq!(rate(sorts, qd), rate(None, qd), "depth {qd}, sorting from {least_depth}");
        }
        assert_ne!(rate(sorts, least_depth + 2), rate(None, least_depth + 2));
    }
}

#[test]
fn a_mean_seek_from_the_first_tenth_of_a_drive_is_as_sure_as_the_full_stroke_that_it_rests_on() {
    // The truth has a full stroke of 1.55 mean seeks, the drive it is taken for one of 1.88.
    let truth = catalogue("samsung-f1-1tb");
    let tenth = Grid { reads: vec![], writes: vec![], block_bytes: 4096, span_ratio: 0.1, latency_ns_sd: None };
    let point = |qd: u32| DepthPoint { qd, iops: tenth.run(&truth, Direction::Read, qd, 21_000).iops };
    let found = fit(&catalogue("7200-sata"), &Grid { reads: [1, 2, 4].map(point).to_vec(), ..tenth.clone() });
    let number = found.numbers.iter().find(|number| number.key == "seek.average_ns").expect("it is fitted");
    let off = (number.value / 9.45e6).ln().abs();
    let error = number.error_ratio.expect("the grid shows it");
    assert!(off > 0.1 && off < 2.0 * error && number.is_known, "off by {off}, said to be sure to {error}");
}

#[test]
fn writes_faster_than_reads_mean_a_cache_and_slower_ones_a_settle() {
    let DriveDesign::Mechanical(bare) = catalogue("10k-sas") else { panic!("a mechanical drive") };
    let bare = DriveDesign::Mechanical(bare);
    let mut grid = measure(&bare, &[1], &[]);
    grid.writes = vec![DepthPoint { qd: 1, iops: 1.4 * grid.reads[0].iops }];
    assert!(matches!(fit(&bare, &grid).design, DriveDesign::Mechanical(found) if found.write_cache.is_some()));
    grid.writes = vec![DepthPoint { qd: 1, iops: 0.7 * grid.reads[0].iops }];
    let slower = fit(&bare, &grid);
    assert!((slower.writes[0].fitted_per_s / slower.writes[0].measured_per_s - 1.0).abs() < 0.02, "{slower:?}");
}

#[test]
fn writes_that_gain_with_depth_as_reads_do_go_into_no_cache() {
    let DriveDesign::Mechanical(truth) = catalogue("10k-sas") else { panic!("a mechanical drive") };
    let settle = Nanos(400_000);
    let truth = MechanicalDesign { write_settle: settle, ..truth };
    let grid = measure(&DriveDesign::Mechanical(truth.clone()), &[1, 4, 16, 64], &[1, 4, 16, 64]);
    assert!(grid.writes[3].iops > 1.1 * grid.reads[0].iops, "many writes are faster than one read: {grid:?}");
    let DriveDesign::Mechanical(sata) = catalogue("7200-sata") else { panic!("a mechanical drive") };
    let cached = DriveDesign::Mechanical(MechanicalDesign { write_cache: sata.write_cache, ..truth.clone() });
    for like in [catalogue("10k-sas"), cached] {
        let found = fit(&like, &grid);
        assert!(
            matches!(&found.design, DriveDesign::Mechanical(one) if one.write_cache.is_none()),
            "{:?}",
            found.design
        );
        for point in &found.writes {
            assert!((point.fitted_per_s / point.measured_per_s - 1.0).abs() < 0.05, "{point:?}");
        }
    }
}

#[test]
fn a_known_flash_drive_is_found_again_and_a_limit_it_never_reached_is_not_known() {
    let truth = catalogue("crucial-250gb");
    let whole = fit(&catalogue("sata-ssd"), &measure(&truth, &[1, 4, 16, 64], &[8, 32]));
    assert!((number(&whole, "dies") - 8.0).abs() < 0.1, "{:?}", whole.numbers);
    assert!((number(&whole, "read_ns") / 94e3 - 1.0).abs() < 0.05, "{:?}", whole.numbers);
    assert!((number(&whole, "commands_per_s") / 53e3 - 1.0).abs() < 0.05, "{:?}", whole.numbers);
    for point in whole.reads.iter().chain(&whole.writes) {
        assert!((point.fitted_per_s / point.measured_per_s - 1.0).abs() < 0.05, "{point:?}");
    }
    let shallow = fit(&catalogue("sata-ssd"), &measure(&truth, &[1, 2], &[]));
    let limit = shallow.numbers.iter().find(|number| number.key == "commands_per_s").expect("it is listed");
    assert!(!limit.is_known, "{limit:?}");
}

#[test]
fn writes_of_flash_that_rise_with_depth_tell_how_long_one_takes_to_be_accepted() {
    let DriveDesign::Flash(like) = catalogue("nvme-ssd") else { panic!("a flash drive") };
    let truth = FlashDesign { write_accept: Nanos(45_000), program: Nanos(700_000), ..like.clone() };
    let depths = [1, 2, 4, 8, 16, 32];
    let grid = measure(&DriveDesign::Flash(truth), &depths, &depths);
    assert!(grid.writes[2].iops > 3.0 * grid.writes[0].iops, "the dies do not hold up few: {grid:?}");
    let found = fit(&DriveDesign::Flash(like), &grid);
    assert!((number(&found, "write_accept_ns") / 45e3 - 1.0).abs() < 0.05, "{:?}", found.numbers);
    assert!((number(&found, "program_ns") / 7e5 - 1.0).abs() < 0.1, "{:?}", found.numbers);
    for point in &found.writes {
        assert!((point.fitted_per_s / point.measured_per_s - 1.0).abs() < 0.05, "{point:?}");
    }
}

#[test]
fn a_curve_gives_back_its_points_and_interpolates_one_left_out() {
    let points = [1, 4, 16].map(|qd| DepthPoint { qd, iops: 100.0 * f64::from(qd).powf(0.3) }).to_vec();
    let grid =
        Grid { reads: points, writes: vec![], block_bytes: 4096, span_ratio: 1.0, latency_ns_sd: Some(0.4 * 10e6) };
    let base = CurveDesign {
        size: Bytes(1_000_000_000),
        reads: vec![],
        writes: None,
        cv: 1.0,
        block: Bytes(4096),
        rate_bytes_per_s: None,
    };
    let fit = fit(&DriveDesign::Curve(base), &grid);
    for point in &fit.reads {
        assert!((point.fitted_per_s / point.measured_per_s - 1.0).abs() < 0.01, "{point:?}");
    }
    // 100 · 4^0.3 lies on the straight line between its neighbours on logarithmic scales.
    let left_out = fit.reads[1].left_out_per_s.expect("there are others");
    assert!((left_out / fit.reads[1].measured_per_s - 1.0).abs() < 0.01, "{left_out}");
    assert!(matches!(fit.design, DriveDesign::Curve(found) if (found.cv - 0.4).abs() < 1e-9));
}

#[test]
fn a_grid_without_reads_or_with_impossible_points_is_refused() {
    let base = catalogue("7200-sata");
    let mut grid = measure(&base, &[1], &[]);
    let refused = |grid: &Grid| from_grid(&base, grid, &|| true).unwrap_err();
    assert_eq!(from_grid(&base, &grid, &|| false).unwrap_err(), FitError::Stopped);
    grid.reads.push(DepthPoint { qd: 1, iops: 80.0 });
    assert!(refused(&grid).to_string().contains("depths that rise from 1 to 1024"), "{:?}", refused(&grid));
    grid.reads.clear();
    assert_eq!(refused(&grid), FitError::NoReads);
}
