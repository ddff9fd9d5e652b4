//! Any bytes are read or refused, never panicked over, and every cell of every row is accounted for.

#![no_main]

use libfuzzer_sys::fuzz_target;
use storscope_parse::{Limits, Plan, WideCsv};

fuzz_target!(|data: &[u8]| {
    let limits = Limits { line_bytes: 1 << 16, columns: 1 << 10 };
    let mut offset = 0;
    while let Ok(mut reader) = WideCsv::new(data.to_vec(), offset, limits) {
        let columns = reader.header().names.len() - 1;
        let slots: Vec<i32> = (0..columns as i32).rev().collect();
        let (ones, zeros) = (vec![1.0; columns], vec![0.0; columns]);
        let (low, high) = (vec![f64::MIN; columns], vec![f64::MAX; columns]);
        let mut plan = Plan::new(&slots, [&ones, &zeros, &low, &high], columns).unwrap();
        plan.decimal_comma = data.len() % 2 == 1;
        while let Ok(Some(block)) = reader.next_block(5) {
            let mut values = vec![0.0; columns * block.rows()];
            let mut times = vec![0; block.rows()];
            let tally = block.read(&plan, &mut values, &mut times, 1 + data.len() % 2).unwrap();
            let is_message = |row: usize| {
                tally.stamps.iter().any(|(at, text)| *at == row && !text.iter().any(u8::is_ascii_digit))
            };
            let absent = values.chunks(block.rows()).flat_map(|column| column.iter().enumerate());
            let absent = absent.filter(|(row, value)| value.is_nan() && !is_message(*row)).count() as u64;
            // A stamp is kept to 64 bytes; a digit beyond makes a row of what looks like a message.
            if tally.stamps.iter().all(|(_, text)| text.len() < 64) {
                assert_eq!(absent, tally.blank + tally.unparsable + tally.missing);
            }
        }
        match reader.section_end() {
            Some(end) if end > offset => offset = end,
            _ => break,
        }
    }
});
