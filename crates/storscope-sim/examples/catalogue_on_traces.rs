//! The drives of the catalogue against traces of them, as the table of `docs/drives.md`: nothing is fitted.
//!
//! `cargo run --release -p storscope-sim --example catalogue_on_traces -- NAME=TRACE...`

use storscope_device::Direction;
use storscope_sim::drive::catalogue::find;
use storscope_sim::drive::fit::{TraceOp, judge, parse, replay};
use storscope_types::design::drive::DriveDesign;

fn main() {
    println!("| drive | reads, measured | predicted | writes, measured | predicted | all | distance |");
    println!("|---|---|---|---|---|---|---|");
    for argument in std::env::args().skip(1) {
        let (name, path) = argument.split_once('=').expect("NAME=TRACE");
        let text = std::fs::read_to_string(path).expect("the trace can be read");
        println!("{}", row(name, &parse(&text).expect("the trace has the expected form")));
    }
}

fn row(name: &str, trace: &[TraceOp]) -> String {
    let design = find(name).expect("the catalogue has it").design();
    let predicted = replay(trace, &design, 0);
    let of = |direction: Direction| {
        let both = || trace.iter().zip(&predicted).filter(move |(op, _)| op.direction == direction);
        let measured = mean(both().map(|(op, _)| op.service_us));
        let found = mean(both().map(|(_, us)| *us));
        format!("{:.2} ms | {:.2} ms, {:+.1} %", measured / 1e3, found / 1e3, 100.0 * (found / measured - 1.0))
    };
    let DriveDesign::Mechanical(design) = &design else { panic!("a drive with platters") };
    let all = judge(trace, design);
    let (reads, writes) = (of(Direction::Read), of(Direction::Write));
    let [mean_error, distance] = [all.mean_error_ratio(), all.demerit.ratio].map(|ratio| 100.0 * ratio);
    format!("| `{name}` | {reads} | {writes} | {mean_error:+.1} % | {distance:.1} % |")
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / f64::max(count, 1.0)
}
