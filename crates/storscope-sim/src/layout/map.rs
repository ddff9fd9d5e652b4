//! The mapping of all layouts: stripes of segments, and the drives a stripe lies on.
//!
//! A stripe has `data` data segments and `parity` parity segments, or one segment and its copies. Parity rotates to the
//! left and data follow it ("left symmetric", the default of Linux md, drivers/md/raid5.c:raid5_compute_sector), so
//! that a sequential read visits all drives in turn.

use storscope_types::Bytes;
use storscope_types::design::{GroupDesign, Layout};

use super::pool::Arrangement;
use crate::kernel::Divisor;

/// A place on a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// Index of the drive in its group.
    pub drive: u32,
    /// Byte offset on it.
    pub offset: u64,
}

/// A part of an I/O within one segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// The stripe.
    pub stripe: u64,
    /// Which of its data segments.
    pub index: u64,
    /// First byte within the segment.
    pub start: u64,
    /// Bytes.
    pub length: u64,
}

#[derive(Debug, Clone)]
enum Form {
    /// Stripe after stripe over the sets.
    Sets(Divisor),
    /// All of a set before the next; the divisor is the stripes of a set.
    Chain(Divisor),
    Pool(Box<Arrangement>),
}

/// The mapping of a group.
#[derive(Debug, Clone)]
pub struct Map {
    form: Form,
    segment: Divisor,
    data: Divisor,
    width: Divisor,
    parity: u64,
    copies: u64,
    stripes: u64,
}

impl Map {
    /// Of a group that passed its check, with drives of this size. Pools are arranged by the seed.
    #[must_use]
    pub fn new(group: &GroupDesign, drive_size: Bytes, seed: u64) -> Self {
        let shape = group.shape(drive_size);
        let form = match group.layout {
            Layout::Pool => Form::Pool(Box::new(Arrangement::new(group, &shape, seed))),
            Layout::Raid1 => Form::Chain(Divisor::new((shape.stripes / shape.sets).max(1))),
            _ => Form::Sets(Divisor::new(shape.sets)),
        };
        Self {
            form,
            segment: Divisor::new(group.segment.0),
            data: Divisor::new(shape.data),
            width: Divisor::new(shape.width()),
            parity: shape.parity,
            copies: shape.copies,
            stripes: shape.stripes,
        }
    }

    /// Tells a pool of extents that volumes take so many bytes, from the first on.
    pub fn restrict(&mut self, bytes: u64) {
        let stripes = bytes.div_ceil(self.stripe_bytes());
        if let Form::Pool(arrangement) = &mut self.form {
            arrangement.restrict(stripes);
        }
    }

    /// Data segments of a stripe.
    #[inline]
    #[must_use]
    pub const fn data(&self) -> u64 {
        self.data.value()
    }

    /// Parity segments of a stripe.
    #[inline]
    #[must_use]
    pub const fn parity(&self) -> u64 {
        self.parity
    }

    /// Copies of a segment.
    #[inline]
    #[must_use]
    pub const fn copies(&self) -> u64 {
        self.copies
    }

    /// Drives of a stripe.
    #[inline]
    #[must_use]
    pub const fn width(&self) -> u64 {
        self.width.value()
    }

    /// Bytes of a segment.
    #[inline]
    #[must_use]
    pub const fn segment(&self) -> u64 {
        self.segment.value()
    }

    /// Bytes of data of a stripe.
    #[inline]
    #[must_use]
    pub const fn stripe_bytes(&self) -> u64 {
        self.segment.value() * self.data.value()
    }

    /// Stripes of the group.
    #[must_use]
    pub const fn stripes(&self) -> u64 {
        self.stripes
    }

    /// The first part of an I/O that lies within one segment.
    #[inline]
    #[must_use]
    pub fn first_piece(&self, offset: u64, length: u64) -> Piece {
        let (segment, start) = self.segment.split(offset);
        let (stripe, index) = self.data.split(segment);
        Piece { stripe, index, start, length: length.min(self.segment.value() - start) }
    }

