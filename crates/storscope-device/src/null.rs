//! A device that completes everything at once.

use storscope_types::Nanos;

use crate::{Clock, Completion, Device, DeviceError, FlushRequest, Request};

/// Completes every request at the next wait, without I/O. What it costs is what the caller costs.
#[derive(Debug)]
pub struct NullDevice<C> {
    clock: C,
    /// Token and result.
    pending: Vec<(u32, i32)>,
    depth: usize,
}

impl<C: Clock> NullDevice<C> {
    /// A null device for `depth` requests in flight.
    #[must_use]
    pub fn new(clock: C, depth: usize) -> Self {
        Self { clock, pending: Vec::with_capacity(depth), depth }
    }
}

impl<C: Clock> Device for NullDevice<C> {
    fn depth(&self) -> usize {
        self.depth
    }

    #[inline]
    fn submit(&mut self, request: Request) {
        self.pending.push((request.token, request.length as i32));
    }

    fn flush(&mut self, flush: FlushRequest) {
        self.pending.push((flush.token, 0));
    }

    #[inline]
    fn wait(&mut self, until: Nanos, done: &mut Vec<Completion>) -> Result<Nanos, DeviceError> {
        if self.pending.is_empty() {
            self.clock.sleep_until(until);
        }
        let at = self.clock.now();
        let complete = |(token, result)| Completion { token, result, at };
        done.extend(self.pending.drain(..).map(complete));
        Ok(at)
    }
}
