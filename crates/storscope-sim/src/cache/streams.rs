//! Sequential streams: who reads on where the last read ended, and how far ahead has been read for it.

use storscope_types::design::PrefetchDesign;

/// The streams of a volume.
#[derive(Debug, Clone)]
pub struct Streams {
    streams: Box<[Stream]>,
    depth: u64,
    trigger: u32,
    reads: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Stream {
    next: u64,
    length: u32,
    ahead: u64,
    used: u64,
}

/// Bytes to be read ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ahead {
    /// From here.
    pub start: u64,
    /// To here.
    pub end: u64,
}

impl Streams {
    /// No streams yet.
    #[must_use]
    pub fn new(design: &PrefetchDesign) -> Self {
        Self {
            streams: vec![Stream { next: u64::MAX, ..Stream::default() }; design.streams as usize].into_boxed_slice(),
            depth: design.depth.0,
            trigger: design.trigger,
            reads: 0,
        }
    }

    /// A read from `start` to `end` comes. Returns what should be read ahead now: nothing, or at least half the depth,
    /// so that read-ahead is made of large reads.
    pub fn read(&mut self, start: u64, end: u64) -> Option<Ahead> {
        self.reads += 1;
        let (reads, depth, trigger) = (self.reads, self.depth, self.trigger);
        let Some(stream) = self.streams.iter_mut().find(|stream| stream.next == start) else {
            self.begin(end);
            return None;
        };
        (stream.next, stream.used) = (end, reads);
        stream.length = stream.length.saturating_add(1);
        let from = stream.ahead.max(end);
        let until = end + depth;
        if stream.length < trigger || until < from + depth / 2 {
            return None;
        }
        stream.ahead = until;
        Some(Ahead { start: from, end: until })
    }

    /// Follows a new stream instead of the one not read for longest.
    fn begin(&mut self, end: u64) {
        let reads = self.reads;
        if let Some(stream) = self.streams.iter_mut().min_by_key(|stream| stream.used) {
            *stream = Stream { next: end, length: 1, ahead: end, used: reads };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use storscope_types::Bytes;

    fn streams(count: u32) -> Streams {
        Streams::new(&PrefetchDesign { streams: count, depth: Bytes(1_000), trigger: 3, size: None })
    }

    #[test]
    fn the_third_read_in_sequence_starts_reading_ahead_and_later_ones_keep_it_up() {
        let mut streams = streams(2);
        assert_eq!(streams.read(0, 100), None);
        assert_eq!(streams.read(100, 200), None);
        assert_eq!(streams.read(200, 300), Some(Ahead { start: 300, end: 1_300 }));
        let later: Vec<Ahead> = (3..9).filter_map(|at| streams.read(at * 100, at * 100 + 100)).collect();
        assert_eq!(later, [Ahead { start: 1_300, end: 1_800 }]);
    }

    #[test]
    fn more_streams_than_are_followed_push_each_other_out() {
        let mut two = streams(2);
        let found = (0..30_u64).filter(|turn| {
            two.read(turn % 3 * 1_000_000 + turn / 3 * 100, turn % 3 * 1_000_000 + turn / 3 * 100 + 100).is_some()
        });
        assert_eq!(found.count(), 0);
        let mut four = streams(4);
        let found = (0..30_u64).filter(|turn| {
            four.read(turn % 3 * 1_000_000 + turn / 3 * 100, turn % 3 * 1_000_000 + turn / 3 * 100 + 100).is_some()
        });
        assert!(found.count() >= 3);
    }
}
