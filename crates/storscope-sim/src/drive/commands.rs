//! When a drive takes up the commands that wait: one after the other, while the arm is at work.

use storscope_types::Nanos;

/// The commands of the requests that wait at a drive.
#[derive(Debug, Clone, Copy, Default)]
pub struct Commands {
    /// From when on there is time for them: once the command of the request is taken up that the arm serves.
    free_from: Nanos,
}

impl Commands {
    /// The arm turns to a request whose command has been taken up by then.
    #[inline(always)]
    pub fn begin(&mut self, taken_up: Nanos) {
        self.free_from = taken_up;
    }

    /// Whether the command of a request that waited was taken up by now, so that the arm can go on without a gap. It takes
    /// `cost`, that of a command which needs only the link; no more than the drive sees (`seen`, waiting still) can have been
    /// taken up by now. When they came is not looked at.
    pub fn is_taken_up(&mut self, now: Nanos, cost: Nanos, seen: usize) -> bool {
        let taken_up = self.free_from + cost;
        if taken_up > now {
            return false;
        }
        let of_others = Nanos(cost.0 * seen as u64);
        self.free_from = taken_up.max(Nanos(now.0.saturating_sub(of_others.0)));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_taken_up_one_by_one_and_no_more_than_are_seen() {
        let cost = Nanos(100);
        let mut commands = Commands::default();
        commands.begin(Nanos(1_000));
        assert!(!commands.is_taken_up(Nanos(1_099), cost, 4), "not yet");
        assert!(commands.is_taken_up(Nanos(1_100), cost, 4));
        assert!(!commands.is_taken_up(Nanos(1_150), cost, 4), "the next takes as long");
        // Long after that the two that are seen are taken up, the third is not.
        assert!(commands.is_taken_up(Nanos(9_000), cost, 2));
        assert!(commands.is_taken_up(Nanos(9_000), cost, 1));
        assert!(commands.is_taken_up(Nanos(9_000), cost, 0));
        assert!(!commands.is_taken_up(Nanos(9_000), cost, 0));
    }
}
