//! The mapping of all layouts, as properties.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use storscope_sim::layout::{Map, Place, Update, UpdateKind};
use storscope_types::Bytes;
use storscope_types::design::{GroupDesign, Layout, ParityUpdate, Redundancy};

fn group(layout: Layout, count: u32, width: Option<u32>, redundancy: Option<Redundancy>) -> GroupDesign {
    let text = serde_json::json!({"name": "g", "drive": "d", "count": count, "layout": layout,
        "segment_bytes": 4096, "width": width, "redundancy": redundancy});
    serde_json::from_value(text).expect("a group")
}

fn groups() -> impl Strategy<Value = GroupDesign> {
    let sets = 1_u32..6;
    prop_oneof![
        (1_u32..20).prop_map(|count| group(Layout::Raid0, count, None, None)),
        sets.clone().prop_map(|sets| group(Layout::Raid1, 2 * sets, None, None)),
        (1_u32..24).prop_map(|sets| group(Layout::Raid10, 2 * sets, None, None)),
        (3_u32..17).prop_map(|count| group(Layout::Raid5, count, None, None)),
        (4_u32..17).prop_map(|count| group(Layout::Raid6, count, None, None)),
        (sets.clone(), 3_u32..9).prop_map(|(sets, width)| group(Layout::Raid50, sets * width, Some(width), None)),
        (sets.clone(), 4_u32..9).prop_map(|(sets, width)| group(Layout::Raid60, sets * width, Some(width), None)),
        (sets, 3_u32..6).prop_map(|(sets, copies)| GroupDesign {
            copies: Some(copies),
            ..group(Layout::Raid10, sets * copies, None, None)
        }),
        (3_u32..40).prop_map(|count| GroupDesign {
            copies: Some(3),
            ..group(Layout::Pool, count, None, Some(Redundancy::Raid1))
        }),
        (3_u32..6, 2_u32..9).prop_map(|(parity, data)| GroupDesign {
            parity: Some(parity),
            ..group(Layout::Raid6, data + parity, None, None)
        }),
        (5_u32..40).prop_map(|count| group(Layout::Pool, count, None, Some(Redundancy::Raid5))),
        (6_u32..40).prop_map(|count| group(Layout::Pool, count, None, Some(Redundancy::Raid6))),
        (2_u32..40).prop_map(|count| group(Layout::Pool, count, None, Some(Redundancy::Raid1))),
        (1_u32..40).prop_map(|count| group(Layout::Pool, count, None, None)),
        (5_u32..40, 1_u64..5).prop_map(|(count, rows)| GroupDesign {
            extent: Some(Bytes(rows * 4_096)),
            ..group(Layout::Pool, count, None, Some(Redundancy::Raid5))
        }),
    ]
}

