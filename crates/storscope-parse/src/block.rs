//! A block of rows and its way into columns.
//!
//! Rows are read in tiles of up to eight, so that eight values of a column, one cache line, are stored together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::cells::{Cells, mark};
use crate::decimal;
use crate::error::ReadError;
use crate::source::Source;
use crate::timestamp;

/// The slot of a column that is not wanted.
pub const NO_SLOT: i32 = -1;
/// The time of a row whose stamp has another form; its text is in [`Tally::stamps`].
pub const NO_TIME: i64 = i64::MIN;

const TILE_ROWS: usize = 8;
/// A tile ends early when its rows are longer; a single row may exceed it.
const TILE_BYTES: u64 = 8 << 20;
/// Columns of a tile that are read before they are stored: 32 KiB of values.
const STRIP: usize = 512;
const STAMP_BYTES: usize = 64;

/// What becomes of one column: `slot` in the output, and value = cell x `factor` + `offset` for `low` <= cell <= `high`.
#[derive(Debug, Clone, Copy)]
struct Target {
    slot: i32,
    factor: f64,
    offset: f64,
    low: f64,
    high: f64,
}

/// What becomes of every column after the first.
#[derive(Debug, Clone)]
pub struct Plan {
    targets: Vec<Target>,
    slots: usize,
    unfilled: Vec<usize>,
    /// Numbers are written with a decimal comma (perfmon under some locales), which a point is taken for.
    pub decimal_comma: bool,
}

impl Plan {
    /// A plan for `slots.len()` columns and `count` output slots, each filled by at most one column.
    ///
    /// `numbers` are factor, offset, low and high, one array each. Errors when lengths differ or a slot is given twice.
    pub fn new(slots: &[i32], numbers: [&[f64]; 4], count: usize) -> Result<Self, ReadError> {
        for array in numbers {
            check("a column's numbers", slots.len(), array.len())?;
        }
        let [factors, offsets, lows, highs] = numbers;
        let mut filled = vec![false; count];
        for &slot in slots.iter().filter(|&&slot| slot != NO_SLOT) {
            match usize::try_from(slot).ok().and_then(|slot| filled.get_mut(slot)) {
                Some(taken) if !*taken => *taken = true,
                _ => {
                    return Err(ReadError::WrongShape { what: "slots", expected: count, found: slot as usize });
                }
            }
        }
        let targets = (0..slots.len())
            .map(|column| Target {
                slot: slots[column],
                factor: factors[column],
                offset: offsets[column],
                low: lows[column],
                high: highs[column],
            })
            .collect();
        let unfilled = (0..count).filter(|&slot| !filled[slot]).collect();
        Ok(Self { targets, slots: count, unfilled, decimal_comma: false })
    }
}

/// What was met in a block, in wanted columns only. In a line whose first cell has no digit (`Exiting, please wait...`)
/// nothing is counted: it is a message, no row.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Tally {
    /// Cells without content.
    pub blank: u64,
    /// Cells with something that is no finite number.
    pub unparsable: u64,
    /// Those among them that are numbers with a decimal comma, for which the plan has no use.
    pub commas: u64,
    /// Numbers outside the bounds of their column.
    pub impossible: u64,
    /// Cells of rows that ended before their column.
    pub missing: u64,
    /// Rows with such cells.
    pub short_rows: u64,
    /// Cells beyond the header.
    pub extra: u64,
    /// Rows with such cells.
    pub long_rows: u64,
    /// Row in the block and first 64 bytes of each time stamp of another form.
    pub stamps: Vec<(usize, Vec<u8>)>,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.blank += other.blank;
        self.unparsable += other.unparsable;
        self.commas += other.commas;
        self.impossible += other.impossible;
        self.missing += other.missing;
        self.short_rows += other.short_rows;
        self.extra += other.extra;
        self.long_rows += other.long_rows;
        self.stamps.extend(other.stamps);
    }

    /// Counts what is no value; true when the row ended before it.
    #[cold]
    fn doubt(&mut self, value: f64) -> bool {
        match value.to_bits() {
            mark::BLANK => self.blank += 1,
            mark::UNPARSABLE => self.unparsable += 1,
            mark::COMMA => {
                self.unparsable += 1;
                self.commas += 1;
            }
            mark::MISSING => {
                self.missing += 1;
                return true;
            }
            mark::NO_ROW => {}
            _ => self.impossible += 1,
        }
        false
    }
}

/// Where a row lies in the file, with its line end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    pub(crate) start: u64,
    pub(crate) length: usize,
}

