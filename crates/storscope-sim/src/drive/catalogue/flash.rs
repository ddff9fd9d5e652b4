//! Flash drives.

use storscope_types::design::drive::FlashDesign;
use storscope_types::{Bytes, Nanos};

use super::{Origin, Source};

/// One drive in microseconds and thousands per second.
#[derive(Debug)]
pub struct Row {
    pub name: &'static str,
    pub title: &'static str,
    pub class: &'static str,
    pub sources: &'static [Source],
    size_gb: f64,
    dies: u32,
    overhead_us: f64,
    read_us: f64,
    program_us: f64,
    latency_cv: f64,
    thousand_commands_per_s: f64,
    link_mb_per_s: f64,
    accept_us: f64,
    write_amplification: f64,
    cleaning_burst_pages: u32,
}

impl Row {
    /// The drive; pages are the 4 KiB it was measured with.
    pub fn design(&self) -> FlashDesign {
        let time = |us: f64| Nanos((us * 1e3).round() as u64);
        FlashDesign {
            size: Bytes((self.size_gb * 1e9).round() as u64),
            dies: self.dies,
            page: Bytes(4096),
            overhead: time(self.overhead_us),
            read: time(self.read_us),
            program: time(self.program_us),
            latency_cv: self.latency_cv,
            commands_per_s: Some(self.thousand_commands_per_s * 1e3),
            interface_rate_bytes_per_s: self.link_mb_per_s * 1e6,
            write_accept: time(self.accept_us),
            buffer_pages: 256,
            write_amplification: self.write_amplification,
            cleaning_burst_pages: self.cleaning_burst_pages,
            erase: Nanos::ZERO,
            pages_per_block: 256,
        }
    }
}

const fn source(fields: &'static str, origin: Origin, text: &'static str) -> Source {
    Source { fields, origin, text }
}

/// The drives; the classes first.
pub const ROWS: &[Row] = &[
    Row {
        name: "sata-ssd",
        title: "class: SATA SSD of about 2014, full, under steady random writes",
        class: "sata-ssd",
        sources: &[source("all", Origin::Class, "the Crucial 250 GB drive with twice the dies and a link of 6 Gbit/s")],
        size_gb: 500.0,
        dies: 16,
        overhead_us: 5.0,
        read_us: 95.0,
        program_us: 300.0,
        latency_cv: 0.3,
        thousand_commands_per_s: 90.0,
        link_mb_per_s: 550.0,
        accept_us: 20.0,
        write_amplification: 2.0,
        cleaning_burst_pages: 16,
    },
    Row {
        name: "nvme-ssd",
        title: "class: NVMe SSD for data centres, full, under steady random writes",
        class: "nvme-ssd",
        sources: &[source(
            "all",
            Origin::Recalled,
            "data sheets around 2018: 80 to 100 us reads, 500,000 to 700,000 random reads and 50,000 to 100,000 random writes per second, 3 GB/s",
        )],
        size_gb: 2000.0,
        dies: 128,
        overhead_us: 10.0,
        read_us: 75.0,
        program_us: 650.0,
        latency_cv: 0.3,
        thousand_commands_per_s: 650.0,
        link_mb_per_s: 3200.0,
        accept_us: 12.0,
        write_amplification: 2.5,
        cleaning_burst_pages: 8,
    },
    Row {
        name: "crucial-250gb",
        title: "Crucial 250 GB SATA SSD",
        class: "sata-ssd",
        sources: &[
            source(
                "dies, overhead, read, commands",
                Origin::Measured,
                "random reads at depth 1 to 64; github.com/louwrentius/fio-plot",
            ),
            source(
                "program, write amplification, cleaning",
                Origin::Measured,
                "14,400 random writes per second at depth 2 to 64 and their spread; their product is known better than each; github.com/louwrentius/fio-plot",
            ),
            source("size, link, accept, spread", Origin::Class, "as sata-ssd"),
        ],
        size_gb: 250.0,
        dies: 8,
        overhead_us: 5.0,
        read_us: 104.0,
        program_us: 227.0,
        latency_cv: 0.3,
        thousand_commands_per_s: 53.0,
        link_mb_per_s: 550.0,
        accept_us: 20.0,
        write_amplification: 2.0,
        cleaning_burst_pages: 16,
    },
];
