//! How far command queueing looks.

use storscope_types::design::drive::QueueingDesign;

use super::maths;

/// Among how many of the oldest requests the drive chooses, for each number that waits.
#[derive(Debug)]
pub struct Window {
    sizes: Vec<u16>,
}

impl Window {
    /// n^gamma, rounded; 1 below the least depth, and everything beyond the drive's depth unseen.
    pub fn new(design: Option<&QueueingDesign>) -> Self {
        let Some(design) = design else { return Self { sizes: vec![1] } };
        let size = |waiting: u32| {
            if waiting + 1 < design.least_depth {
                return 1;
            }
            (maths::exp(design.gamma * maths::ln(f64::from(waiting.max(1)))) + 0.5) as u16
        };
        Self { sizes: (0..design.depth.max(1)).map(size).collect() }
    }

    /// The window when `waiting` requests wait.
    #[inline]
    pub fn size(&self, waiting: usize) -> usize {
        usize::from(self.sizes[waiting.min(self.sizes.len() - 1)])
    }
}
