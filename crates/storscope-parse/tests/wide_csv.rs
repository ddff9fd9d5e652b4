//! Whole files, from bytes to columns.

use std::fs;

use proptest::prelude::*;
use storscope_parse::{Block, Limits, NO_SLOT, NO_TIME, Plan, ReadError, Tally, WideCsv};

/// What a file yields, all columns wanted, in blocks of `rows` rows: names, times, values by column, tally.
struct Found {
    names: Vec<String>,
    times: Vec<i64>,
    columns: Vec<Vec<f64>>,
    tally: Tally,
}

fn plan(columns: usize) -> Plan {
    let slots: Vec<i32> = (0..columns as i32).collect();
    let every = |value: f64| vec![value; columns];
    let [ones, zeros, low, high] = [every(1.0), every(0.0), every(f64::MIN), every(f64::MAX)];
    Plan::new(&slots, [&ones, &zeros, &low, &high], columns).unwrap()
}

fn read_all(text: &str, rows: usize, threads: usize) -> Result<Found, ReadError> {
    let mut reader = WideCsv::new(text.as_bytes().to_vec(), 0, Limits::default())?;
    let names: Vec<_> = reader.header().names.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    let plan = plan(names.len() - 1);
    let mut found = Found { columns: vec![Vec::new(); names.len() - 1], names, times: vec![], tally: Tally::default() };
    while let Some(block) = reader.next_block(rows)? {
        let (times, values, tally) = read_block(&block, &plan, found.columns.len(), threads)?;
        for (column, values) in found.columns.iter_mut().zip(values.chunks(block.rows())) {
            column.extend(values);
        }
        let before = found.times.len();
        found.times.extend(times);
        found.tally.blank += tally.blank;
        found.tally.unparsable += tally.unparsable;
        found.tally.commas += tally.commas;
        found.tally.missing += tally.missing;
        found.tally.extra += tally.extra;
        found.tally.short_rows += tally.short_rows;
        found.tally.long_rows += tally.long_rows;
        found.tally.stamps.extend(tally.stamps.into_iter().map(|(row, text)| (row + before, text)));
    }
    Ok(found)
}

fn read_block(
    block: &Block<Vec<u8>>,
    plan: &Plan,
    columns: usize,
    threads: usize,
) -> Result<(Vec<i64>, Vec<f64>, Tally), ReadError> {
    let mut times = vec![0; block.rows()];
    let mut values = vec![0.0; block.rows() * columns];
    let tally = block.read(plan, &mut values, &mut times, threads)?;
    Ok((times, values, tally))
}

const STAMP: &str = "\"11/02/2026 00:00:00\"";

#[test]
fn reads_a_small_file_with_every_irregularity() {
    let text = format!(
        "\u{feff}\r\n\"(PDH-CSV 4.0)\",\"a,(b)\",\"c\"\r\n{STAMP},\" \",\"1.5\"\r\n\r\n{STAMP},\"2\"\r\n\
         {STAMP},\"3\",\"x\",\"4\"\r\nExiting, please wait...\r\n"
    );
    let found = read_all(&text, 2, 1).unwrap();
    assert_eq!(found.names, ["(PDH-CSV 4.0)", "a,(b)", "c"]);
    assert_eq!(found.times, [1_793_577_600_000_000_000; 3].into_iter().chain([NO_TIME]).collect::<Vec<_>>());
    assert!(found.columns[0][0].is_nan() && found.columns[0][1..3] == [2.0, 3.0]);
    assert_eq!(found.columns[1][0], 1.5);
    let Tally { blank, unparsable, missing, extra, short_rows, long_rows, stamps, .. } = found.tally;
    assert_eq!((blank, unparsable, missing, extra, short_rows, long_rows), (1, 1, 1, 1, 1, 1));
    assert_eq!(stamps, [(3, b"Exiting".to_vec())]);
}

#[test]
fn a_second_header_ends_the_section_and_is_where_the_next_begins() {
    let text = format!("\"(PDH-CSV 4.0)\",\"a\"\n{STAMP},\"1\"\n\"(PDH-CSV 4.0)\",\"b\"\n{STAMP},\"2\"\n");
    let mut first = WideCsv::new(text.clone().into_bytes(), 0, Limits::default()).unwrap();
    assert_eq!(first.next_block(100).unwrap().unwrap().rows(), 1);
    assert!(first.next_block(100).unwrap().is_none());
    let mut second = WideCsv::new(text.into_bytes(), first.section_end().unwrap(), Limits::default()).unwrap();
    assert_eq!(second.header().names[1], b"b");
    assert_eq!(second.next_block(100).unwrap().unwrap().rows(), 1);
    assert!(second.next_block(100).unwrap().is_none() && second.section_end().is_none());
}

