//! Where the system starts no more threads a run ends in words. A limit on memory, too little for many large stacks, stands
//! for one on tasks, which does not hold for root. The test runs itself again, since stacks get their size when a process
//! begins.

use std::fs::read_to_string;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use storscope_load::{Engine, Plan, Run, TargetSpec};
use storscope_types::{Access, AccessSpec, Bytes, Load, Nanos, Stream, Workload};

const STACK: u64 = 256 << 20;
/// Eight stacks, and all else that a run takes.
const ROOM: u64 = 8 * STACK + STACK / 2;
const CONFINED: &str = "STORSCOPE_TEST_CONFINED";

fn limit() -> libc::rlimit {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is ours and writable for the whole call.
    assert_eq!(unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) }, 0);
    limit
}

fn set(limit: libc::rlimit) {
    // SAFETY: the call only reads `limit`.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) }, 0);
}

/// Address space in use; pages are of 4 KiB at least.
fn used_bytes() -> u64 {
    let pages: u64 = read_to_string("/proc/self/statm").unwrap().split(' ').next().unwrap().parse().unwrap();
    // SAFETY: it takes no memory of ours.
    pages * unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64
}

/// What `work` gives where there is room for a few threads only.
fn confined<T>(work: impl FnOnce() -> T) -> T {
    let before = limit();
    set(libc::rlimit { rlim_cur: used_bytes() + ROOM, ..before });
    let given = work();
    set(before);
    given
}

fn plan(workers: u32, outstanding: u32, path: &Path) -> Plan {
    let lines = vec![AccessSpec::random_read(Bytes::from_kib(4))];
    let stream = Stream { workers, ..Stream::new(Access::Mix { lines }, Load::Closed { outstanding }) };
    Plan {
        workload: Workload::of("test", stream),
        targets: vec![TargetSpec::Path { path: path.to_owned(), direct: false }],
        engine: Engine::Threads,
        seed: 1,
        duration: Some(Nanos::from_millis(100)),
        max_ios_per_worker: None,
        max_bytes_per_worker: None,
        interval: Nanos::from_millis(100),
        max_failures: 0,
        held: false,
    }
}

#[test]
fn a_run_without_threads_for_its_workers_or_ios_says_which_limit_to_raise() {
    if std::env::var_os(CONFINED).is_some() {
        return ends_in_words();
    }
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.env(CONFINED, "1").env("RUST_MIN_STACK", STACK.to_string()).env("MALLOC_ARENA_MAX", "1");
    let output = again.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

fn ends_in_words() {
    let mut file = tempfile::Builder::new().prefix("storscope-test").tempfile_in("/var/tmp").unwrap();
    file.write_all(&vec![0xA5; 1 << 20]).unwrap();
    let error = confined(|| Run::start(plan(200, 1, file.path())).map(|_| ()).unwrap_err()).to_string();
    assert!(error.starts_with("device: threads: expected 200 threads for workers, found that the system"), "{error}");
    assert!(error.contains("ulimit -u") && error.ends_with("or ask for fewer workers"), "{error}");

    let finished = confined(|| Run::start(plan(1, 200, file.path())).unwrap().finish());
    let error = finished.error.expect("too few threads").to_string();
    assert!(error.starts_with("device: threads: expected 200 threads for outstanding I/Os, found"), "{error}");
    assert!(error.contains("pids.max"), "{error}");
}
