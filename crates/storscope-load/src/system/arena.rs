//! The memory that I/Os use: one anonymous mapping, cut into equal buffers.

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
}

// SAFETY: the arena owns its mapping, which is not tied to a thread.
unsafe impl Send for Arena {}

impl Arena {
    /// Memory for the plan.
    ///
    /// # Errors
    /// When the system has not that much.
    pub fn new(plan: &BufferPlan) -> io::Result<Self> {
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE);
        // SAFETY: a new anonymous mapping at an address of the kernel's choice touches nothing that exists.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), plan.bytes(), protection, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { base, buffer_size: plan.size, buffers: plan.reads + plan.writes })
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

    /// The bytes of a buffer that no I/O uses.
    #[inline]
    pub fn bytes(&mut self, buffer: u32) -> &mut [u8] {
        // SAFETY: `pointer` checks the bounds; the mapping lives as long as we do, and we are borrowed exclusively. The
        // generator looks at a buffer only while no I/O uses it.
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
