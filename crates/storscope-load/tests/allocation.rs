//! The inner loop takes no memory.

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use storscope_device::{Clock, Completion, Device, DeviceError, FlushRequest, NullDevice, Request, SystemClock};
use storscope_load::Generator;
use storscope_types::{AccessSpec, Bytes, Flush, FlushKind, Nanos, Process, ThinkTime, Workload};
use support::{GIB, closed, mix, open, reads_4k, seconds, task};

struct Counting;

static COUNTING: AtomicBool = AtomicBool::new(false);
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: everything is handed to the system's allocator; counting touches atomics only.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if COUNTING.load(Ordering::Relaxed) {
            ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        }
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

/// Counts allocations from the first wait on.
struct Watched<D> {
    device: D,
    waits: u64,
}

impl<D: Device> Device for Watched<D> {
    fn depth(&self) -> usize {
        self.device.depth()
    }

    fn submit(&mut self, request: Request) {
        self.device.submit(request);
    }

    fn flush(&mut self, flush: FlushRequest) {
        self.device.flush(flush);
    }

    fn wait(&mut self, until: Nanos, done: &mut Vec<Completion>) -> Result<Nanos, DeviceError> {
        self.waits += 1;
        COUNTING.store(self.waits > 100, Ordering::Relaxed);
        self.device.wait(until, done)
    }
}

fn allocations(workload: &Workload) -> (u64, u64) {
    ALLOCATIONS.store(0, Ordering::Relaxed);
    let clock = SystemClock::start();
    let spans = [GIB];
    let mut task = task(workload, &spans, seconds(0.2));
    task.start = clock.now();
    let device = Watched { device: NullDevice::new(clock, 64), waits: 0 };
    let mut generator = Generator::new(device, clock, &task);
    // The interval is longer than the run, so its end is the end of the loop.
    let mut sink = |_| COUNTING.store(false, Ordering::Relaxed);
    let ending = generator.run(&AtomicBool::new(false), &mut sink);
    COUNTING.store(false, Ordering::Relaxed);
    // What is left was allocated when the last interval was rotated: its successor.
    (ALLOCATIONS.load(Ordering::Relaxed), ending.unwrap().completed)
}

/// One test, because allocations of others would be counted, too.
#[test]
fn the_loop_allocates_nothing_per_io() {
    let lines = vec![reads_4k(), AccessSpec { read_share: 0.3, reply: Bytes(512), burst: 3, ..reads_4k() }];
    let mut thinking = mix(lines.clone(), closed(32));
    thinking.streams[0].think_time = Some(ThinkTime { mean: Nanos(1_000), process: Process::Poisson });
    let mut flushing = thinking.clone();
    flushing.streams[0].flush = Some(Flush { every: 2, kind: FlushKind::Data });
    let workloads =
        [mix(lines.clone(), closed(32)), mix(lines.clone(), open(200_000.0, Process::Poisson, 64)), thinking, flushing];
    for workload in workloads {
        let (allocations, ios) = allocations(&workload);
        assert!(ios > 5_000, "{ios} I/Os");
        // An interval begins with 6 histograms, 3 more for flushes, and 3 lists; the last rotation makes one that stays empty, twice.
        assert!(allocations <= 24, "{allocations} allocations in {ios} I/Os of {:?}", workload.streams[0].load);
    }
}