impl Span {
    fn end(self) -> u64 {
        self.start + self.length as u64
    }
}

/// Consecutive rows of a file, found but not yet read.
pub struct Block<S> {
    pub(crate) source: Arc<S>,
    pub(crate) rows: Vec<Span>,
    pub(crate) separator: u8,
    /// The line of the first row, counted from 1. Blank lines between rows are counted in it too.
    pub first_line: u64,
}

impl<S: Source> Block<S> {
    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// The byte after its last row.
    pub fn end(&self) -> u64 {
        self.rows.last().map_or(0, |row| row.end())
    }

    /// Reads the rows into `values`, slot by slot: the value of a row in a slot is at `slot * rows + row`. NaN is what
    /// is absent. `times` gets the time of each row in ns of naive local time, or [`NO_TIME`].
    ///
    /// Work is shared by `threads` threads.
    pub fn read(&self, plan: &Plan, values: &mut [f64], times: &mut [i64], threads: usize) -> Result<Tally, ReadError> {
        check("values", plan.slots * self.rows.len(), values.len())?;
        check("times", self.rows.len(), times.len())?;
        for &slot in &plan.unfilled {
            values[slot * self.rows.len()..][..self.rows.len()].fill(f64::NAN);
        }
        let output = Output { values: Shared::new(values), times: Shared::new(times), rows: self.rows.len() };
        let tiles = self.tiles();
        let next = AtomicUsize::new(0);
        let work = || {
            let mut worker = Worker { block: self, plan, output: &output, tally: Tally::default(), text: Vec::new() };
            // Relaxed: the counter only hands out numbers, and leaving the scope orders everything else.
            while let Some(&tile) = tiles.get(next.fetch_add(1, Ordering::Relaxed)) {
                worker.read_tile(tile)?;
            }
            Ok(worker.tally)
        };
        let mut tally = std::thread::scope(|scope| {
            let helpers: Vec<_> = (1..threads.clamp(1, tiles.len().max(1))).map(|_| scope.spawn(work)).collect();
            let mut total = work();
            for helper in helpers {
                let part = helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                total = total.and_then(|mut total: Tally| {
                    total.add(part?);
                    Ok(total)
                });
            }
            total
        })?;
        tally.stamps.sort_unstable();
        Ok(tally)
    }

    /// How many cells are numbers with a decimal point; reads the rows again.
    pub fn points(&self) -> Result<u64, ReadError> {
        let mut text = Vec::new();
        let mut count = 0;
        for row in &self.rows {
            read_exactly(&*self.source, &mut text, row.start, row.length)?;
            let mut cells = Cells::new(&text, self.separator, false);
            let numbers = std::iter::from_fn(|| cells.text()).skip(1).map(<[u8]>::trim_ascii);
            count += numbers.filter(|cell| cell.contains(&b'.') && decimal::parse(cell).is_some()).count() as u64;
        }
        Ok(count)
    }

    /// The rows in tiles: (first row, row after the last).
    fn tiles(&self) -> Vec<(usize, usize)> {
        let mut tiles = Vec::with_capacity(self.rows.len() / TILE_ROWS + 1);
        let mut first = 0;
        while first < self.rows.len() {
            let fits = |row: &&Span| row.end() - self.rows[first].start <= TILE_BYTES;
            let count = self.rows[first..].iter().take(TILE_ROWS).take_while(fits).count().max(1);
            tiles.push((first, first + count));
            first += count;
        }
        tiles
    }
}

/// A slice that several threads fill, each its own elements.
struct Shared<'a, T> {
    start: *mut T,
    length: usize,
    borrowed: std::marker::PhantomData<&'a mut [T]>,
}

// SAFETY: `store` is the only access, its callers never give two threads the same index, and the slice stays mutably
// borrowed for as long as this lives.
unsafe impl<T: Send> Sync for Shared<'_, T> {}

impl<'a, T: Copy> Shared<'a, T> {
    fn new(slice: &'a mut [T]) -> Self {
        Self { start: slice.as_mut_ptr(), length: slice.len(), borrowed: std::marker::PhantomData }
    }

    /// Stores `values` from `start` on.
    ///
    /// # Safety
    /// No other thread may use the same indices.
    #[inline]
    unsafe fn store(&self, start: usize, values: &[T]) {
        assert!(start <= self.length && values.len() <= self.length - start);
        // SAFETY: in bounds by the assertion; not raced for, by the caller's promise.
        unsafe { self.start.add(start).copy_from_nonoverlapping(values.as_ptr(), values.len()) };
    }
}

