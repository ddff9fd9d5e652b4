//! Where workers wait for each other, and those that are ready for their caller.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Where workers wait until all of them have come.
#[derive(Debug)]
pub(crate) struct Meeting {
    missing: Mutex<usize>,
    complete: Condvar,
}

impl Meeting {
    /// Of so many.
    pub fn of(workers: usize) -> Self {
        Self { missing: Mutex::new(workers), complete: Condvar::new() }
    }

    /// Comes to it, and waits until nobody is missing.
    pub fn attend(&self) {
        self.excuse(1);
        let mut missing = self.missing();
        while *missing > 0 {
            missing = self.complete.wait(missing).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// So many are not waited for any more.
    pub fn excuse(&self, workers: usize) {
        *self.missing() -= workers;
        self.complete.notify_all();
    }

    fn missing(&self) -> MutexGuard<'_, usize> {
        self.missing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

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
