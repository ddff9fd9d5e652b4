//! Where workers that are ready wait for their caller.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Closed until somebody opens it; never closed again.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_open: bool,
    is_reached: bool,
}

impl Gate {
    /// Says that somebody stands before it, and waits until it is open.
    pub fn pass(&self) {
        let mut state = self.lock();
        state.is_reached = true;
        while !state.is_open {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Whether anybody has come to it.
    pub fn is_reached(&self) -> bool {
        self.lock().is_reached
    }

    /// Lets everybody pass.
    pub fn open(&self) {
        self.lock().is_open = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