/// The header and the first column of every capture in `text`.
fn sections(text: &str) -> Vec<(Vec<String>, Vec<f64>)> {
    let mut found = Vec::new();
    let mut offset = 0;
    loop {
        let mut reader = WideCsv::new(text.as_bytes().to_vec(), offset, Limits::default()).unwrap();
        let names: Vec<_> = reader.header().names.iter().map(|name| String::from_utf8(name.clone()).unwrap()).collect();
        let mut column = Vec::new();
        while let Some(block) = reader.next_block(100).unwrap() {
            let (_, values, _) = read_block(&block, &plan(names.len() - 1), names.len() - 1, 1).unwrap();
            column.extend(&values[..block.rows()]);
        }
        found.push((names, column));
        match reader.section_end() {
            Some(end) => offset = end,
            None => return found,
        }
    }
}

#[test]
fn a_second_header_is_seen_behind_a_byte_order_mark_and_in_an_unfinished_line() {
    let header = |name: &str| format!("\"(PDH-CSV 4.0)\",\"{name}\",\"c\"\n");
    let first = format!("{}{STAMP},\"1\",\"2\"", header("a (x)"));
    let second = format!("{}{STAMP},\"3\",\"4\"\n", header("b"));
    let mark = "\u{feff}";
    let cut = &first[..first.len() - 6];
    for text in [
        format!("{mark}{first}\n{mark}{second}"),
        format!("{first}{second}"),
        format!("{first}{mark}{second}"),
        format!("{cut}{second}"),
        format!("{cut},\"{second}"),
    ] {
        let found = sections(&text);
        let names: Vec<_> = found.iter().map(|(names, _)| [&names[0][..], &names[1][..]]).collect();
        assert_eq!(names, [["(PDH-CSV 4.0)", "a (x)"], ["(PDH-CSV 4.0)", "b"]], "{text}");
        assert_eq!(found[1].1, [3.0], "{text}");
    }
}

#[test]
fn a_row_that_breaks_off_loses_its_last_cell_unless_a_quote_closes_it() {
    let last = |row: &str| read_all(&format!("t,a,b,c\n{STAMP},1.00,2.00,3.00\n{row}"), 9, 1).unwrap();
    let found = last(&format!("{STAMP},1.00,8"));
    assert!(found.columns[0][1] == 1.0 && found.columns[1][1].is_nan() && found.tally.missing == 2);
    assert_eq!(last(&format!("{STAMP},\"1.00\",\"8\"")).columns[1][1], 8.0);
    assert_eq!(last(&format!("{STAMP},1.00,8\n")).columns[1][1], 8.0);
    assert_eq!(last(&format!("{STAMP},1.00,8,9")).columns[2][1], 9.0, "a whole row whose line end was lost");
    assert_eq!(last("11/02/2026 00:0").times[1], NO_TIME);
}

#[test]
fn decimal_commas_and_points_are_told_apart() {
    let text = format!("t;a;b\n{STAMP};1,5;0\n{STAMP};2,5;x\nbye 1.5\n");
    let Tally { commas, unparsable, .. } = read_all(&text, 9, 2).unwrap().tally;
    assert_eq!((commas, unparsable), (2, 3));
    let points = |text: &str| {
        let mut reader = WideCsv::new(text.as_bytes().to_vec(), 0, Limits::default()).unwrap();
        reader.next_block(9).unwrap().unwrap().points().unwrap()
    };
    assert_eq!(points(&text), 0);
    assert_eq!(points(&format!("t,a,b\n{STAMP},\"1.50\",0.00\n{STAMP},1.a,7\n")), 2);
}

#[test]
fn a_plan_scales_bounds_drops_and_leaves_slots_empty() {
    let text = format!("t,a,b,c\n{STAMP},10.00,20.00,-1.00\n{STAMP},11.00,21.00,1.00\n");
    let mut reader = WideCsv::new(text.into_bytes(), 0, Limits::default()).unwrap();
    let block = reader.next_block(10).unwrap().unwrap();
    let numbers: [&[f64]; 4] = [&[-0.01, 1.0, 2.0], &[1.0, 0.0, 0.0], &[0.0; 3], &[100.0; 3]];
    let plan = Plan::new(&[2, NO_SLOT, 0], numbers, 3).unwrap();
    let (_, values, tally) = read_block(&block, &plan, 3, 1).unwrap();
    assert!(values[0].is_nan() && values[2].is_nan() && values[3].is_nan());
    assert_eq!([values[1], values[4], values[5]], [2.0, 0.9, 0.89]);
    assert_eq!(tally.impossible, 1);
}

