//! Traces are read or refused with the line that is wrong, whatever they hold.

use proptest::prelude::*;
use storscope_device::Direction;
use storscope_sim::drive::fit::{TraceOp, parse};

fn written(op: &TraceOp) -> String {
    let letter = if op.direction == Direction::Read { 'R' } else { 'W' };
    format!("{letter} Hit {} {} {:?} {:?}", op.offset / 512, op.length / 512, op.service_us, op.think_us)
}

prop_compose! {
    fn an_op()(
        reads in any::<bool>(), first in 0_u64..1 << 44, count in 1_u32..=1 << 20, service_us in 0.0..1e11_f64,
        think_us in 0.0..1e11_f64,
    ) -> TraceOp {
        let direction = if reads { Direction::Read } else { Direction::Write };
        TraceOp { direction, offset: first * 512, length: count * 512, service_us, think_us }
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(ops in prop::collection::vec(an_op(), 0..50)) {
        let text: String = ops.iter().map(|op| format!("{}\n", written(op))).collect();
        prop_assert_eq!(parse(&text).unwrap(), ops);
    }

    #[test]
    fn any_text_is_read_or_refused_with_a_line_of_it(text in "(?s).{0,300}") {
        if let Err(error) = parse(&text) {
            prop_assert!((1..=text.lines().count()).contains(&error.line), "{error}");
            prop_assert!(error.found.chars().count() <= 80);
        }
    }

    #[test]
    fn lines_of_such_words_are_never_taken_for_impossible_requests(
        text in "((R|W|X|#)( (Hit|Miss|-1|0|1|9{20}|1e400|nan|inf|-0|4096)){0,7}\n){0,12}"
    ) {
        for op in parse(&text).unwrap_or_default() {
            prop_assert!(op.length > 0 && op.service_us.is_finite() && op.think_us.is_finite());
            prop_assert!(op.service_us >= 0.0 && op.think_us >= 0.0);
        }
    }

    #[test]
    fn the_line_that_is_cut_short_is_named(ops in prop::collection::vec(an_op(), 1..30), pick in any::<prop::sample::Index>()) {
        let broken = pick.index(ops.len());
        let mut lines: Vec<String> = ops.iter().map(written).collect();
        let whole = lines[broken].clone();
        lines[broken].truncate(whole.rfind(' ').unwrap_or(0));
        let error = parse(&lines.join("\n")).unwrap_err();
        prop_assert_eq!(error.line, broken + 1);
        prop_assert!(error.expected.contains("think time in microseconds"));
    }
}
