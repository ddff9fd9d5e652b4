//! The tests in virtual time, as one program: of each program the compiler makes, and links, what the crate has for all of them anew.

#[path = "../support/mod.rs"]
mod support;

mod arrivals;
mod flush;
mod lateness;
mod semantics;
mod taken_alone;
mod truth;
mod virtual_run;

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
