//! A log-linear histogram of latencies.
//!
//! Values below 256 have a bucket each; above, every octave has 128 equal buckets, so a bucket is never wider than
//! 1/128 of its lower bound. The scheme is that of HdrHistogram (hdrhistogram.org) with a fixed precision, which
//! leaves an index of four instructions. All of u64 is covered: nothing is clamped. Counts, extremes and the sum are
//! exact; quantiles are upper bounds of buckets, as in HdrHistogram, but never above the maximum.

use serde::ser::{Serialize, SerializeStruct, Serializer};

const BITS: u32 = 7;
const PER_OCTAVE: usize = 1 << BITS;
/// 256 exact buckets, then 56 octaves from 2^8 to 2^64.
const BUCKETS: usize = 2 * PER_OCTAVE + (64 - BITS as usize - 1) * PER_OCTAVE;

/// The greatest distance of a quantile from the value it stands for, as a share of that value.
pub const RELATIVE_ERROR: f64 = 1.0 / PER_OCTAVE as f64;

/// Counts of latencies, each within 0.8 % of its size.
#[derive(Clone)]
pub struct Histogram {
    /// Of each bucket; none until there is something to count, since a run of thousands of volumes has 59 KB for each
    /// kind of latency of each of them in each interval.
    counts: Box<[u64]>,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
}

/// Values from `low` to `high`, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bucket {
    /// The least value that falls into the bucket.
    pub low: u64,
    /// The greatest.
    pub high: u64,
    /// How many did.
    pub count: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// An empty histogram; 59 KB from the first value on.
    #[must_use]
    pub fn new() -> Self {
        Self { counts: Box::default(), count: 0, sum: 0, min: u64::MAX, max: 0 }
    }

    /// Counts one value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.add(index_of(value), 1);
        self.count += 1;
        self.sum += u128::from(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Counts one value `times` times.
    #[inline]
    pub fn record_many(&mut self, value: u64, times: u64) {
        if times == 0 {
            return;
        }
        self.add(index_of(value), times);
        self.count += times;
        self.sum += u128::from(value) * u128::from(times);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    #[inline]
    fn add(&mut self, index: usize, times: u64) {
        match self.counts.get_mut(index) {
            Some(count) => *count += times,
            None => self.add_first(index, times),
        }
    }

    #[cold]
    #[inline(never)]
    fn add_first(&mut self, index: usize, times: u64) {
        self.counts = vec![0; BUCKETS].into_boxed_slice();
        self.counts[index] = times;
    }

    /// Adds what another histogram counted.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.counts.is_empty() {
            self.counts.clone_from(&other.counts);
        } else {
            let filled = index_of(other.min)..=index_of(other.max);
            for (own, count) in self.counts[filled.clone()].iter_mut().zip(&other.counts[filled]) {
                *own += count;
            }
        }
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        if self.count > 0 {
            self.counts[index_of(self.min)..=index_of(self.max)].fill(0);
        }
        (self.count, self.sum, self.min, self.max) = (0, 0, u64::MAX, 0);
    }

    /// How many values were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their exact sum.
    #[must_use]
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// Their mean from the exact sum; none of none.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The exact least value.
    #[must_use]
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// The exact greatest value.
    #[must_use]
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// The value that a share `quantile` of the values does not exceed: the `ceil(quantile * count)`-th in order, at
    /// least the first. It is at most [`RELATIVE_ERROR`] above the true one and never below. None of none.
    #[must_use]
    pub fn quantile(&self, quantile: f64) -> Option<u64> {
        let rank = ((quantile * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut below = 0;
        self.buckets().find_map(|bucket| {
            below += bucket.count;
            (below >= rank).then(|| bucket.high.clamp(self.min, self.max))
        })
    }

    /// How many values lie in buckets that start above `value`: exact when `value` is the upper bound of a bucket.
    #[must_use]
    pub fn count_above(&self, value: u64) -> u64 {
        self.counts.iter().skip(index_of(value) + 1).sum()
    }

    /// The buckets that are not empty, in order.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> {
        let used = if self.count == 0 { 0..0 } else { index_of(self.min)..index_of(self.max) + 1 };
        let filled = used.filter(|&index| self.counts[index] > 0);
        filled.map(|index| Bucket { low: low_of(index), high: high_of(index), count: self.counts[index] })
    }

    /// The bounds of the bucket a value falls into.
    #[must_use]
    pub fn bounds_of(value: u64) -> (u64, u64) {
        let index = index_of(value);
        (low_of(index), high_of(index))
    }
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (min, median, max) = (self.min(), self.quantile(0.5), self.max());
        write!(formatter, "Histogram {{ count: {}, min: {min:?}, median: {median:?}, max: {max:?} }}", self.count)
    }
}

/// Three columns of the filled buckets and the exact figures; absent ones are null.
impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Histogram", 7)?;
        fields.serialize_field("count", &self.count)?;
        fields.serialize_field("mean_ns", &self.mean())?;
        fields.serialize_field("min_ns", &self.min())?;
        fields.serialize_field("max_ns", &self.max())?;
        fields.serialize_field("bucket_low_ns", &self.buckets().map(|bucket| bucket.low).collect::<Vec<_>>())?;
        fields.serialize_field("bucket_high_ns", &self.buckets().map(|bucket| bucket.high).collect::<Vec<_>>())?;
        fields.serialize_field("bucket_count", &self.buckets().map(|bucket| bucket.count).collect::<Vec<_>>())?;
        fields.end()
    }
}

/// Up to 255 the value itself; then the octave and the seven bits after the leading one.
#[inline]
fn index_of(value: u64) -> usize {
    let octave = 63 - (value | PER_OCTAVE as u64).leading_zeros();
    let shift = octave - BITS;
    ((shift as usize) << BITS) + (value >> shift) as usize
}

fn low_of(index: usize) -> u64 {
    let shift = (index >> BITS).saturating_sub(1);
    ((index - (shift << BITS)) as u64) << shift
}

fn high_of(index: usize) -> u64 {
    let shift = (index >> BITS).saturating_sub(1);
    low_of(index) + ((1_u64 << shift) - 1)
}
