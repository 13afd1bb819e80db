//! One frame, filmed: the work of every CPU and the state of the package, before and after.
//!
//! The frame is the first one after five seconds, which was chosen before it was seen.

use super::Frame;
use crate::load::workload::Plan;

/// When it begins, in nanoseconds.
const BEGINS: u64 = 5_000_000_000;

/// So long it is watched after its end, so that what was under way is whole.
const AFTER: u64 = 1_000_000;

/// The first frame after five seconds; it takes so many nanoseconds.
pub(super) fn first(case: &str, plan: &Plan, seed: u64, length: u64) -> Frame {
    let mut plan = plan.clone();
    plan.options.seed = seed;
    let mut machine = plan.machine();
    machine.film(BEGINS, BEGINS + length);
    machine.run(BEGINS + length + AFTER);
    Frame {
        case: case.to_owned(),
        film: machine.filmed().expect("the camera was on"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::loads::plan;
    use crate::{Doing, Film};

    #[test]
    fn the_pictures_show_what_ten_seconds_show_on_average() {
        let of = |rcu| {
            first(
                rcu,
                &plan("local-video", &[("rcu", rcu)]),
                1,
                1_000_000_000 / 30,
            )
            .film
        };
        let (before, after) = (of("default"), of("lazy"));
        let rcus = |film: &Film| {
            film.total(|it| matches!(it, Doing::GracePeriod | Doing::Callbacks | Doing::Softirq))
        };
        assert!(
            rcus(&after) < rcus(&before) / 5,
            "{} {}",
            rcus(&after),
            rcus(&before)
        );
        let deep = |film: &Film| film.asleep(film.package_states.len() as u8 - 1);
        assert!(deep(&after) > 5 * deep(&before).max(1_000_000));
        assert!(after.woken() < before.woken() / 2);
    }
}
