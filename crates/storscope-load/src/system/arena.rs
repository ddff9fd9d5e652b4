//! The memory that I/Os use: one anonymous mapping, cut into equal buffers.
//!
//! While an I/O is under way the kernel uses its buffer, and no reference to it may exist. Several reads may share one that
//! nobody looks at: then only the kernel writes to it. Builds with debug assertions watch that.

use std::collections::HashMap;
use std::io;
use std::ptr::NonNull;

use crate::buffers::BufferPlan;

/// The kernel registers at most this much per piece (io_uring_register(2), `IORING_REGISTER_BUFFERS`).
const LARGEST_PIECE: usize = 1 << 30;

/// Page-aligned buffers of equal size, all of them touched.
#[derive(Debug)]
pub struct Arena {
    base: NonNull<u8>,
    buffer_size: usize,
    buffers: usize,
    /// Token to buffer of I/Os under way; kept only with debug assertions.
    lent: HashMap<u32, u32>,
}

// SAFETY: the arena owns its mapping, which is not tied to a thread.
unsafe impl Send for Arena {}

impl Arena {
    /// Memory for the plan.
    ///
    /// # Errors
    /// When the system refuses. It may grant more than it has: see [`MemoryLeft`](super::MemoryLeft) before.
    pub fn new(plan: &BufferPlan) -> io::Result<Self> {
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE);
        // SAFETY: a new anonymous mapping at an address of the kernel's choice touches nothing that exists.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), plan.bytes(), protection, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { base, buffer_size: plan.size, buffers: plan.reads + plan.writes, lent: HashMap::new() })
    }

    /// Where a buffer starts.
    #[inline]
    #[must_use]
    pub fn pointer(&self, buffer: u32) -> *mut u8 {
        let index = buffer as usize;
        assert!(index < self.buffers, "buffer {index} of {}", self.buffers);
        // SAFETY: the buffer lies within the mapping, as just checked.
        unsafe { self.base.as_ptr().add(index * self.buffer_size) }
    }

    /// An I/O with this token uses the buffer from now on.
    #[inline]
    pub fn lend(&mut self, token: u32, buffer: u32) {
        if cfg!(debug_assertions) {
            self.lent.insert(token, buffer);
        }
    }

    /// The I/O with this token is done.
    #[inline]
    pub fn take_back(&mut self, token: u32) {
        if cfg!(debug_assertions) {
            self.lent.remove(&token);
        }
    }

    /// The bytes of a buffer that no I/O uses. The generator asks for those of a write before it is sent, and for those of
    /// a read with a buffer of its own once it is done.
    #[inline]
    pub fn bytes(&mut self, buffer: u32) -> &mut [u8] {
        debug_assert!(!self.lent.values().any(|&lent| lent == buffer), "buffer {buffer} is in use");
        // SAFETY: `pointer` checks the bounds; the mapping lives as long as we do, and we are borrowed exclusively. The
        // kernel does not use the buffer, as just checked where such checks are on.
        unsafe { std::slice::from_raw_parts_mut(self.pointer(buffer), self.buffer_size) }
    }

    /// Bytes of a buffer.
    #[must_use]
    pub fn buffer_size(&self) -> usize {
        self.buffer_size
    }

    /// How many buffers a registered piece holds; none crosses a border.
    #[must_use]
    pub fn per_piece(&self) -> u32 {
        (LARGEST_PIECE / self.buffer_size).max(1) as u32
    }

    /// The pieces to register.
    #[must_use]
    pub fn pieces(&self) -> Vec<libc::iovec> {
        let per_piece = self.per_piece();
        let starts = (0..self.buffers as u32).step_by(per_piece as usize);
        let piece = |first: u32| {
            let buffers = (self.buffers as u32 - first).min(per_piece) as usize;
            libc::iovec { iov_base: self.pointer(first).cast(), iov_len: buffers * self.buffer_size }
        };
        starts.map(piece).collect()
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, of this size, and nobody has a reference into it. Devices see to it that no I/O
        // uses it any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.buffers * self.buffer_size) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(debug_assertions, should_panic(expected = "buffer 1 is in use"))]
    fn a_buffer_is_not_looked_at_while_an_io_uses_it() {
        let mut arena = Arena::new(&BufferPlan { size: 4096, reads: 2, writes: 0 }).unwrap();
        arena.lend(7, 1);
        arena.lend(8, 1);
        arena.bytes(0)[0] = 1;
        arena.take_back(7);
        arena.bytes(1)[0] = 1;
    }

    #[test]
    fn a_buffer_is_looked_at_when_its_io_is_done() {
        let mut arena = Arena::new(&BufferPlan { size: 4096, reads: 2, writes: 0 }).unwrap();
        arena.lend(7, 1);
        arena.take_back(7);
        assert_eq!(arena.bytes(1)[0], 0);
    }
}