    /// The stripe at an offset, and the offset within its data.
    #[inline]
    #[must_use]
    pub fn stripe_at(&self, offset: u64) -> (u64, u64) {
        let piece = self.first_piece(offset, 1);
        (piece.stripe, piece.index * self.segment.value() + piece.start)
    }

    /// The data segment of a stripe that a byte of its data lies in, and the offset within that.
    #[inline]
    #[must_use]
    pub fn segment_at(&self, within_stripe: u64) -> (u64, u64) {
        self.segment.split(within_stripe)
    }

    /// Whether consecutive rows of a set are next to each other on each of its drives.
    #[must_use]
    pub const fn has_rows(&self) -> bool {
        !matches!(self.form, Form::Pool(_))
    }

    /// Sets of drives side by side; a pool has none.
    #[must_use]
    pub const fn sets(&self) -> u64 {
        match &self.form {
            Form::Sets(sets) => sets.value(),
            Form::Chain(per_set) => self.stripes / per_set.value(),
            Form::Pool(_) => 1,
        }
    }

    /// How many segments later an extent gets to the same mirror pair, one row further; in a pool without extents that is
    /// by chance.
    #[must_use]
    pub const fn neighbour(&self) -> Option<usize> {
        match &self.form {
            Form::Sets(sets) => Some((sets.value() * self.data.value()) as usize),
            Form::Chain(_) => Some(1),
            Form::Pool(arrangement) if arrangement.rows() > 1 => Some(1),
            Form::Pool(_) => None,
        }
    }

    /// How much of an extent a destage takes at most: full rows of all sets that put up to `run` bytes in a row on each
    /// drive, but at most `most` bytes, or else some stripes, or one. In a pool the stripes of an extent are beside each
    /// other, others by chance only.
    #[must_use]
    pub fn window(&self, run: u64, most: u64) -> u64 {
        let (stripe, rows) = (self.stripe_bytes(), (run / self.segment()).max(1));
        let row = match &self.form {
            Form::Sets(sets) => sets.value() * stripe,
            Form::Chain(_) => stripe,
            Form::Pool(arrangement) => {
                let most = rows.min(most / stripe).clamp(1, arrangement.rows());
                return (1..=most)
                    .rev()
                    .find(|rows| arrangement.rows() % rows == 0)
                    .map_or(stripe, |rows| rows * stripe);
            }
        };
        let most = most.min(rows * row);
        [row, stripe].into_iter().find(|unit| *unit <= most).map_or(stripe, |unit| most / unit * unit)
    }

    /// Segments that an extent of so many bytes is written to side by side, at most those of a row of all sets.
    #[inline]
    #[must_use]
    pub fn segments_of(&self, length: u64) -> usize {
        if length <= self.segment() {
            return 1;
        }
        let side_by_side = match &self.form {
            Form::Sets(sets) => sets.value() * self.data(),
            Form::Chain(_) => 1,
            Form::Pool(_) => self.data(),
        };
        length.div_ceil(self.segment()).min(side_by_side) as usize
    }

    /// The stripe of a row of a set.
    #[must_use]
    pub const fn stripe_of(&self, row: u64, set: u64) -> u64 {
        match &self.form {
            Form::Sets(sets) => row * sets.value() + set,
            Form::Chain(per_set) => set * per_set.value() + row,
            Form::Pool(_) => row,
        }
    }

    /// How many drives of a stripe may fail without loss.
    #[inline]
    #[must_use]
    pub const fn tolerance(&self) -> u64 {
        self.parity + self.copies - 1
    }

    /// Whether bytes of the group's space lie on a set of drives, a part of a stripe counted as all of it.
    #[must_use]
    pub const fn touches(&self, set: u64, start: u64, end: u64) -> bool {
        let (first, beyond) = (start / self.stripe_bytes(), end.div_ceil(self.stripe_bytes()));
        match &self.form {
            Form::Sets(sets) => {
                let sets = sets.value();
                first + (set + sets - first % sets) % sets < beyond
            }
            Form::Chain(per_set) => first < (set + 1) * per_set.value() && set * per_set.value() < beyond,
            Form::Pool(_) => true,
        }
    }

