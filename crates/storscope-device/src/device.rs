//! What a device is.

use storscope_types::{FlushKind, Nanos};
use thiserror::Error;

/// Which way the bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the device.
    Read,
    /// To the device.
    Write,
}

impl Direction {
    /// The other one.
    #[must_use]
    pub const fn opposite(self) -> Self {
        match self {
            Self::Read => Self::Write,
            Self::Write => Self::Read,
        }
    }
}

/// One I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Comes back in the completion. No two requests in flight have the same.
    pub token: u32,
    /// Index of the target.
    pub target: u32,
    /// Read or write.
    pub direction: Direction,
    /// Byte offset on the target.
    pub offset: u64,
    /// Bytes.
    pub length: u32,
    /// Which of the device's buffers holds the data; devices without data ignore it.
    pub buffer: u32,
}

/// A flush: what was completed on a target before it was sent outlives a loss of power once it is done. It is no barrier:
/// what is in flight beside it may or may not be covered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlushRequest {
    /// Comes back in the completion; of the same kind as those of [`Request`].
    pub token: u32,
    /// Index of the target.
    pub target: u32,
    /// What is made durable.
    pub kind: FlushKind,
}

/// A request that is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// Of the request.
    pub token: u32,
    /// Bytes transferred, none by a flush, or the negative errno.
    pub result: i32,
    /// When the device saw it done.
    pub at: Nanos,
}

/// The device as a whole failed; a failed request is a [`Completion`] with a negative result.
#[derive(Debug, Error)]
pub enum DeviceError {
    /// The operating system refused.
    #[error("{action}: {source}")]
    System {
        /// What was asked of it.
        action: &'static str,
        /// What it said.
        source: std::io::Error,
    },
}

/// Takes requests and completes them.
pub trait Device {
    /// Whether [`Device::expect`] does anything, so that nobody need look ahead in vain.
    const EXPECTS: bool = false;

    /// Whether requests have data in buffers; where not, nobody need keep account of buffers.
    const KEEPS_DATA: bool = true;

    /// Most requests that may be in flight.
    fn depth(&self) -> usize;

    /// Takes a request. It may start only at the next [`Device::wait`].
    fn submit(&mut self, request: Request);

    /// Takes a flush, as [`Device::submit`] takes a request.
    fn flush(&mut self, flush: FlushRequest);

    /// A request that starts at this offset of this target is likely to come next. Changes nothing but speed.
    fn expect(&mut self, _target: u32, _offset: u64) {}

    /// Starts what was taken, then waits until something completes or the clock shows `until`, and appends what is
    /// complete to `done`. Does not wait when `until` has passed. Nothing may be reported before it is complete.
    ///
    /// Returns the instant of the return, which is not before any completion's.
    ///
    /// # Errors
    /// When the device as a whole no longer works.
    fn wait(&mut self, until: Nanos, done: &mut Vec<Completion>) -> Result<Nanos, DeviceError>;

    /// The memory of a buffer; empty for devices that keep no data.
    fn buffer(&mut self, _buffer: u32) -> &mut [u8] {
        &mut []
    }
}

impl<D: Device + ?Sized> Device for Box<D> {
    const KEEPS_DATA: bool = D::KEEPS_DATA;

    fn depth(&self) -> usize {
        (**self).depth()
    }

    fn submit(&mut self, request: Request) {
        (**self).submit(request);
    }

    fn flush(&mut self, flush: FlushRequest) {
        (**self).flush(flush);
    }

    fn wait(&mut self, until: Nanos, done: &mut Vec<Completion>) -> Result<Nanos, DeviceError> {
        (**self).wait(until, done)
    }

    fn buffer(&mut self, buffer: u32) -> &mut [u8] {
        (**self).buffer(buffer)
    }
}
