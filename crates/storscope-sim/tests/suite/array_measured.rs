//! Arrays against what was measured of them, from the curve of one drive of the class. Nothing is fitted to an array.
//!
//! Published at github.com/louwrentius/fio-plot: fio with direct I/O through libaio, random 4 KiB; Linux md over four drives
//! of 1 TB and 7,200 rpm, a file of 1,861 GiB. The drive is the Samsung F1 of the catalogue, whose seek and sorting come
//! from its own curve. The segment is md's default of 512 KiB; at 4 KiB its size does not matter.

use crate::support::{Io, KIB, array, closed, random_read};
use serde_json::json;
use storscope_sim::kernel::Random;

const FILE_BYTES: u64 = 1_861 << 30;
const READS: [(u32, f64); 8] =
    [(1, 73.2), (2, 146.8), (4, 228.3), (8, 298.4), (16, 363.5), (32, 425.8), (64, 480.5), (128, 518.4)];
/// Median over depths 1 to 128, which lie between 281.0 and 290.4.
const WRITES: f64 = 287.3;

/// Completions per second of a closed loop on four drives, without a fifth of them at the beginning.
fn iops(outstanding: u32, count: u64, read_choice: &str, next: impl FnMut(&mut Random, u32) -> Io + Copy) -> f64 {
    let design = json!({"name": "md10", "groups": [{"name": "g", "drive": "samsung-f1-1tb", "count": 4, "layout": "raid10",
            "segment_bytes": 512 * KIB, "read_choice": read_choice}],
        "volumes": [{"name": "v", "group": "g", "size_bytes": FILE_BYTES}],
        "hosts": [{"name": "h", "volumes": [{"volume": "v"}]}]});
    let mut array = array(&design, 3);
    closed(&mut array, outstanding, count / 4, 0.0, next);
    array.restart_statistics();
    let start = array.now();
    closed(&mut array, outstanding, count, 0.0, next);
    count as f64 / (array.now() - start).as_secs_f64()
}

fn errors(read_choice: &str) -> Vec<f64> {
    let predict = |outstanding| {
        iops(outstanding, 20_000, read_choice, |random: &mut Random, _| random_read(random, FILE_BYTES, 4 * KIB))
    };
    READS.map(|(outstanding, measured)| (predict(outstanding) / measured - 1.0).abs()).to_vec()
}

fn mean(errors: &[f64]) -> f64 {
    errors.iter().sum::<f64>() / errors.len() as f64
}

#[test]
fn random_reads_of_four_mirrored_drives_are_within_eight_percent_on_the_mean() {
    let errors = errors("nearest");
    assert!(mean(&errors) < 0.08, "{errors:?}");
    assert!(errors.iter().all(|&error| error < 0.12), "{errors:?}");
}

#[test]
fn reading_the_copies_in_turn_is_farther_from_what_md_does() {
    assert!(mean(&errors("round_robin")) > 1.5 * mean(&errors("nearest")));
}

#[test]
fn cached_random_writes_of_four_mirrored_drives_are_within_five_percent_at_any_depth() {
    for outstanding in [1, 8, 64] {
        let write = |random: &mut Random, _| Io { write: true, ..random_read(random, FILE_BYTES, 4 * KIB) };
        // A drive takes 160 writes at once between two batches: of fewer in all, where the count ends would tell.
        let predicted = iops(outstanding, 80_000, "nearest", write);
        assert!((predicted / WRITES - 1.0).abs() < 0.05, "{outstanding}: {predicted:.1}, measured {WRITES}");
    }
}