    /// The stripe, and the position of it, that has a segment of a drive of a pool. Nothing has one that is left over.
    #[must_use]
    pub fn unit_at(&self, drive: u32, offset: u64) -> Option<(u64, u64)> {
        match &self.form {
            Form::Pool(arrangement) => arrangement.unit_at(drive, offset).filter(|unit| unit.0 < self.stripes),
            Form::Sets(_) | Form::Chain(_) => None,
        }
    }

    /// Bytes of an extent of a pool that lie next to each other on a drive; of others, and of stripes by themselves, a segment.
    #[must_use]
    pub const fn extent_of_drive(&self) -> u64 {
        match &self.form {
            Form::Pool(arrangement) => arrangement.rows() * self.segment(),
            Form::Sets(_) | Form::Chain(_) => self.segment(),
        }
    }

    /// Bytes of each drive that have stripes.
    #[must_use]
    pub const fn used_of_drive(&self) -> u64 {
        match &self.form {
            Form::Pool(arrangement) => arrangement.used_of_drive(self.stripes),
            Form::Sets(_) | Form::Chain(_) => self.stripes / self.sets() * self.segment(),
        }
    }

    /// The parts of an I/O, in order.
    pub fn pieces(&self, offset: u64, length: u64) -> impl Iterator<Item = Piece> {
        let mut at = offset;
        std::iter::from_fn(move || {
            let left = offset + length - at;
            (left > 0).then(|| {
                let piece = self.first_piece(at, left);
                at += piece.length;
                piece
            })
        })
    }

    /// The position in its stripe of a data segment, or of the first copy of it.
    #[inline]
    #[must_use]
    pub fn position_of_data(&self, stripe: u64, index: u64) -> u64 {
        if self.parity == 0 { index } else { self.turn(self.first_parity(stripe) + self.parity + index) }
    }

    /// The position in its stripe of a parity segment.
    #[inline]
    #[must_use]
    pub fn position_of_parity(&self, stripe: u64, index: u64) -> u64 {
        self.turn(self.first_parity(stripe) + index)
    }

    /// Positions of a stripe in the order in which they are read to compute one that is lost: data first, then parity, as
    /// Linux md does. So the drives that are left out for having more parity than needed take turns.
    pub fn recovery_order(&self, stripe: u64) -> impl Iterator<Item = u64> {
        let of_data = self.width() - self.parity();
        (0..self.width()).map(move |nth| {
            if self.parity() == 0 {
                nth
            } else if nth < of_data {
                self.position_of_data(stripe, nth)
            } else {
                self.position_of_parity(stripe, nth - of_data)
            }
        })
    }

    #[inline]
    fn first_parity(&self, stripe: u64) -> u64 {
        self.width.value() - 1 - self.width.split(self.row(stripe)).1
    }

    #[inline]
    fn row(&self, stripe: u64) -> u64 {
        match &self.form {
            Form::Sets(sets) => sets.split(stripe).0,
            Form::Chain(_) | Form::Pool(_) => stripe,
        }
    }

    /// Wraps a position below twice the width.
    #[inline]
    fn turn(&self, position: u64) -> u64 {
        let width = self.width.value();
        if position >= width { position - width } else { position }
    }

    /// Where a position of a stripe starts.
    #[inline]
    #[must_use]
    pub fn place(&self, stripe: u64, position: u64) -> Place {
        match &self.form {
            Form::Sets(sets) => {
                let (row, set) = sets.split(stripe);
                let drive = (set * self.width.value() + position) as u32;
                Place { drive, offset: row * self.segment.value() }
            }
            Form::Chain(per_set) => {
                let (set, row) = per_set.split(stripe);
                let drive = (set * self.width.value() + position) as u32;
                Place { drive, offset: row * self.segment.value() }
            }
            Form::Pool(arrangement) => arrangement.place(stripe, position),
        }
    }
}
