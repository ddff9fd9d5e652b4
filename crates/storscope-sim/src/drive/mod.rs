//! The drives of a simulated array.
//!
//! A [`Drive`] takes operations and says when it next needs attention; whoever owns the clock calls it then. It has one
//! place in the caller's event list whatever goes on inside: the arm, the link, the cache that is written back.
//!
//! ```
//! use storscope_device::Direction;
//! use storscope_sim::drive::{Drive, DriveOp, catalogue};
//! use storscope_types::Nanos;
//!
//! let design = catalogue::find("samsung-f1-1tb").unwrap().design();
//! let mut drive = Drive::new(&design, 1, 0);
//! drive.submit(Nanos::ZERO, DriveOp { tag: 7, direction: Direction::Read, offset: 1 << 30, length: 4096 });
//! let at = drive.next_event();
//! assert_eq!(drive.advance(at), Some(7));
//! assert_eq!(drive.next_event(), Nanos::NEVER);
//! ```
//!
//! Beware: time must not go backwards between calls, and `advance` must be called at `next_event`, not later.

mod arm;
pub mod catalogue;
mod commands;
mod curve;
pub mod fit;
mod flash;
mod geometry;
mod line;
pub(crate) mod maths;
mod mechanical;
mod neighbourhood;
mod read_ahead;
mod seek;
mod variate;
mod window;
mod write_cache;
mod write_streams;

use storscope_device::Direction;
use storscope_types::Nanos;
use storscope_types::design::drive::{CurveDesign, DriveDesign, FlashDesign};

use curve::Curve;
pub(crate) use curve::served_side_by_side;
use flash::Flash;
pub use flash::ReadWaits;
use mechanical::Mechanical;

/// One operation on a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DriveOp {
    /// Comes back when it is done.
    pub tag: u32,
    /// Read or write.
    pub direction: Direction,
    /// Byte offset on this drive.
    pub offset: u64,
    /// Bytes.
    pub length: u32,
}

/// A drive in virtual time.
#[derive(Debug)]
pub struct Drive {
    model: Model,
    size_bytes: u64,
    failed: bool,
}

#[derive(Debug)]
enum Model {
    Mechanical(Mechanical),
    Flash(Flash),
    Curve(Curve),
}

/// What all drives of a design have in common.
#[derive(Debug)]
pub struct DriveKind {
    traits: Traits,
    size_bytes: u64,
}

#[derive(Debug)]
enum Traits {
    Mechanical(mechanical::Traits),
    Flash(FlashDesign),
    Curve(CurveDesign),
}

impl DriveKind {
    /// The design must have passed [`DriveDesign::check`].
    #[must_use]
    pub fn new(design: &DriveDesign) -> Self {
        let traits = match design {
            DriveDesign::Mechanical(design) => Traits::Mechanical(mechanical::Traits::new(design)),
            DriveDesign::Flash(design) => Traits::Flash(design.clone()),
            DriveDesign::Curve(design) => Traits::Curve(design.clone()),
        };
        Self { traits, size_bytes: design.size().0 }
    }

    /// A drive of this kind, idle. Drives differ by `index`: their platters stand at different angles.
    #[must_use]
    pub fn drive(&self, seed: u64, index: u32) -> Drive {
        let model = match &self.traits {
            Traits::Mechanical(traits) => Model::Mechanical(Mechanical::new(traits, seed, index)),
            Traits::Flash(design) => Model::Flash(Flash::new(design, seed, index)),
            Traits::Curve(design) => Model::Curve(Curve::new(design, seed, index)),
        };
        Drive { model, size_bytes: self.size_bytes, failed: false }
    }
}

macro_rules! each {
    ($self:expr, $model:ident => $call:expr) => {
        match $self {
            Model::Mechanical($model) => $call,
            Model::Flash($model) => $call,
            Model::Curve($model) => $call,
        }
    };
}

impl Drive {
    /// A single drive as designed, idle; see [`DriveKind`] for several.
    ///
    /// The design must have passed [`DriveDesign::check`].
    #[must_use]
    pub fn new(design: &DriveDesign, seed: u64, index: u32) -> Self {
        DriveKind::new(design).drive(seed, index)
    }

    /// Takes an operation, and starts it if it can.
    #[inline]
    pub fn submit(&mut self, now: Nanos, op: DriveOp) {
        each!(&mut self.model, model => model.submit(now, op));
    }

    /// Whether written data may be where a loss of power takes it: without flushes, that is.
    #[inline]
    #[must_use]
    pub fn is_volatile(&self) -> bool {
        each!(&self.model, model => model.is_volatile())
    }

    /// Takes a flush. Its tag comes back when all that was written before is safe. For drives that [are
    /// volatile](Drive::is_volatile); others have nothing to flush.
    pub fn flush(&mut self, now: Nanos, tag: u32) {
        each!(&mut self.model, model => model.flush(now, tag));
    }

    /// When [`Drive::advance`] must be called next; [`Nanos::NEVER`] when idle.
    #[inline]
    #[must_use]
    pub fn next_event(&self) -> Nanos {
        each!(&self.model, model => model.next_event())
    }

    /// Handles what is due at `now`, and starts what can start. Returns the tag of what completed; nothing when the
    /// event was the drive's own, such as a write from its cache.
    #[inline]
    pub fn advance(&mut self, now: Nanos) -> Option<u32> {
        each!(&mut self.model, model => model.advance(now))
    }

    /// Operations that wait.
    #[must_use]
    pub fn queue_len(&self) -> usize {
        each!(&self.model, model => model.queue_len())
    }

    /// Operations being served.
    #[must_use]
    pub fn in_service(&self) -> usize {
        each!(&self.model, model => model.in_service())
    }

    /// For how long the drive has been busy in all until `now`.
    #[must_use]
    pub fn busy(&self, now: Nanos) -> Nanos {
        each!(&self.model, model => model.busy(now))
    }

    /// For how long it has worked in all until `now`, if it knows that of what works side by side in it.
    #[must_use]
    pub fn used(&self, now: Nanos) -> Option<Nanos> {
        match &self.model {
            Model::Flash(flash) => Some(flash.used(now)),
            Model::Curve(curve) => Some(curve.used(now)),
            Model::Mechanical(_) => None,
        }
    }

    /// How long what was done last would have taken alone, if the drive knows: the rest of its time it waited.
    #[must_use]
    pub fn served(&self) -> Option<Nanos> {
        match &self.model {
            Model::Flash(flash) => Some(flash.served()),
            Model::Curve(curve) => Some(curve.served()),
            Model::Mechanical(_) => None,
        }
    }

    /// For how long the reads that came have to wait in all, if the drive knows.
    #[must_use]
    pub fn read_waits(&self) -> Option<ReadWaits> {
        match &self.model {
            Model::Flash(flash) => Some(flash.read_waits()),
            Model::Mechanical(_) | Model::Curve(_) => None,
        }
    }

    /// Marks the drive as failed. What it has taken still completes; the caller sends no more.
    pub fn fail(&mut self) {
        self.failed = true;
    }

    /// Whether it has failed.
    #[must_use]
    pub fn is_failed(&self) -> bool {
        self.failed
    }

    /// Usable bytes.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }
}
