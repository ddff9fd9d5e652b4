//! The tests of the simulator, as one program: of each program the compiler makes, and links, what the crate has for all of them anew.

#[path = "../support/drives.rs"]
mod drives;
#[path = "../support/mod.rs"]
mod support;

mod array_measured;
mod convoy;
mod curve_laws;
mod degraded_work;
mod design_mistakes;
mod design_reading;
mod design_units;
mod destaging;
mod drive_documented;
mod drive_fit;
mod drive_laws;
mod drive_measured;
mod failures;
mod flash_cache_lost;
mod flash_laws;
mod flash_log;
mod flushes;
mod grid_fit;
mod joining;
mod laws;
mod layouts;
mod limit_changes;
mod memory;
mod mirrored_streams;
mod paths;
mod queueing_theory;
mod rate_limits;
mod rebuild_rates;
mod shared_flash;
mod takeover;
mod trace_parsing;
mod traces;
mod write_phases;

#[test]
fn every_file_here_is_a_part_of_it() {
    let listed = include_str!("main.rs");
    let here = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite")).unwrap();
    for name in here.map(|entry| entry.unwrap().file_name().into_string().unwrap()) {
        let module = name.trim_end_matches(".rs");
        let declared = format!("mod {module};");
        assert!(module == "main" || listed.lines().any(|line| line == declared), "{name} is not run");
    }
}
