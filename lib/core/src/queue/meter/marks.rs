//! Queueing times: a few marks along a lane.
//!
//! The fast path records no time. What is known is when the owner last got credit and when it next took the
//! lock: everything it queued in between was queued in that interval. A mark records this for the entries up
//! to a position. There is room for a few marks; when they are used up, the last two become one that covers
//! both: its interval is wider, and still correct.

use quiescent_engine::Pos;

/// Largest number of marks of a lane: one for what waits for each of two grace periods, one for new entries,
/// and one more.
const MOST: usize = 4;

/// Entries up to `end` were queued at `first` at the earliest, and at `last` at the latest, in ns; the second
/// word of all of them is `what`, unless that is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TimeMark {
    pub(super) end: Pos,
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) what: u64,
}

/// The marks of what is queued, oldest first.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marks {
    marks: [TimeMark; MOST],
    count: usize,
}

impl Marks {
    /// No marks.
    pub(super) const fn new() -> Marks {
        Marks {
            marks: [TimeMark {
                end: 0,
                first: 0,
                last: 0,
                what: 0,
            }; MOST],
            count: 0,
        }
    }

    /// Adds the mark of the entries up to `mark.end`.
    pub(super) fn push(&mut self, mark: TimeMark) {
        if self.count == MOST {
            let before = &mut self.marks[MOST - 1];
            *before = TimeMark {
                first: before.first.min(mark.first),
                what: if before.what == mark.what {
                    mark.what
                } else {
                    0
                },
                ..mark
            };
        } else {
            self.marks[self.count] = mark;
            self.count += 1;
        }
    }

    /// The mark of the entry at `at`; removes those before it. `None`: unknown.
    #[inline(never)]
    pub(super) fn at(&mut self, at: Pos) -> Option<TimeMark> {
        let past = self.marks[..self.count]
            .iter()
            .take_while(|mark| mark.end <= at);
        let past = past.count();
        self.marks.copy_within(past..self.count, 0);
        self.count -= past;
        (self.count > 0).then(|| self.marks[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(end: Pos, first: u64, last: u64) -> TimeMark {
        let what = 7;
        TimeMark {
            end,
            first,
            last,
            what,
        }
    }

    #[test]
    fn each_position_has_the_mark_that_covers_it() {
        let mut marks = Marks::new();
        assert_eq!(marks.at(0), None);
        marks.push(mark(3, 10, 10));
        marks.push(mark(8, 10, 25));
        assert_eq!(marks.at(0), Some(mark(3, 10, 10)));
        assert_eq!(marks.at(2), Some(mark(3, 10, 10)));
        assert_eq!(marks.at(3), Some(mark(8, 10, 25)));
        assert_eq!(marks.at(8), None);
        marks.push(mark(9, 30, 31));
        assert_eq!(marks.at(8), Some(mark(9, 30, 31)));
    }

    #[test]
    fn the_last_two_marks_merge_without_room() {
        let mut marks = Marks::new();
        for n in 1..=10 {
            marks.push(mark(n * 10, n * 100, n * 100 + 7));
        }
        assert_eq!(marks.at(29), Some(mark(30, 300, 307)));
        for at in 30..100 {
            assert_eq!(marks.at(at), Some(mark(100, 400, 1007)), "{at}");
        }
        assert_eq!(marks.at(100), None);
    }

    #[test]
    fn a_merged_mark_keeps_a_common_word_only() {
        let mut marks = Marks::new();
        for n in 1..=5 {
            let what = if n == 5 { 8 } else { 7 };
            marks.push(TimeMark {
                what,
                ..mark(n * 10, 0, 0)
            });
        }
        let whats = [0, 10, 20, 30].map(|at| marks.at(at).map(|mark| mark.what));
        assert_eq!(whats, [Some(7), Some(7), Some(7), Some(0)]);
    }
}