const DRIVE: Bytes = Bytes(1_500 * 4_096);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_segment_has_places_of_its_own_and_all_lie_on_the_drives(group in groups(), seed: u64) {
        prop_assert!(group.check_geometry().is_ok());
        let map = Map::new(&group, DRIVE, seed);
        let mut taken: HashSet<Place> = HashSet::new();
        for stripe in 0..map.stripes().min(2_000) {
            let mut drives = HashSet::new();
            for position in 0..map.width() {
                let place = map.place(stripe, position);
                prop_assert!(place.drive < group.count && place.offset + 4_096 <= DRIVE.0, "{place:?}");
                prop_assert!(taken.insert(place), "{place:?} twice");
                prop_assert!(drives.insert(place.drive), "drive {} twice in stripe {stripe}", place.drive);
            }
        }
    }

    #[test]
    fn what_lies_at_a_place_of_a_pools_drive_is_what_was_put_there(group in groups(), seed: u64, part in 1_u64..5) {
        let mut map = Map::new(&group, DRIVE, seed);
        map.restrict(map.stripes() / part * map.stripe_bytes());
        prop_assume!(!map.has_rows());
        for stripe in 0..map.stripes() {
            for position in 0..map.width() {
                let place = map.place(stripe, position);
                prop_assert!(place.offset < map.used_of_drive());
                prop_assert_eq!(map.unit_at(place.drive, place.offset), Some((stripe, position)));
            }
        }
        let offsets = || (0..map.used_of_drive()).step_by(4_096);
        let held = (0..group.count).map(|drive| offsets().filter(|&at| map.unit_at(drive, at).is_some()).count() as u64);
        prop_assert_eq!(held.sum::<u64>(), map.stripes() * map.width());
    }

    #[test]
    fn bytes_touch_the_sets_that_their_stripes_lie_on(group in groups(), start in 0_u64..400_000, length in 1_u64..100_000) {
        let map = Map::new(&group, DRIVE, 1);
        prop_assume!(map.has_rows());
        let end = (start + length).min(map.stripes() * map.stripe_bytes());
        let start = start.min(end - 1);
        let stripes = start / map.stripe_bytes()..end.div_ceil(map.stripe_bytes());
        let touched: HashSet<u64> = stripes.map(|stripe| u64::from(map.place(stripe, 0).drive) / map.width()).collect();
        for set in 0..map.sets() {
            prop_assert_eq!(map.touches(set, start, end), touched.contains(&set), "{}", set);
        }
    }

    #[test]
    fn data_and_parity_share_the_positions_of_a_stripe(group in groups(), stripe in 0_u64..300) {
        let map = Map::new(&group, DRIVE, 1);
        let stripe = stripe % map.stripes();
        let data = (0..map.data()).map(|index| map.position_of_data(stripe, index));
        let parity = (0..map.parity()).map(|index| map.position_of_parity(stripe, index));
        let positions: HashSet<u64> = data.chain(parity).collect();
        prop_assert_eq!(positions.len() as u64, map.data() + map.parity());
        prop_assert!(positions.iter().all(|&position| position < map.width()));
    }

    #[test]
    fn of_intact_stripes_the_choice_and_the_parity_work_are_those_of_going_through_all_slices(
        group in groups(),
        from in 0_u64..200_000,
        length in 1_u64..200_000,
        policy in prop_oneof![
            Just(ParityUpdate::Cheaper),
            Just(ParityUpdate::ReadModifyWrite),
            Just(ParityUpdate::ReconstructWrite)
        ],
    ) {
        let map = Map::new(&group, DRIVE, 1);
        let start = from % map.stripe_bytes();
        let update = Update { stripe: 7, start, end: (start + length).min(map.stripe_bytes()) };
        let kind = update.choose_intact(&map, policy);
        prop_assert_eq!(kind, update.choose(&map, policy, |_| true));
        let mut read = 0;
        update.reads(&map, kind, |_| true, |slice| read += slice.end - slice.start);
        let written = if kind == UpdateKind::NoParity { 0 } else { update.end - update.start };
        prop_assert_eq!(update.parity_bytes(&map, kind), read + written);
    }

    #[test]
    fn pieces_cover_an_extent_in_order_without_gaps(group in groups(), offset in 0_u64..1_000_000, length in 1_u64..100_000) {
        let map = Map::new(&group, DRIVE, 1);
        let mut at = offset;
        for piece in map.pieces(offset, length) {
            prop_assert_eq!((piece.stripe * map.data() + piece.index) * map.segment() + piece.start, at);
            prop_assert!(piece.start + piece.length <= map.segment());
            at += piece.length;
        }
        prop_assert_eq!(at, offset + length);
    }
}

#[test]
fn parity_visits_all_drives_equally() {
    let map = Map::new(&group(Layout::Raid5, 5, None, None), DRIVE, 1);
    let mut count: HashMap<u32, u32> = HashMap::new();
    for stripe in 0..1_000 {
        *count.entry(map.place(stripe, map.position_of_parity(stripe, 0)).drive).or_default() += 1;
    }
    assert_eq!(count.len(), 5);
    assert!(count.values().all(|&stripes| stripes == 200));
}

