//! The sizes of figures against what was asked.

use super::*;
use crate::cases::plan::Cell;
use crate::cases::trickle::TRICKLE;
use crate::measure::freed::ALONE;

/// However busy the machine is: it is late, never early, and nothing is there that was not handed over.
#[test]
fn no_figure_is_larger_than_what_was_asked() {
    let _alone = ALONE.lock().unwrap();
    let subject = &deferral::all()[0];
    for verb in subject.verbs {
        for rate in [100, 1000] {
            let given = TRICKLE.usual("true".into()).with("ms", 100);
            let cell = Cell::of(&given, subject.name, verb.name).with("patience_ms", 1);
            let ask = cell.with("rate", rate).with("exits", 0).ask;
            let figures = measure(&ask).unwrap();
            let value = |metric| {
                let mut all = figures.iter();
                let found = all.find(|it| it.metric == metric && it.case == case(&ask));
                found.map(|it| it.value)
            };
            let (rate, blocks) = (rate as f64, blocks(&ask) as f64);
            for (metric, most) in [
                ("ops_per_s", rate),
                ("never_run", blocks),
                ("backlog", blocks),
                ("held_bytes", blocks * BLOCK as f64),
            ] {
                let value = value(metric).unwrap_or_else(|| panic!("{metric}: {figures:?}"));
                assert!(
                    (0.0..=most).contains(&value),
                    "{verb:?} {rate}/s: {metric} {value}"
                );
            }
            let order = ["delay_ms", "delay_ms_p99", "delay_ms_max"].map(value);
            assert!(order.is_sorted(), "{verb:?}: {order:?}");
            let order = ["latency_us", "latency_us_p99.9", "latency_us_max"].map(value);
            assert!(order.is_sorted(), "{verb:?}: {order:?}");
        }
    }
}
