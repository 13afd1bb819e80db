//! A round of `bench retire`: what is taken off its figures is of the same round.

use super::RetireCase;
use crate::deferral::swap::{BARE, Place};
use quiescent_report::rows::{Figure, Samples};

/// What a measuring process of this subject said about this case.
type Said = (&'static str, RetireCase, Vec<Figure>);

/// The processes of a round, as far as they have ended.
#[derive(Debug)]
pub(super) struct Round {
    of: usize,
    said: Vec<Said>,
}

/// CPU time above that of `malloc-free`.
pub(super) const ABOVE_BARE: &str = "above_malloc_free_ns";
/// Peak memory above that of `empty`.
pub(super) const ABOVE_EMPTY: &str = "above_empty_bytes";
/// CPU time of retiring inside a section over that of retiring after it.
pub(super) const INSIDE_RATIO: &str = "inside_ratio";

impl Round {
    /// A round of so many processes.
    pub(super) fn new(of: usize) -> Self {
        let said = Vec::new();
        Round { of, said }
    }

    /// One has ended; after the last of a round the next round begins.
    pub(super) fn add(&mut self, said: Said, samples: &mut Samples) {
        self.said.push(said);
        if self.said.len() == self.of {
            self.settle(samples);
        }
    }

    /// Hands over what there is, with the differences.
    pub(super) fn settle(&mut self, samples: &mut Samples) {
        let mut more = Vec::new();
        for (subject, case, figures) in &self.said {
            let of = |subject: &str, case: RetireCase, metric: &str| {
                let mut all = self.said.iter();
                let said = all.find(|it| (it.0, it.1) == (subject, case))?;
                value(&said.2, metric)
            };
            let mut add = |metric: &str, unit: &str, value: Option<f64>| {
                let figure = value.map(|value| Figure::new(&case.name(), metric, unit, value));
                more.extend(figure.map(|figure| (*subject, figure)));
            };
            let less = |from: Option<f64>, take: Option<f64>| {
                from.zip(take).map(|(from, take)| (from - take).max(0.0))
            };
            if *subject != BARE {
                let all_in = value(figures, "cpu_ns").filter(|_| case.is_whole());
                add(
                    ABOVE_BARE,
                    "ns/object",
                    less(all_in, of(BARE, *case, "cpu_ns")),
                );
            }
            if let RetireCase::Section(Place::Inside, content, producers) = *case {
                let outside = RetireCase::Section(Place::Outside, content, producers);
                let times = of(subject, *case, "cpu_ns").zip(of(subject, outside, "cpu_ns"));
                add(
                    INSIDE_RATIO,
                    "times",
                    times.map(|(inside, outside)| inside / outside),
                );
            }
            if let RetireCase::AllIn(producers) = *case {
                let empty = of(subject, RetireCase::Empty(producers), "peak_rss_bytes");
                let above = less(value(figures, "peak_rss_bytes"), empty);
                add(ABOVE_EMPTY, "bytes", above);
            }
        }
        for (subject, _, figures) in self.said.drain(..) {
            samples.add(subject, figures);
        }
        for (subject, figure) in more {
            samples.add(subject, vec![figure]);
        }
    }
}

fn value(figures: &[Figure], metric: &str) -> Option<f64> {
    let mut figures = figures.iter();
    figures.find(|it| it.metric == metric).map(|it| it.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_within_a_round() {
        let mut samples = Samples::default();
        let mut round = Round::new(3);
        let all_in = RetireCase::AllIn(1);
        for (ours, bare) in [(25.0, 20.0), (19.0, 21.0)] {
            let figure = |case: RetireCase, metric: &str, value| {
                vec![Figure::new(&case.name(), metric, "", value)]
            };
            let mut mine = figure(all_in, "cpu_ns", ours);
            mine.extend(figure(all_in, "peak_rss_bytes", 9.0));
            let empty = RetireCase::Empty(1);
            for said in [
                ("ck", all_in, mine),
                (BARE, all_in, figure(all_in, "cpu_ns", bare)),
                ("ck", empty, figure(empty, "peak_rss_bytes", 8.0)),
            ] {
                round.add(said, &mut samples);
            }
        }
        let rows = samples.rows(&["ck", BARE], &["all-in 1t"]);
        let of = |metric: &str| {
            let row = rows.iter().find(|row| row.metric == metric).unwrap();
            (row.n, row.min, row.max)
        };
        assert_eq!(of(ABOVE_BARE), (2, 0.0, 5.0));
        assert_eq!(of(ABOVE_EMPTY), (2, 1.0, 1.0));
        let bare = rows.iter().filter(|row| row.subject == BARE).count();
        assert_eq!(bare, 1, "it is not above itself");
    }
}
