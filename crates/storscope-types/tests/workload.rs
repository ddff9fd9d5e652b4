//! Workloads as JSON, and what is refused.

use storscope_types::{Access, AccessSpec, Bytes, Flush, FlushKind, Load, Process, Stream, Verification, Workload};

fn simple() -> Workload {
    let lines = vec![AccessSpec::random_read(Bytes::from_kib(4))];
    Workload::of("simple", Stream::new(Access::Mix { lines }, Load::Closed { outstanding: 32 }))
}

fn error_path(change: impl FnOnce(&mut Workload)) -> String {
    let mut workload = simple();
    change(&mut workload);
    workload.check(2).expect_err("must be refused").path
}

fn line(workload: &mut Workload) -> &mut AccessSpec {
    match &mut workload.streams[0].access {
        Access::Mix { lines } => &mut lines[0],
        Access::Copy(_) => panic!("the simple workload is a mix"),
    }
}

#[test]
fn a_short_json_takes_the_defaults() {
    let text = r#"{"name": "simple", "streams": [{
        "access": {"kind": "mix", "lines": [{"size_bytes": 4096}]},
        "load": {"kind": "closed", "outstanding": 32}}]}"#;
    assert_eq!(serde_json::from_str::<Workload>(text).unwrap(), simple());
}

#[test]
fn json_round_trips_every_kind() {
    let text = r#"{"name": "all", "source": "by hand", "streams": [
        {"name": "a", "access": {"kind": "copy", "size_bytes": 65536, "destination": 1},
         "load": {"kind": "steps", "steps": [{"rate_per_s": 10.5, "duration_ns": 1000}], "process": "fixed"},
         "offsets": {"kind": "zipf", "exponent": 0.99}, "region": {"start_bytes": 4096, "length_bytes": null},
         "targets": [0], "workers": 2},
        {"access": {"kind": "mix", "lines": [{"size_bytes": 512, "reply_bytes": 64, "delay_ns": 5, "burst": 3}]},
         "load": {"kind": "closed", "outstanding": 1}, "think_time": {"mean_ns": 100}, "flush": {"every": 8, "kind": "fsync"},
         "offsets": {"kind": "hot_spot", "access_share": 0.8, "space_share": 0.2}},
        {"access": {"kind": "mix", "lines": [{"size_bytes": 512}]}, "load": {"kind": "open", "rate_per_s": 9}}],
        "data": {"compressible_ratio": 0.5, "seed": 7}, "verification": "none"}"#;
    let workload: Workload = serde_json::from_str(text).unwrap();
    workload.check(2).unwrap();
    assert!(matches!(workload.streams[2].load, Load::Open { process: Process::Poisson, max_outstanding: 1024, .. }));
    assert_eq!(workload.streams[1].flush, Some(Flush { every: 8, kind: FlushKind::Full }));
    let again: Workload = serde_json::from_str(&serde_json::to_string(&workload).unwrap()).unwrap();
    assert_eq!(again, workload);
}

#[test]
fn an_unknown_field_is_refused_by_name() {
    let text = r#"{"name": "x", "streams": [], "iodepth": 4}"#;
    assert!(serde_json::from_str::<Workload>(text).unwrap_err().to_string().contains("iodepth"));
}

#[test]
fn errors_name_the_field() {
    assert_eq!(error_path(|w| w.streams.clear()), "streams");
    assert_eq!(error_path(|w| line(w).size = Bytes::ZERO), "streams[0].access.lines[0].size_bytes");
    assert_eq!(error_path(|w| line(w).read_share = 1.5), "streams[0].access.lines[0].read_share");
    assert_eq!(error_path(|w| line(w).share = f64::NAN), "streams[0].access.lines");
    assert_eq!(error_path(|w| w.streams[0].targets = vec![0, 2]), "streams[0].targets[1]");
    assert_eq!(error_path(|w| w.streams[0].load = Load::Closed { outstanding: 0 }), "streams[0].load.outstanding");
    assert_eq!(error_path(|w| w.data.duplicate_ratio = -0.1), "data.duplicate_ratio");
    for block in [0, 512, 2048, 12_288, 2 << 20] {
        assert_eq!(error_path(|w| w.data.duplicate_block = Bytes(block)), "data.duplicate_block");
    }
    let many = |data: &mut storscope_types::DataPool| {
        (data.duplicate_ratio, data.duplicate_contents, data.duplicate_block) = (0.1, 257, Bytes(1 << 20));
    };
    assert_eq!(error_path(|w| many(&mut w.data)), "data.duplicate_contents");
}

#[test]
fn a_flush_follows_writes_and_is_fdatasync_unless_told_otherwise() {
    let flush: Flush = serde_json::from_str(r#"{"every": 1}"#).unwrap();
    assert_eq!(flush, Flush { every: 1, kind: FlushKind::Data });
    assert!(serde_json::from_str::<Flush>(r#"{"every": 1, "kind": "sync"}"#).is_err());
    let refused = simple_with_flush(flush, 1.0).check(1).unwrap_err();
    let said = "streams[0].flush: expected writes, which a flush follows, found a stream that only reads";
    assert_eq!(refused.to_string(), said);
    simple_with_flush(flush, 0.99).check(1).unwrap();
    assert_eq!(
        simple_with_flush(Flush { every: 0, ..flush }, 0.0).check(1).unwrap_err().path,
        "streams[0].flush.every"
    );
}

fn simple_with_flush(flush: Flush, read_share: f64) -> Workload {
    let mut workload = simple();
    line(&mut workload).read_share = read_share;
    workload.streams[0].flush = Some(flush);
    workload
}

#[test]
fn verification_needs_blocks_that_fit_a_stamp() {
    let odd = |w: &mut Workload| {
        w.verification = Verification::Stamps;
        line(w).size = Bytes(1000);
    };
    assert_eq!(error_path(odd), "verification");
}

#[test]
fn the_stamp_unit_divides_sizes_alignments_and_starts() {
    let mut workload = simple();
    assert_eq!(workload.stamp_unit(), Bytes(4096));
    line(&mut workload).size = Bytes::from_kib(24);
    assert_eq!(workload.stamp_unit(), Bytes(4096));
    line(&mut workload).align = Bytes(512);
    assert_eq!(workload.stamp_unit(), Bytes(512));
    workload.streams[0].region.start = Bytes(256);
    assert_eq!(workload.stamp_unit(), Bytes(256));
}
