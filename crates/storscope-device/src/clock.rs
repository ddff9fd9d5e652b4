//! Clocks: the system's, and one that moves only when it is waited for.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use storscope_types::Nanos;

/// A clock that never goes back. Its origin is its own.
pub trait Clock {
    /// Whether time moves only while it is waited for: what is done at one instant is all done then.
    const STANDS_STILL: bool = false;

    /// The present instant.
    fn now(&self) -> Nanos;

    /// Returns at `instant` or somewhat later; at once if it has passed.
    fn sleep_until(&self, instant: Nanos);
}

/// The system's monotonic clock; instants count from its creation.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock(Instant);

impl SystemClock {
    /// A clock that starts at zero now.
    #[must_use]
    pub fn start() -> Self {
        Self(Instant::now())
    }
}

impl Clock for SystemClock {
    #[inline]
    fn now(&self) -> Nanos {
        Nanos(self.0.elapsed().as_nanos() as u64)
    }

    fn sleep_until(&self, instant: Nanos) {
        std::thread::sleep(Duration::from_nanos(instant.since(self.now()).0));
    }
}

/// A clock in virtual time. Clones share the time; waiting takes none.
#[derive(Debug, Clone, Default)]
pub struct VirtualClock(Rc<Cell<u64>>);

impl Clock for VirtualClock {
    const STANDS_STILL: bool = true;

    #[inline]
    fn now(&self) -> Nanos {
        Nanos(self.0.get())
    }

    #[inline]
    fn sleep_until(&self, instant: Nanos) {
        self.0.set(self.0.get().max(instant.0));
    }
}
