//! A page in memory.

use crate::kernel::NONE;

/// What a page is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// As on the drives, or not in use.
    Clean,
    /// Newer than on the drives.
    Dirty,
    /// On its way to the drives.
    Destaging,
    /// Being read from the drives.
    Loading,
}

/// Bits of the state in a word with the key.
const STATE_BITS: u32 = 2;

/// A page in memory: 32 bytes, so that none lies on two cache lines. Directories are larger than the processor's caches.
#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
pub struct Page {
    /// The key, and the state in the low bits.
    key_and_state: u64,
    /// Neighbours in the list of clean or dirty pages.
    pub(super) before: u32,
    /// See `before`.
    pub(super) after: u32,
    /// Units that are newer than on the drives.
    pub dirty: u32,
    /// Units that are known.
    pub valid: u32,
    /// First of the jobs that wait for it.
    pub waiting: u32,
    /// How many pages had become dirty before it, of those that did so last; it wraps around.
    pub(super) turn: u32,
}

impl Page {
    /// A page of nothing.
    pub(super) const EMPTY: Self = Self::new(u64::MAX >> STATE_BITS, State::Clean);

    /// A page in no list; the key is below 2^62.
    pub(super) const fn new(key: u64, state: State) -> Self {
        Self {
            key_and_state: key << STATE_BITS | state as u64,
            before: NONE,
            after: NONE,
            dirty: 0,
            valid: 0,
            waiting: NONE,
            turn: 0,
        }
    }

    /// The two ends of a list in which nothing is.
    pub(super) const fn end(place: u32) -> Self {
        let mut end = Self::EMPTY;
        (end.before, end.after) = (place, place);
        end
    }

    /// Which page of which space.
    #[inline]
    #[must_use]
    pub const fn key(&self) -> u64 {
        self.key_and_state >> STATE_BITS
    }

    /// What it is.
    #[inline]
    #[must_use]
    pub const fn state(&self) -> State {
        match self.key_and_state & 3 {
            0 => State::Clean,
            1 => State::Dirty,
            2 => State::Destaging,
            _ => State::Loading,
        }
    }

    /// Makes it something else.
    #[inline]
    pub const fn set_state(&mut self, state: State) {
        self.key_and_state = self.key() << STATE_BITS | state as u64;
    }
}

/// Asks the processor to read memory that will be needed soon.
#[inline]
pub(super) fn prefetch<T>(item: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch of any address has no effect but on speed.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(item).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = item;
}
