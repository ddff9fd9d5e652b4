//! Requests as entries of an io_uring, with the memory that they name.

use io_uring::squeue::Entry;
use storscope_device::{Direction, FlushRequest, Request};
use storscope_types::FlushKind;

use super::arena::Arena;

// <linux/io_uring.h>: operations, and the flag for a registered file in its place of the entry's first word.
const NOP: u8 = 0;
const FSYNC: u8 = 3;
const READ_FIXED: u8 = 4;
const WRITE_FIXED: u8 = 5;
const READ: u8 = 22;
const WRITE: u8 = 23;
const FIXED_FILE: u64 = 1 << 8;
/// `IORING_FSYNC_DATASYNC`.
const FSYNC_DATASYNC: u64 = 1 << 0;
/// Descriptor -1 in its place of the first word.
const NO_FILE: u64 = (u32::MAX as u64) << 32;

/// What turns a request into an entry.
pub struct Entries {
    /// Emptied only if I/Os in flight would outlive us.
    pub arena: Option<Arena>,
    /// For each target whether it is a no-op.
    pub is_nop: Vec<bool>,
    /// Whether the kernel knows the buffers.
    pub registered: bool,
    /// Buffers in each piece of memory that it knows.
    pub per_piece: u32,
}

impl Entries {
    /// A read or a write; on a target that is a no-op one that comes back with the length.
    #[inline(always)]
    pub fn entry(&self, request: &Request) -> Entry {
        let Request { token, target, direction, offset, length, buffer } = *request;
        if self.is_nop[target as usize] {
            return entry([NO_FILE | u64::from(NOP), 0, 0, 0, u64::from(token) | u64::from(length) << 32, 0]);
        }
        // Most arenas are one piece; a division is slower than all the rest here.
        let piece = if buffer < self.per_piece { 0 } else { buffer / self.per_piece };
        let (operation, piece) = match (direction, self.registered) {
            (Direction::Read, true) => (READ_FIXED, u64::from(piece)),
            (Direction::Write, true) => (WRITE_FIXED, u64::from(piece)),
            (Direction::Read, false) => (READ, 0),
            (Direction::Write, false) => (WRITE, 0),
        };
        let head = u64::from(operation) | FIXED_FILE | u64::from(target) << 32;
        entry([head, offset, self.address(buffer, length) as u64, u64::from(length), u64::from(token), piece])
    }

    /// A flush; on a target that is a no-op another of these.
    pub fn flush_entry(&self, flush: &FlushRequest) -> Entry {
        let FlushRequest { token, target, kind } = *flush;
        if self.is_nop[target as usize] {
            return entry([NO_FILE | u64::from(NOP), 0, 0, 0, u64::from(token), 0]);
        }
        let flags = if kind == FlushKind::Data { FSYNC_DATASYNC } else { 0 };
        let head = u64::from(FSYNC) | FIXED_FILE | u64::from(target) << 32;
        entry([head, 0, 0, flags << 32, u64::from(token), 0])
    }

    #[inline(always)]
    fn address(&self, buffer: u32, length: u32) -> *mut u8 {
        let Some(arena) = &self.arena else { return std::ptr::null_mut() };
        assert!(length as usize <= arena.buffer_size(), "{length} bytes in a buffer of {}", arena.buffer_size());
        arena.pointer(buffer)
    }
}

/// `struct io_uring_sqe` from its first six words; the others are zero. Built of whole words, it goes to the ring
/// without a stop in memory: through the crate's builders that stop takes 4 ns.
#[inline(always)]
fn entry(words: [u64; 6]) -> Entry {
    let [head, offset, address, length, user_data, piece] = words;
    const { assert!(size_of::<Entry>() == 64) };
    // SAFETY: the entry is plain numbers, 64 bytes of them as just checked, for which all values are valid; a test
    // compares what comes out with the crate's own.
    unsafe { std::mem::transmute::<[u64; 8], Entry>([head, offset, address, length, user_data, piece, 0, 0]) }
}

#[cfg(test)]
mod tests {
    use io_uring::opcode;
    use io_uring::types::{Fixed, FsyncFlags};

    use super::*;
    use crate::buffers::BufferPlan;

    fn request(token: u32) -> Request {
        Request { token, target: 0, direction: Direction::Read, offset: 0, length: 4096, buffer: 0 }
    }

    fn bytes(entry: &Entry) -> [u8; 64] {
        // SAFETY: an entry is 64 bytes of plain numbers.
        unsafe { std::mem::transmute_copy(entry) }
    }

    #[test]
    fn entries_are_those_of_the_crate() {
        let (size, length, offset, buffer) = (8192, 8000, 0x1234_5678_9abc, 3);
        for (registered, per_piece) in [(true, 2), (true, 100), (false, 100)] {
            let arena = Arena::new(&BufferPlan { size, reads: 4, writes: 0 }).unwrap();
            let entries = Entries { arena: Some(arena), is_nop: vec![false, false], registered, per_piece };
            let (piece, address) = ((buffer / per_piece) as u16, entries.address(buffer, length));
            for direction in [Direction::Read, Direction::Write] {
                let request = Request { token: 77, target: 1, direction, offset, length, buffer };
                let file = Fixed(1);
                let theirs = match (direction, registered) {
                    (Direction::Read, true) => {
                        opcode::ReadFixed::new(file, address, length, piece).offset(offset).build()
                    }
                    (Direction::Write, true) => {
                        opcode::WriteFixed::new(file, address, length, piece).offset(offset).build()
                    }
                    (Direction::Read, false) => opcode::Read::new(file, address, length).offset(offset).build(),
                    (Direction::Write, false) => opcode::Write::new(file, address, length).offset(offset).build(),
                };
                assert_eq!(bytes(&entries.entry(&request)), bytes(&theirs.user_data(77)));
            }
        }
        let entries = Entries { arena: None, is_nop: vec![true], registered: true, per_piece: 1 };
        let theirs = opcode::Nop::new().build().user_data(5 | 4096 << 32);
        assert_eq!(bytes(&entries.entry(&request(5))), bytes(&theirs));
    }

    #[test]
    fn entries_of_flushes_are_those_of_the_crate() {
        let entries = Entries { arena: None, is_nop: vec![true, false], registered: true, per_piece: 1 };
        for (kind, flags) in [(FlushKind::Data, FsyncFlags::DATASYNC), (FlushKind::Full, FsyncFlags::empty())] {
            let flush = FlushRequest { token: 77, target: 1, kind };
            let theirs = opcode::Fsync::new(Fixed(1)).flags(flags).build().user_data(77);
            assert_eq!(bytes(&entries.flush_entry(&flush)), bytes(&theirs));
            let of_nothing = opcode::Nop::new().build().user_data(77);
            assert_eq!(bytes(&entries.flush_entry(&FlushRequest { target: 0, ..flush })), bytes(&of_nothing));
        }
    }
}