struct Output<'a> {
    values: Shared<'a, f64>,
    times: Shared<'a, i64>,
    rows: usize,
}

/// What one thread needs.
struct Worker<'a, S> {
    block: &'a Block<S>,
    plan: &'a Plan,
    output: &'a Output<'a>,
    tally: Tally,
    text: Vec<u8>,
}

impl<S: Source> Worker<'_, S> {
    fn read_tile(&mut self, (first, end): (usize, usize)) -> Result<(), ReadError> {
        let rows = &self.block.rows[first..end];
        let base = rows[0].start;
        let mut text = std::mem::take(&mut self.text);
        read_exactly(&*self.block.source, &mut text, base, (rows[rows.len() - 1].end() - base) as usize)?;
        let mut cells: Vec<_> = rows
            .iter()
            .map(|row| &text[(row.start - base) as usize..][..row.length])
            .map(|row| without_cut_cell(row, self.block.separator, self.plan.targets.len()))
            .map(|row| Cells::new(row, self.block.separator, self.plan.decimal_comma))
            .collect();
        self.read_times(first, &mut cells);
        self.read_values(first, &mut cells);
        for rest in cells {
            let extra = rest.count_rest();
            self.tally.extra += extra;
            self.tally.long_rows += u64::from(extra > 0);
        }
        self.text = text;
        Ok(())
    }

    fn read_times(&mut self, first: usize, cells: &mut [Cells]) {
        for (row, cells) in (first..).zip(cells) {
            let stamp = cells.text().unwrap_or_default().trim_ascii();
            let time = timestamp::parse(stamp);
            if time.is_none() {
                self.tally.stamps.push((row, stamp[..stamp.len().min(STAMP_BYTES)].to_vec()));
                if !stamp.iter().any(u8::is_ascii_digit) {
                    *cells = Cells::of_no_row();
                }
            }
            // SAFETY: a row belongs to one tile, a tile to one thread.
            unsafe { self.output.times.store(row, &[time.unwrap_or(NO_TIME)]) };
        }
    }

    fn read_values(&mut self, first: usize, cells: &mut [Cells]) {
        // The rows are a little longer than a strip: eight rows exactly 4 KiB apart would share one set of the cache.
        let mut tile = [[0.0; STRIP + 8]; TILE_ROWS];
        let mut short = [false; TILE_ROWS];
        for strip in self.plan.targets.chunks(STRIP) {
            for (cells, values) in cells.iter_mut().zip(&mut tile) {
                for value in &mut values[..strip.len()] {
                    *value = cells.number();
                }
            }
            for (column, target) in strip.iter().enumerate().filter(|(_, target)| target.slot != NO_SLOT) {
                let mut run = [0.0; TILE_ROWS];
                for (row, values) in tile[..cells.len()].iter().enumerate() {
                    let value = values[column];
                    run[row] = if value >= target.low && value <= target.high {
                        value * target.factor + target.offset
                    } else {
                        short[row] |= self.tally.doubt(value);
                        f64::NAN
                    };
                }
                let start = target.slot as usize * self.output.rows + first;
                // SAFETY: a slot has one column and a row one tile, so these indices are this thread's alone.
                unsafe { self.output.values.store(start, &run[..cells.len()]) };
            }
        }
        self.tally.short_rows += short.iter().filter(|&&short| short).count() as u64;
    }
}

/// A short row without a line end loses its last cell: a number that is cut in half is one, and a wrong one. What ends
/// in a quote is whole.
fn without_cut_cell(row: &[u8], separator: u8, columns: usize) -> &[u8] {
    let ends = row.ends_with(b"\n") || row.ends_with(b"\"");
    if ends || Cells::new(row, separator, false).count_rest() > columns as u64 {
        return row;
    }
    &row[..row.iter().rposition(|&byte| byte == separator).unwrap_or(0)]
}

/// Makes `text` the `length` bytes from `offset` on.
fn read_exactly(source: &impl Source, text: &mut Vec<u8>, offset: u64, length: usize) -> Result<(), ReadError> {
    text.resize(length, 0);
    let count = source.read_at(text, offset).map_err(|source| ReadError::Io { offset, source })?;
    if count < length { Err(ReadError::Shrunk { offset: offset + length as u64 }) } else { Ok(()) }
}

fn check(what: &'static str, expected: usize, found: usize) -> Result<(), ReadError> {
    if expected == found { Ok(()) } else { Err(ReadError::WrongShape { what, expected, found }) }
}
