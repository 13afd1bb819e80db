//! `top --kernel`: the source, and what of its figures goes into the document.

use super::{Figures, Origin, show};
use crate::arguments::top::Top;
use quiescent_bench::Error;
use quiescent_live::Rung;
use quiescent_top::{Interval, Kernel, Order, View};

/// Does it; the exit code.
pub(super) fn run(options: &Top) -> Result<u8, Error> {
    let mut source = Kernel::new(options.by, options.mount).map_err(|why| match why {
        quiescent_live::Error::Usage(text) => Error::Usage(format!("top --kernel: {text}")),
        quiescent_live::Error::Failed(text) => Error::Failed(format!("top --kernel: {text}")),
    })?;
    if !source.why().is_empty() {
        eprintln!(
            "note: no better source than `{}`: {}",
            source.rung().word(),
            source.why()
        );
    }
    // What is queued is not known there, so nothing could be sorted by it.
    let sort = match (source.rung(), options.sort) {
        (Rung::Frees, Order::Queued) => Order::Executed,
        (_, sort) => sort,
    };
    let origin = Origin::Kernel(source.rung());
    show(options, sort, origin, &mut source)
}

impl Figures {
    /// Those that a kernel has.
    pub(super) fn add_kernel(&mut self, interval: &Interval, view: &View) {
        for (name, end, rate) in &interval.counters {
            match name.as_str() {
                "grace_periods" => self.put("kernel", "grace_periods_per_s", "1/s", *rate),
                "scans" => self.put("kernel", "scans_per_s", "1/s", *rate),
                "kernel_softirqs" => self.put("kernel", "softirqs_per_s", "1/s", *rate),
                "lost_events" => self.put("kernel", "lost_events", "events", *end as f64),
                "unread_lines" => self.put("kernel", "errors", "lines", *end as f64),
                _ => {}
            }
        }
        for (cpu, rate) in interval.causes("kernel_softirqs") {
            self.put(cpu, "softirqs_per_s", "1/s", rate);
        }
        for row in view.rows(interval) {
            let case = &row.name;
            self.put(case, "queued_per_s", "1/s", row.queued_per_s);
            self.put(case, "executed_per_s", "1/s", row.executed_per_s);
            if !row.queued_per_s.is_nan() {
                self.put(case, "backlog", "callbacks", row.held as f64);
            }
            self.put(case, "delay_ms", "ms", row.delay_ms.unwrap_or(f64::NAN));
        }
        self.add_threads(interval);
    }
}
