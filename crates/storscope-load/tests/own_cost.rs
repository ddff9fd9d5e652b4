//! What a run says that it cost is what it cost. Alone in its process, whose other threads would be counted, too.

use std::io::Write;

use storscope_load::{Engine, Plan, Run, TargetSpec};
use storscope_types::{Access, AccessSpec, Bytes, Load, Nanos, Stream, Workload};

#[test]
fn the_threads_that_make_the_ios_count_in_the_generators_cost() {
    let mut file = tempfile::Builder::new().prefix("storscope-test").tempfile_in("/var/tmp").unwrap();
    file.write_all(&vec![0xA5; 8 << 20]).unwrap();
    let lines = vec![AccessSpec::random_read(Bytes::from_kib(256))];
    let plan = Plan {
        workload: Workload::of("test", Stream::new(Access::Mix { lines }, Load::Closed { outstanding: 8 })),
        targets: vec![TargetSpec::Path { path: file.path().to_owned(), direct: false }],
        engine: Engine::Threads,
        seed: 1,
        duration: Some(Nanos::from_millis(600)),
        max_ios_per_worker: None,
        max_bytes_per_worker: None,
        interval: Nanos::from_millis(100),
        max_failures: 0,
        held: false,
    };
    let result = Run::start(plan).unwrap().finish().result;
    let mut usage = result.total.usage;
    usage.add(&result.drain.usage);
    let share = usage.cpu().0 as f64 / result.process_usage.cpu().0 as f64;
    assert!((0.8..1.05).contains(&share), "{share} of what the process used");
}