#[test]
fn a_plan_or_buffer_that_does_not_fit_is_refused() {
    let one: &[f64] = &[1.0];
    assert!(Plan::new(&[1], [one; 4], 1).is_err());
    assert!(Plan::new(&[-2], [one; 4], 1).is_err());
    assert!(Plan::new(&[0, 0], [&[1.0, 1.0]; 4], 1).is_err());
    assert!(Plan::new(&[0, 1], [one; 4], 2).is_err());
    let mut reader = WideCsv::new(format!("t,a\n{STAMP},1\n").into_bytes(), 0, Limits::default()).unwrap();
    let block = reader.next_block(1).unwrap().unwrap();
    assert!(matches!(block.read(&plan(1), &mut [], &mut [0], 1), Err(ReadError::WrongShape { what: "values", .. })));
    assert!(matches!(block.read(&plan(1), &mut [0.0], &mut [], 1), Err(ReadError::WrongShape { what: "times", .. })));
}

#[test]
fn hostile_input_is_an_error_with_its_place() {
    let limits = Limits { line_bytes: 1 << 20, columns: 1000 };
    let open = |text: String| WideCsv::new(text.into_bytes(), 0, limits).map(|_| ()).unwrap_err();
    assert!(matches!(open(String::new()), ReadError::NoHeader));
    assert!(matches!(open("\n \r\n\n".into()), ReadError::NoHeader));
    assert!(matches!(open("x".repeat(2 << 20)), ReadError::LineTooLong { line: 1, offset: 0, .. }));
    assert!(matches!(open(",".repeat(5000)), ReadError::TooManyColumns { line: 1, limit: 1000 }));
    assert!(matches!(open("\n\"abc\n\"".into()), ReadError::UnclosedQuote { line: 2, offset: 1 }));
    let mut reader = WideCsv::new(format!("t,a\n{}", "1,".repeat(1 << 20)).into_bytes(), 0, limits).unwrap();
    assert!(matches!(reader.next_block(9), Err(ReadError::LineTooLong { line: 2, offset: 4, .. })));
}

#[test]
fn a_file_that_shrinks_meanwhile_is_an_error() {
    let path = std::env::temp_dir().join(format!("storscope-parse-shrinks-{}", std::process::id()));
    fs::write(&path, format!("t,a\n{STAMP},1.00\n{STAMP},2.00\n")).unwrap();
    let mut reader = WideCsv::open(&path, 0, Limits::default()).unwrap();
    let block = reader.next_block(9).unwrap().unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_len(10).unwrap();
    let result = block.read(&plan(1), &mut [0.0; 2], &mut [0; 2], 1);
    fs::remove_file(&path).unwrap();
    assert!(matches!(result, Err(ReadError::Shrunk { .. })), "{result:?}");
}

#[test]
fn a_file_that_is_not_there_is_an_error() {
    assert!(matches!(WideCsv::open("/no/such/file".as_ref(), 0, Limits::default()), Err(ReadError::Io { .. })));
}

proptest! {
    /// Every value arrives in its column and row, whatever the widths, the block size and the number of threads.
    #[test]
    fn cells_arrive_where_they_belong(
        columns in 1..1100_usize, rows in 1..20_usize, block in 1..25_usize, threads in 1..4_usize, quoted: bool
    ) {
        let cell = |row: usize, column: usize| ((row * 7919 + column * 104_729) % 1_000_003) as f64 / 100.0;
        let mut text = format!("t{}\n", (0..columns).map(|column| format!(",c{column}")).collect::<String>());
        for row in 0..rows {
            text += STAMP;
            for column in 0..columns {
                text += &if quoted { format!(",\"{:.2}\"", cell(row, column)) } else { format!(",{:.2}", cell(row, column)) };
            }
            text += "\n";
        }
        let found = read_all(&text, block, threads).unwrap();
        prop_assert_eq!(found.times.len(), rows);
        for (column, values) in found.columns.iter().enumerate() {
            let expected: Vec<f64> = (0..rows).map(|row| cell(row, column)).collect();
            prop_assert_eq!(values, &expected);
        }
        prop_assert_eq!(found.tally, Tally::default());
    }

    /// No input makes it panic, and every cell is accounted for.
    #[test]
    fn any_text_is_read_or_refused(text in "[0-9.,\"\\r\\n\\t (PDH)a\\-]{0,200}", threads in 1..3_usize) {
        if let Ok(found) = read_all(&text, 3, threads) {
            let is_row = |row: &usize| !found.tally.stamps.iter().any(|(at, text)| at == row && !text.iter().any(u8::is_ascii_digit));
            let rows: Vec<_> = (0..found.times.len()).filter(is_row).collect();
            let cells = found.columns.iter().flat_map(|column| rows.iter().map(|&row| column[row]));
            let absent = cells.filter(|value| value.is_nan()).count() as u64;
            let Tally { blank, unparsable, missing, .. } = found.tally;
            prop_assert_eq!(absent, blank + unparsable + missing);
        }
    }
}
