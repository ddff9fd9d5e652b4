//! Flash drives.

use storscope_types::design::drive::{ChannelsDesign, FlashDesign};
use storscope_types::{Bytes, Nanos};

use super::{Origin, Source, source};

/// One drive in microseconds and thousands per second.
#[derive(Debug)]
pub struct Row {
    pub name: &'static str,
    pub title: &'static str,
    pub class: &'static str,
    pub sources: &'static [Source],
    size_gb: f64,
    dies: u32,
    /// Number and MB/s of each.
    channels: (u32, f64),
    overhead_us: f64,
    read_us: f64,
    program_us: f64,
    latency_cv: f64,
    thousand_commands_per_s: f64,
    link_mb_per_s: f64,
    accept_us: f64,
    write_amplification: f64,
    cleaning_burst_pages: u32,
    suspend_us: Option<f64>,
    power_loss_protection: bool,
}

impl Row {
    /// The drive; pages of 16 KiB and blocks of 4 MiB are usual since about 2012, units of 4 KiB since long before.
    pub fn design(&self) -> FlashDesign {
        let time = |us: f64| Nanos((us * 1e3).round() as u64);
        FlashDesign {
            size: Bytes((self.size_gb * 1e9).round() as u64),
            dies: self.dies,
            page: Bytes::from_kib(16),
            map_unit: Some(Bytes::from_kib(4)),
            channels: Some(ChannelsDesign { count: self.channels.0, rate_bytes_per_s: self.channels.1 * 1e6 }),
            overhead: time(self.overhead_us),
            read: time(self.read_us),
            program: time(self.program_us),
            latency_cv: self.latency_cv,
            commands_per_s: Some(self.thousand_commands_per_s * 1e3),
            interface_rate_bytes_per_s: self.link_mb_per_s * 1e6,
            write_accept: time(self.accept_us),
            buffer_pages: 8 * self.dies,
            power_loss_protection: self.power_loss_protection,
            write_amplification: self.write_amplification,
            cleaning_burst_pages: self.cleaning_burst_pages,
            suspend: self.suspend_us.map(time),
            erase: Nanos::ZERO,
            pages_per_block: 256,
        }
    }
}

/// The drives; the classes first.
pub const ROWS: &[Row] = &[
    Row {
        name: "sata-ssd",
        title: "class: SATA SSD for servers of 2013 to 2015, full, under steady random writes",
        class: "sata-ssd",
        sources: &[
            source(
                "read, program, write amplification, commands",
                Origin::Recalled,
                "between data sheets: Intel DC S3500 480 GB (75,000 random reads and 11,000 random writes per second, 500 and 410 MB/s), DC S3700 400 GB (75,000, 36,000, 500, 460), Samsung SM863 480 GB (97,000, 26,000, 520, 485)",
            ),
            source(
                "channels",
                Origin::Recalled,
                "ONFI 3.0 (2011): up to 400 million transfers of a byte per second; eight are usual",
            ),
            source("link", Origin::Class, "6 Gbit/s in 8b/10b less framing; drives reach 500 to 560 MB/s"),
            source(
                "size, dies, overhead, accept, spread",
                Origin::Class,
                "the Crucial 250 GB drive with twice the dies",
            ),
            source("cleaning", Origin::Class, "estimate: bursts of 8 pages"),
            source(
                "power loss",
                Origin::Recalled,
                "the three have capacitors for what is in flight (their data sheets)",
            ),
        ],
        size_gb: 500.0,
        dies: 16,
        channels: (8, 400.0),
        overhead_us: 5.0,
        read_us: 85.0,
        program_us: 570.0,
        latency_cv: 0.3,
        thousand_commands_per_s: 90.0,
        link_mb_per_s: 550.0,
        accept_us: 20.0,
        write_amplification: 4.0,
        cleaning_burst_pages: 8,
        suspend_us: None,
        power_loss_protection: true,
    },
    Row {
        name: "nvme-ssd",
        title: "class: NVMe SSD for data centres of about 2018, full, under steady random writes",
        class: "nvme-ssd",
        sources: &[
            source(
                "read, program, write amplification, commands, link",
                Origin::Recalled,
                "data sheet of the Intel DC P4510 2 TB: 637,000 random reads and 81,500 random writes per second, 3,200 and 2,000 MB/s, 77 us to read",
            ),
            source(
                "channels",
                Origin::Recalled,
                "ONFI 4.0 (2014): 533 to 800 million transfers of a byte per second; 12 to 16 are usual",
            ),
            source("dies", Origin::Class, "32 to 64 dies of two to four planes that work at a time"),
            source("size", Origin::Class, "2 TB, as the P4510"),
            source("overhead, accept, cleaning, spread", Origin::Class, "estimates"),
            source("power loss", Origin::Recalled, "the P4510 has capacitors for what is in flight (data sheet)"),
            source(
                "suspend",
                Origin::Class,
                "drives of the time suspend programs and erases for reads (Wu and He, FAST 2012, recalled); tens of microseconds",
            ),
        ],
        size_gb: 2000.0,
        dies: 128,
        channels: (16, 533.0),
        overhead_us: 10.0,
        read_us: 68.0,
        program_us: 1040.0,
        latency_cv: 0.3,
        thousand_commands_per_s: 650.0,
        link_mb_per_s: 3200.0,
        accept_us: 12.0,
        write_amplification: 5.4,
        cleaning_burst_pages: 5,
        suspend_us: Some(20.0),
        power_loss_protection: true,
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
                "program",
                Origin::Measured,
                "50,061 random writes per second before the steady state, so it is at most this; github.com/louwrentius/fio-plot",
            ),
            source(
                "write amplification, cleaning",
                Origin::Measured,
                "14,400 random writes per second in the steady state at depth 2 to 64 and their spread; github.com/louwrentius/fio-plot",
            ),
            source("size", Origin::Read, "github.com/louwrentius/fio-plot"),
            source("channels, link, accept, spread", Origin::Class, "as sata-ssd"),
            source("power loss", Origin::Class, "drives of desktops have no capacitors for what is in flight"),
        ],
        size_gb: 250.0,
        dies: 8,
        channels: (8, 400.0),
        overhead_us: 5.0,
        read_us: 94.0,
        program_us: 639.0,
        latency_cv: 0.3,
        thousand_commands_per_s: 53.0,
        link_mb_per_s: 550.0,
        accept_us: 20.0,
        write_amplification: 2.94,
        cleaning_burst_pages: 20,
        suspend_us: None,
        power_loss_protection: false,
    },
];
