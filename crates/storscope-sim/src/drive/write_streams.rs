//! Which writes to a flash drive are part of a sequential stream.
//!
//! A stream is known by where its last write ended. Those that are known are kept in sets by the block that they write at
//! present: a write looks at one set, which is a line of the processor's cache. What comes anew takes the last place of its
//! set, what goes on comes first. So other writes displace at most what came anew, as do streams beyond those that find
//! room: some are no longer told from random writes, not all as if the oldest gave way each time (the LRU insertion policy of
//! Qureshi et al., "Adaptive Insertion Policies for High Performance Caching", ISCA 2007).

/// Streams of a set: as many as fill 64 bytes.
const WAYS: usize = 4;
/// The sets are two to the power of this. A choice of the model: streams that advance alike also lose their pages together,
/// however many they are, so that it is no drive's number.
const SET_BITS: u32 = 8;

/// The streams that are known.
#[derive(Debug)]
pub struct WriteStreams {
    sets: Box<[Set]>,
    /// Bytes after which a stream overwrites whole blocks, and the power of two next below: what is kept together.
    block_bytes: u64,
    block_bits: u32,
}

#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Set([Stream; WAYS]);

#[derive(Debug, Clone, Copy)]
struct Stream {
    next: u64,
    bytes: u64,
}

/// No stream: no write begins there.
const NONE: Stream = Stream { next: u64::MAX, bytes: 0 };

impl WriteStreams {
    /// None yet, on a drive with blocks of this size.
    pub fn new(block_bytes: u64) -> Self {
        Self {
            sets: vec![Set([NONE; WAYS]); 1 << SET_BITS].into(),
            block_bytes,
            block_bits: block_bytes.max(1).ilog2(),
        }
    }

    /// Takes a write. Returns how many of its bytes, the last ones, are part of a stream: all where it goes on where an earlier
    /// one of a stream ended that has written a block by now, or else what it has beyond a block itself.
    pub fn streamed_bytes(&mut self, offset: u64, length: u64) -> u64 {
        let end = offset + length;
        let index = self.set_of(offset);
        let set = &mut self.sets[index].0;
        let Some(way) = set.iter().position(|stream| stream.next == offset) else {
            self.come(Stream { next: end, bytes: length });
            return length.saturating_sub(self.block_bytes);
        };
        let stream = Stream { next: end, bytes: set[way].bytes + length };
        set.copy_within(..way, 1);
        set[0] = stream;
        if self.set_of(end) != index {
            self.leave_for_next(index, stream);
        }
        if stream.bytes > self.block_bytes { length } else { 0 }
    }

    /// One comes that was not known.
    fn come(&mut self, stream: Stream) {
        let index = self.set_of(stream.next);
        let set = &mut self.sets[index].0;
        let place = set.iter().position(|stream| stream.bytes == 0).unwrap_or(WAYS - 1);
        set[place] = stream;
    }

    /// The first stream of a set comes to a block that is kept in another.
    fn leave_for_next(&mut self, index: usize, stream: Stream) {
        let set = &mut self.sets[index].0;
        set.copy_within(1.., 0);
        set[WAYS - 1] = NONE;
        let next = self.set_of(stream.next);
        let set = &mut self.sets[next].0;
        set.copy_within(..WAYS - 1, 1);
        set[0] = stream;
    }

    /// Multiplicative hashing (Knuth, The Art of Computer Programming, volume 3, 6.4) of the block in which a byte lies.
    #[inline]
    fn set_of(&self, byte: u64) -> usize {
        ((byte >> self.block_bits).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - SET_BITS)) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::WriteStreams;

    #[test]
    fn a_stream_is_one_from_its_first_block_on() {
        let mut streams = WriteStreams::new(1_000);
        let found: Vec<u64> = (0..6).map(|at| streams.streamed_bytes(at * 300, 300)).collect();
        assert_eq!(found, [0, 0, 0, 300, 300, 300]);
        assert_eq!(streams.streamed_bytes(50_000, 300), 0, "elsewhere");
        assert_eq!(streams.streamed_bytes(1_800, 300), 300, "the stream is still known");
    }

    #[test]
    fn one_write_is_a_stream_from_its_first_block_on() {
        let mut streams = WriteStreams::new(1_000);
        let found = [1_000, 1_001, 64_000].map(|length| streams.streamed_bytes(length * 10_000, length));
        assert_eq!(found, [0, 1, 63_000]);
    }

    /// The share of writes that are found to be part of a stream, of streams in turn with others anywhere after each.
    fn found(count: u64, others: u64) -> f64 {
        let (mut streams, mut state, mut found) = (WriteStreams::new(1 << 22), 7_u64, 0_u64);
        for turn in 0..count * 1_024 {
            let (stream, step) = (turn % count, turn / count);
            let goes_on = streams.streamed_bytes(stream * ((1 << 38) / count) + step * 65_536, 65_536) > 0;
            found += u64::from(goes_on && step >= 256);
            for _ in 0..others {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                assert_eq!(streams.streamed_bytes(state >> 26 << 12, 4_096), 0);
            }
        }
        found as f64 / (count * 768) as f64
    }

    #[test]
    fn streams_are_known_among_many_and_among_random_writes() {
        for (count, others, least) in
            [(9, 0, 1.0), (64, 0, 0.98), (256, 0, 0.98), (1_024, 0, 0.5), (1, 100, 1.0), (16, 10, 0.98)]
        {
            let found = found(count, others);
            assert!(found >= least, "{count} streams with {others} others: {found}");
        }
    }
}
