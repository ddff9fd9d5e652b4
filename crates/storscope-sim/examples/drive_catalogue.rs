//! The catalogue of drives as the table of `docs/drives.md`, with what each does under random 4 KiB requests.
//!
//! `cargo run --release -p storscope-sim --example drive_catalogue`

use storscope_sim::drive::catalogue::{CatalogueEntry, Source, entries};
use storscope_sim::drive::fit::closed_loop::ClosedLoop;

const REQUESTS: u32 = 40_000;

fn main() {
    println!("| name | drive | reads/s at depth 1, 8, 32 | writes/s at depth 8 | sources |");
    println!("|---|---|---|---|---|");
    for entry in entries() {
        println!("{}", row(&entry));
    }
}

fn row(entry: &CatalogueEntry) -> String {
    let design = entry.design();
    let reads = [1, 8, 32].map(|qd| format!("{:.0}", ClosedLoop::reads(qd, REQUESTS).run(&design, 1).iops));
    let writes = ClosedLoop::writes(8, REQUESTS).run(&design, 1).iops;
    let sources: Vec<String> = entry.sources.iter().map(cite).collect();
    format!("| `{}` | {} | {} | {writes:.0} | {} |", entry.name, entry.title, reads.join(", "), sources.join("; "))
}

fn cite(source: &Source) -> String {
    format!("{}: *{}*, {}", source.fields, source.origin.word(), source.text)
}
