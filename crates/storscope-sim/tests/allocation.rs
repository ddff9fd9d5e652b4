//! Nothing is allocated per I/O, and memory does not grow with the number of I/Os.

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::json;
use support::*;

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: everything is handed to the system's allocator; counting touches an atomic only.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn the_loop_takes_no_memory_once_it_has_seen_its_depth() {
    let group = json!({"count": 10, "layout": "raid5", "segment_bytes": 64 * KIB, "spares": 1});
    let mut design = design(sata(), group, 100 * GIB);
    design["cache"] = json!({"write": {"size_bytes": 8 * MIB}, "read": {"size_bytes": 8 * MIB},
        "prefetch": {"depth_bytes": MIB}});
    design["controllers"] = json!([{"name": "a", "cost_per_op_ns": 20_000, "queue_limit": 24}]);
    design["links"] = json!({"front_end": {"preset": "fc4"}, "back_end": {"preset": "fc4"}});
    let mut array = array(&design, 1);
    let io = |random: &mut storscope_sim::kernel::Random, _| Io {
        write: random.below(3) == 0,
        ..random_read(random, 100 * GIB, 16 * KIB)
    };
    closed(&mut array, 32, 60_000, 0.0, io);
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    closed(&mut array, 32, 100, 0.0, io);
    let of_the_driver = ALLOCATIONS.load(Ordering::Relaxed) - before;
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    closed(&mut array, 32, 60_000, 0.0, io);
    let count = ALLOCATIONS.load(Ordering::Relaxed) - before;
    assert!(count <= of_the_driver + 4, "{count} allocations for 60,000 I/Os, {of_the_driver} for 100");
}
