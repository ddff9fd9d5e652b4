//! The queue of every drive over time, in slices: for the heat map.
//!
//! The number of slices is bounded. When there are too many, neighbours are joined and slices become twice as long, so
//! that memory does not grow with the time simulated.

use storscope_types::Nanos;

/// Mean and most present in a slice.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cell {
    /// Integral of the number present, in nanoseconds.
    pub area: u64,
    /// Most present at a time.
    pub most: u32,
}

/// Slices of all drives.
#[derive(Debug, Clone)]
pub struct Slices {
    /// Row after row, a cell for each drive.
    cells: Vec<Cell>,
    drives: usize,
    most: usize,
    /// Length of a slice.
    width: Nanos,
    start: Nanos,
    /// When the present slice ends.
    end: Nanos,
}

impl Slices {
    /// None yet, of at most `most`, which is rounded up to an even number.
    #[must_use]
    pub fn new(drives: usize, width: Nanos, most: usize) -> Self {
        let width = Nanos(width.0.max(1));
        let most = (most.max(2)).next_multiple_of(2);
        Self { cells: Vec::with_capacity(most * drives), drives, most, width, start: Nanos::ZERO, end: width }
    }

    /// When the present slice ends.
    #[inline]
    #[must_use]
    pub fn end(&self) -> Nanos {
        self.end
    }

    /// Ends the present slice with the cells of all drives.
    pub fn push(&mut self, cells: impl Iterator<Item = Cell>) {
        self.cells.extend(cells);
        if self.rows() == self.most {
            self.halve();
        }
        self.end = Nanos(self.start.0 + (self.rows() as u64 + 1) * self.width.0);
    }

    fn halve(&mut self) {
        for row in 0..self.most / 2 {
            for drive in 0..self.drives {
                let first = self.cells[2 * row * self.drives + drive];
                let second = self.cells[(2 * row + 1) * self.drives + drive];
                self.cells[row * self.drives + drive] =
                    Cell { area: first.area + second.area, most: first.most.max(second.most) };
            }
        }
        self.cells.truncate(self.most / 2 * self.drives);
        self.width = Nanos(2 * self.width.0);
    }

    /// Forgets all and begins now.
    pub fn restart(&mut self, now: Nanos) {
        self.cells.clear();
        (self.start, self.end) = (now, now + self.width);
    }

    /// Complete slices.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.cells.len().checked_div(self.drives).unwrap_or(0)
    }

    /// Length of a slice.
    #[must_use]
    pub fn width(&self) -> Nanos {
        self.width
    }

    /// When the first slice began.
    #[must_use]
    pub fn start(&self) -> Nanos {
        self.start
    }

    /// The cells of a drive, in order of time.
    pub fn of_drive(&self, drive: usize) -> impl Iterator<Item = Cell> {
        self.cells.iter().skip(drive).step_by(self.drives.max(1)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_joined_in_pairs_and_nothing_is_lost() {
        let mut slices = Slices::new(2, Nanos(10), 4);
        for slice in 0..11_u32 {
            assert_eq!(slices.end().0 % 10, 0);
            slices.push([Cell { area: 1, most: slice }, Cell { area: 2, most: 0 }].into_iter());
        }
        assert!(slices.rows() <= 4);
        let areas: u64 = slices.of_drive(1).map(|cell| cell.area).sum();
        assert_eq!(areas, 22);
        assert_eq!(slices.of_drive(0).map(|cell| cell.most).max(), Some(10));
    }
}
