//! Fits a drive to the first half of each trace and predicts the second half.
//!
//! `cargo run --release -p storscope-sim --example fit_trace -- DIRECTORY_OR_TRACE...`

use std::path::{Path, PathBuf};
use std::time::Instant;

use storscope_sim::drive::fit::{Judgement, from_trace, judge, parse};

fn main() {
    for path in std::env::args().skip(1).flat_map(|argument| traces_at(Path::new(&argument))) {
        let text = std::fs::read_to_string(&path).expect("the trace can be read");
        let trace = parse(&text).expect("the trace has the expected form");
        let (first, second) = trace.split_at(trace.len() / 2);
        let size_bytes = trace.iter().map(|op| op.offset + u64::from(op.length)).max().unwrap_or(0);
        let started = Instant::now();
        let fit = from_trace(first, size_bytes).expect("the trace can be fitted");
        let name = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        println!("{name}: {} parameters, {:.1} s", fit.parameters, started.elapsed().as_secs_f64());
        show("first half ", &fit.on_itself);
        show("second half", &judge(second, &fit.design));
        println!("  {:?}", fit.design);
    }
}

fn traces_at(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.to_path_buf()];
    }
    let entries = std::fs::read_dir(path).expect("the directory can be read").flatten();
    let mut traces: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    traces.sort();
    traces
}

fn show(which: &str, judgement: &Judgement) {
    println!(
        "  {which}: measured mean {:.0} us, predicted {:.0} us ({:+.1} %), distance {:.0} us ({:.1} %)",
        judgement.measured_us_mean,
        judgement.predicted_us_mean,
        judgement.mean_error_ratio() * 100.0,
        judgement.demerit.rms,
        judgement.demerit.ratio * 100.0
    );
}
