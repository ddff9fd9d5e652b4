//! The seek curve over cylinders.

use storscope_types::design::drive::SeekDesign;

/// base + root·√(d−1) + linear·(d−1) nanoseconds for d cylinders, zero for none (Lee & Katz 1993).
#[derive(Debug, Clone, Copy)]
pub struct SeekCurve {
    base_ns: f64,
    root_ns: f64,
    linear_ns: f64,
}

impl SeekCurve {
    /// The curve over `cylinders`.
    ///
    /// From a data sheet's numbers: with min, avg and max, `root` = (−10·min + 15·avg − 5·max) / (3·√C) and `linear` =
    /// (7·min − 15·avg + 8·max) / (3·C), so that the mean over random pairs of cylinders is avg (Lee & Katz 1993).
    pub fn new(design: &SeekDesign, cylinders: f64) -> Self {
        match *design {
            SeekDesign::DataSheet { track_to_track, average, full_stroke } => {
                let (least, mean, most) = (track_to_track.0 as f64, average.0 as f64, full_stroke.0 as f64);
                Self {
                    base_ns: least,
                    root_ns: (-10.0 * least + 15.0 * mean - 5.0 * most) / (3.0 * cylinders.sqrt()),
                    linear_ns: (7.0 * least - 15.0 * mean + 8.0 * most) / (3.0 * cylinders),
                }
            }
            SeekDesign::Curve { a_ns, b_ns, c_ns } => {
                Self { base_ns: a_ns, root_ns: b_ns / cylinders.sqrt(), linear_ns: c_ns / cylinders }
            }
        }
    }

    /// Nanoseconds to move by `cylinders`.
    #[inline]
    pub fn time_ns(&self, cylinders: f64) -> f64 {
        let beyond = cylinders - 1.0;
        if beyond < 0.0 { 0.0 } else { self.base_ns + self.root_ns * beyond.sqrt() + self.linear_ns * beyond }
    }

    /// The same in other units and single precision, for comparisons: base, root and linear part.
    pub fn scaled(&self, scale: f64) -> [f32; 3] {
        [(self.base_ns * scale) as f32, (self.root_ns * scale) as f32, (self.linear_ns * scale) as f32]
    }
}
