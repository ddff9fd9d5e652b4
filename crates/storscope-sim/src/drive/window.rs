//! How far command queueing looks.

use std::sync::Arc;

use storscope_types::design::drive::{Among, QueueingDesign};

use super::maths;

/// Among how many of the waiting requests the drive chooses, and which.
///
/// With n waiting it looks at (n − n₀ + 1)^γ of them, n₀ being the least depth. Where that is not a whole number, the next
/// lower and higher alternate so that the mean is right.
#[derive(Debug)]
pub struct Window {
    /// The mean for each number of requests seen; the same for all drives of a design.
    sizes: Arc<[f32]>,
    any: bool,
    carry: f32,
    turn: u32,
}

/// The requests to choose from: so many from a place in line on, beginning again at the front.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// First of them.
    pub from: usize,
    /// How many; at least 1.
    pub size: usize,
    /// How many of those waiting the drive sees at all.
    pub seen: usize,
}

impl Window {
    /// Of a design and its [`sizes`].
    pub fn new(sizes: Arc<[f32]>, design: Option<&QueueingDesign>) -> Self {
        Self { sizes, any: design.is_some_and(|design| design.among == Among::Any), carry: 0.0, turn: 0 }
    }

    /// Where to look when `waiting` requests wait; there must be one.
    #[inline]
    pub fn view(&mut self, waiting: usize) -> View {
        let seen = waiting.min(self.sizes.len() - 1);
        let mean = self.sizes[seen];
        if mean <= 1.0 {
            return View { from: 0, size: 1, seen };
        }
        let wanted = mean + self.carry;
        // By way of `i32`, which is one instruction each way.
        let size = (wanted as i32 as usize).min(seen);
        self.carry = wanted - size as i32 as f32;
        let from = if self.any { self.somewhere(seen) } else { 0 };
        View { from, size, seen }
    }

    /// How many requests the drive sees at most.
    pub fn most_seen(&self) -> usize {
        self.sizes.len() - 1
    }

    /// Whether it matters who is first in line while so many requests wait.
    #[inline]
    pub fn keeps_order(&self, waiting: usize) -> bool {
        !self.any || self.sizes[waiting.min(self.sizes.len() - 1)] <= 1.0
    }

    /// A place in line that is different each time, all equally often: multiples of the golden ratio.
    #[inline]
    pub fn somewhere(&mut self, seen: usize) -> usize {
        self.turn = self.turn.wrapping_add(0x9e37_79b9);
        ((u64::from(self.turn) * seen as u64) >> 32) as usize
    }
}

/// The mean size of the window of a design for each number of requests that the drive sees. Without a design only the
/// oldest is looked at.
pub fn sizes(design: Option<&QueueingDesign>) -> Arc<[f32]> {
    let Some(design) = design else { return Arc::new([1.0, 1.0]) };
    let size = |waiting: u32| {
        let beyond = waiting.saturating_sub(design.least_depth - 1).max(1);
        maths::exp(design.gamma * maths::ln(f64::from(beyond))) as f32
    };
    // Of the requests the drive has taken, one has just finished; the others are seen.
    (0..design.depth.max(2)).map(size).collect()
}

#[cfg(test)]
mod tests {
    use super::{Window, sizes};
    use storscope_types::design::drive::{Among, QueueingDesign};

    fn mean_size(design: QueueingDesign, waiting: usize) -> f64 {
        let mut window = Window::new(sizes(Some(&design)), Some(&design));
        (0..1000).map(|_| window.view(waiting).size as f64).sum::<f64>() / 1000.0
    }

    #[test]
    fn the_window_is_a_power_of_what_waits_beyond_the_least_depth() {
        let design = QueueingDesign { gamma: 0.5, least_depth: 4, depth: 32, among: Among::Oldest };
        assert_eq!(mean_size(design, 3), 1.0);
        assert_eq!(mean_size(design, 4), 1.0);
        assert!((mean_size(design, 7) - 2.0).abs() < 0.01);
        assert!((mean_size(design, 15) - 12_f64.sqrt()).abs() < 0.01);
        assert_eq!(mean_size(design, 31), mean_size(design, 200), "beyond its depth the drive sees nothing");
    }

    #[test]
    fn order_matters_where_only_the_oldest_is_looked_at() {
        for (among, at_four) in [(Among::Oldest, true), (Among::Any, false)] {
            let design = QueueingDesign { gamma: 0.5, least_depth: 3, depth: 32, among };
            let window = Window::new(sizes(Some(&design)), Some(&design));
            let kept = [1, 2, 3, 4, 100].map(|waiting| window.keeps_order(waiting));
            assert_eq!(kept, [true, true, true, at_four, at_four]);
        }
    }

    #[test]
    fn a_window_anywhere_begins_everywhere_equally_often() {
        let design = QueueingDesign { gamma: 0.5, least_depth: 1, depth: 32, among: Among::Any };
        let mut window = Window::new(sizes(Some(&design)), Some(&design));
        let mut counts = [0; 9];
        (0..9000).for_each(|_| counts[window.view(9).from] += 1);
        assert!(counts.iter().all(|&count| (950..1050).contains(&count)), "{counts:?}");
    }
}
