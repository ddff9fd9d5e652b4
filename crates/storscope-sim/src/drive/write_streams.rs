//! Which writes to a flash drive are part of a sequential stream.

/// Streams that are told apart. A choice of the model: blocks that many streams fill together lose their pages at different
/// times, and are as random writes.
const STREAMS: usize = 8;

/// The streams, the one not written for longest replaced next.
#[derive(Debug)]
pub struct WriteStreams {
    streams: Box<[Stream]>,
    /// Bytes after which a stream overwrites whole blocks.
    block_bytes: u64,
    writes: u64,
}

#[derive(Debug, Clone, Copy)]
struct Stream {
    next: u64,
    bytes: u64,
    used: u64,
}

impl WriteStreams {
    /// None yet, on a drive with blocks of this size.
    pub fn new(block_bytes: u64) -> Self {
        let none = Stream { next: u64::MAX, bytes: 0, used: 0 };
        Self { streams: vec![none; STREAMS].into_boxed_slice(), block_bytes, writes: 0 }
    }

    /// Takes a write. Returns whether it goes on where an earlier one of a stream ended that has written a block by now.
    pub fn goes_on(&mut self, offset: u64, length: u64) -> bool {
        self.writes += 1;
        let used = self.writes;
        if let Some(stream) = self.streams.iter_mut().find(|stream| stream.next == offset) {
            *stream = Stream { next: offset + length, bytes: stream.bytes + length, used };
            return stream.bytes > self.block_bytes;
        }
        if let Some(oldest) = self.streams.iter_mut().min_by_key(|stream| stream.used) {
            *oldest = Stream { next: offset + length, bytes: length, used };
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::{STREAMS, WriteStreams};

    #[test]
    fn a_stream_is_one_from_its_first_block_on() {
        let mut streams = WriteStreams::new(1_000);
        let found: Vec<bool> = (0..6).map(|at| streams.goes_on(at * 300, 300)).collect();
        assert_eq!(found, [false, false, false, true, true, true]);
        assert!(!streams.goes_on(50_000, 300), "elsewhere");
        assert!(streams.goes_on(1_800, 300), "the stream is still known");
    }

    #[test]
    fn more_streams_than_are_told_apart_are_none() {
        let mut streams = WriteStreams::new(1_000);
        let mut goes_on = |turn: u64, count: u64| streams.goes_on(turn % count * 1_000_000 + turn / count * 500, 500);
        let many = STREAMS as u64 + 1;
        assert!(!(0..20 * many).any(|turn| goes_on(turn, many)));
    }
}