#[test]
fn left_symmetric_data_visits_all_drives_in_turn() {
    // Linux md, ALGORITHM_LEFT_SYMMETRIC with 5 drives: parity on 4, 3, 2, ...; data follow the parity.
    let map = Map::new(&group(Layout::Raid5, 5, None, None), DRIVE, 1);
    let drives: Vec<u32> = (0..10)
        .map(|segment| {
            let piece = map.first_piece(segment * 4_096, 1);
            map.place(piece.stripe, map.position_of_data(piece.stripe, piece.index)).drive
        })
        .collect();
    assert_eq!(drives, [0, 1, 2, 3, 4, 0, 1, 2, 3, 4]);
}

#[test]
fn a_pool_of_extents_keeps_rows_together_and_spreads_any_stretch_over_what_is_used() {
    let design =
        GroupDesign { extent: Some(Bytes(4 * 4_096)), ..group(Layout::Pool, 10, None, Some(Redundancy::Raid5)) };
    let drive = Bytes(100_000 * 4_096);
    let mut map = Map::new(&design, drive, 3);
    map.restrict(map.stripes() * map.stripe_bytes() / 2);
    let tenth = map.stripes() / 10;
    for first in [0, 2 * tenth, 4 * tenth] {
        let first = first / 4 * 4;
        let places = |stripe| (0..5).map(move |position| (stripe, position));
        let (mut sum, mut count) = (0.0, 0.0);
        for (stripe, position) in (first..first + tenth).flat_map(places) {
            let place = map.place(stripe, position);
            assert!(place.offset < drive.0 / 2 + drive.0 / 100, "{place:?} is where no volume is");
            if stripe % 4 > 0 {
                let before = map.place(stripe - 1, position);
                assert_eq!((before.drive, before.offset + 4_096), (place.drive, place.offset));
            }
            (sum, count) = (sum + place.offset as f64, count + 1.0);
        }
        let mean = sum / count / drive.0 as f64;
        assert!((0.23..0.27).contains(&mean), "a stretch from {first} on lies at {mean} of the drives");
    }
}

#[test]
fn a_pool_uses_all_drives_alike_and_any_two_share_stripes() {
    let map = Map::new(&group(Layout::Pool, 13, None, Some(Redundancy::Raid5)), DRIVE, 9);
    let mut used = [0_u64; 13];
    let mut together = HashSet::new();
    for stripe in 0..map.stripes() {
        let drives: Vec<u32> = (0..5).map(|position| map.place(stripe, position).drive).collect();
        drives.iter().for_each(|&drive| used[drive as usize] += 1);
        together.extend(drives.iter().flat_map(|&left| drives.iter().map(move |&right| (left, right))));
    }
    let (least, most) = (used.iter().min().expect("13"), used.iter().max().expect("13"));
    assert!(most - least <= most / 40, "{used:?}");
    assert_eq!(together.len(), 13 * 13);
}

#[test]
fn every_drive_of_a_pool_shares_stripes_with_every_other_about_as_often() {
    for (count, redundancy) in [(12, Redundancy::Raid1), (46, Redundancy::Raid5), (96, Redundancy::Raid5)] {
        let map = Map::new(&group(Layout::Pool, count, None, Some(redundancy)), Bytes(4_000_000 * 4_096), 3);
        let mut partners = vec![0_u64; count as usize];
        let failed = 7;
        for stripe in (0..map.stripes()).step_by(7) {
            let drives: Vec<u32> = (0..map.width()).map(|position| map.place(stripe, position).drive).collect();
            if drives.contains(&failed) {
                drives.iter().for_each(|&drive| partners[drive as usize] += 1);
            }
        }
        partners.swap_remove(failed as usize);
        let mean = partners.iter().sum::<u64>() as f64 / partners.len() as f64;
        let most = *partners.iter().max().expect("drives") as f64;
        assert!(most / mean < 1.15, "{count}: {most} against {mean}");
    }
}
