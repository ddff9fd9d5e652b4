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

/// A page in memory.
#[derive(Debug, Clone, Copy)]
pub struct Page {
    /// Which page of which space.
    pub key: u64,
    /// The next page of the same bucket.
    pub(super) chain: u32,
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
    /// What it is.
    pub state: State,
}

impl Page {
    /// A page of nothing.
    pub(super) const EMPTY: Self = Self {
        key: u64::MAX,
        chain: NONE,
        before: NONE,
        after: NONE,
        dirty: 0,
        valid: 0,
        waiting: NONE,
        state: State::Clean,
    };
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
