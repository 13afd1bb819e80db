//! A value that is seen again and again: where it changes for good.

use super::MANY;

/// A change is so long before it is seen, in nanoseconds.
const BEFORE: u64 = 100_000;

/// What is seen one after the other, as stretches of [`MANY`] or more that are the same.
#[derive(Debug, Default)]
pub(super) struct Stretches<T> {
    /// The value that is seen now, since when, and how often.
    now: Option<(u64, T)>,
    times: u64,
    all: Vec<(u64, T)>,
}

impl<T: Copy + PartialEq> Stretches<T> {
    /// This was seen next, at this time in nanoseconds.
    pub(super) fn add(&mut self, at: u64, value: T) {
        let now = self.now.filter(|it| it.1 == value);
        self.times = now.map_or(1, |_| self.times + 1);
        let now = *self.now.insert(now.unwrap_or((at, value)));
        if self.times == MANY && self.all.last().is_none_or(|it| it.1 != value) {
            self.all.push(now);
        }
    }

    /// The first value, and each that follows with the time of the change, in words; none without a change.
    pub(super) fn changes(&self, words: impl Fn(T) -> String) -> Option<(T, Vec<(u64, String)>)> {
        let (first, later) = self.all.split_first()?;
        let change = |it: &(u64, T)| (it.0.saturating_sub(BEFORE), words(it.1));
        (!later.is_empty()).then(|| (first.1, later.iter().map(change).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_seen_many_times_in_a_row_and_then_otherwise_has_changed() {
        let seen = |values: &[(u64, bool)]| {
            let (mut stretches, mut at) = (Stretches::default(), 0);
            for &(times, value) in values {
                for _ in 0..times {
                    at += 1_000_000;
                    stretches.add(at, value);
                }
            }
            stretches.changes(|it| it.to_string())
        };
        let change = |at: u64, value: bool| (at * 1_000_000 - BEFORE, value.to_string());
        assert_eq!(seen(&[(MANY, true)]), None);
        let both = seen(&[(MANY, true), (MANY, false)]);
        assert_eq!(both, Some((true, vec![change(MANY + 1, false)])));
        // Fewer are chance.
        assert_eq!(seen(&[(MANY, true), (MANY - 1, false), (MANY, true)]), None);
        let back = seen(&[
            (MANY, true),
            (3, false),
            (3, true),
            (MANY, false),
            (50, true),
        ]);
        let then = vec![change(MANY + 7, false), change(2 * MANY + 7, true)];
        assert_eq!(back, Some((true, then)));
    }
}
