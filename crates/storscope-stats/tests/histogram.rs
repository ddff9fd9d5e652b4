//! The histogram against hdrhistogram, against sorted values, and at its edges.

use hdrhistogram::Histogram as Hdr;
use proptest::prelude::*;
use storscope_stats::{Histogram, RELATIVE_ERROR};

fn of(values: &[u64]) -> Histogram {
    let mut histogram = Histogram::new();
    values.iter().for_each(|&value| histogram.record(value));
    histogram
}

fn latencies() -> impl Strategy<Value = Vec<u64>> {
    let one = prop_oneof![0..300_u64, 200..20_000_u64, 1_000..10_000_000_u64, 1_u64..1 << 40];
    prop::collection::vec(one, 1..400)
}

proptest! {
    #[test]
    fn quantiles_are_within_the_error_of_the_sorted_values(mut values in latencies(), quantile in 0.0..=1.0_f64) {
        let found = of(&values).quantile(quantile).unwrap();
        values.sort_unstable();
        let rank = ((quantile * values.len() as f64).ceil() as usize).max(1);
        let truth = values[rank - 1];
        prop_assert!(found >= truth, "{found} below {truth}");
        prop_assert!(found as f64 <= truth as f64 * (1.0 + RELATIVE_ERROR), "{found} too far above {truth}");
    }

    #[test]
    fn quantiles_agree_with_hdrhistogram(values in latencies(), quantile in 0.0..=1.0_f64) {
        let mut hdr = Hdr::<u64>::new_with_bounds(1, 1 << 41, 3).unwrap();
        values.iter().for_each(|&value| hdr.record(value).unwrap());
        let (ours, theirs) = (of(&values).quantile(quantile).unwrap() as f64, hdr.value_at_quantile(quantile) as f64);
        prop_assert!((ours - theirs).abs() <= theirs * (RELATIVE_ERROR + 0.001) + 1.0, "{ours} and {theirs}");
    }

    #[test]
    fn merging_is_the_same_as_recording_together(left in latencies(), right in latencies()) {
        let mut merged = of(&left);
        merged.merge(&of(&right));
        let together = of(&[left, right].concat());
        prop_assert!(merged.buckets().eq(together.buckets()));
        prop_assert_eq!((merged.count(), merged.sum()), (together.count(), together.sum()));
        prop_assert_eq!((merged.min(), merged.max()), (together.min(), together.max()));
    }

    #[test]
    fn recording_many_is_the_same_as_recording_each(values in latencies(), times in 0..5_u64) {
        let mut many = Histogram::new();
        values.iter().for_each(|&value| many.record_many(value, times));
        let each: Vec<u64> = values.iter().flat_map(|&value| (0..times).map(move |_| value)).collect();
        let each = of(&each);
        prop_assert!(many.buckets().eq(each.buckets()));
        prop_assert_eq!((many.count(), many.sum(), many.min(), many.max()),
            (each.count(), each.sum(), each.min(), each.max()));
    }

    #[test]
    fn every_value_lies_in_its_bucket_and_the_bucket_is_narrow(value in any::<u64>()) {
        let (low, high) = Histogram::bounds_of(value);
        prop_assert!(low <= value && value <= high);
        prop_assert!((high - low) as f64 <= low as f64 * RELATIVE_ERROR);
        prop_assert!(high == u64::MAX || Histogram::bounds_of(high + 1).0 == high + 1, "no gap above {high}");
    }

    #[test]
    fn count_sum_and_extremes_are_exact(values in latencies()) {
        let histogram = of(&values);
        prop_assert_eq!(histogram.count(), values.len() as u64);
        prop_assert_eq!(histogram.sum(), values.iter().map(|&value| u128::from(value)).sum::<u128>());
        prop_assert_eq!(histogram.min(), values.iter().min().copied());
        prop_assert_eq!(histogram.max(), values.iter().max().copied());
        prop_assert_eq!(histogram.buckets().map(|bucket| bucket.count).sum::<u64>(), histogram.count());
    }
}

#[test]
fn an_empty_histogram_knows_nothing() {
    let empty = Histogram::new();
    assert_eq!((empty.mean(), empty.min(), empty.max(), empty.quantile(0.5)), (None, None, None, None));
    assert_eq!(serde_json::to_value(&empty).unwrap()["mean_ns"], serde_json::Value::Null);
}

#[test]
fn the_ends_of_the_range_have_buckets() {
    let histogram = of(&[0, u64::MAX]);
    let ends: Vec<_> = histogram.buckets().map(|bucket| (bucket.low, bucket.high, bucket.count)).collect();
    assert_eq!(ends, [(0, 0, 1), (255 << 56, u64::MAX, 1)]);
}

#[test]
fn a_cleared_histogram_is_as_new() {
    let mut histogram = of(&[1, 1_000, 1_000_000_000]);
    histogram.clear();
    assert_eq!(histogram.buckets().count(), 0);
    histogram.record(5);
    assert_eq!((histogram.quantile(0.0), histogram.quantile(1.0)), (Some(5), Some(5)));
}

#[test]
fn count_above_is_exact_at_bucket_bounds() {
    let histogram = of(&[10, 255, 256, 257, 258, 70_000]);
    assert_eq!(histogram.count_above(255), 4);
    assert_eq!(histogram.count_above(257), 2);
    assert_eq!(histogram.count_above(70_000), 0);
}
