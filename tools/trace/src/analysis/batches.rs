//! Batches of callbacks, by who invokes them.
//!
//! A batch lies between `rcu_batch_start` and the next `rcu_batch_end` of the same invoker: an offload thread
//! by its name (`rcuop/N`), else the soft interrupt of a CPU (`softirq CPU n`, whichever task it interrupts).
//! It counts if both lie in the window. `ready` is the length of the list at a start, `invoked` what was
//! invoked of it. The spacing is from one start to the next of the same invoker; for both a start is enough,
//! since there are recordings without ends. Filters select the CPU, and the thread that runs then.

use super::bounded::{NAMES_MOST, row};
use super::findings::{Figure, Findings, Table, count, ms, us};
use super::own::Own;
use super::spread::{Room, Spread};
use super::{Part, Seen};
use crate::base::map::Map;
use crate::base::names::short;
use crate::{Error, Event, Record, Role, role};

/// The analysis.
#[derive(Debug)]
pub(crate) struct Batches {
    invokers: Map<String, Invoker>,
    all: BatchFigures,
    room: Room,
    /// Batches of invokers beyond the bound.
    refused: u64,
    /// Ends without a start, and starts without an end.
    torn: u64,
}

/// The invoker.
#[derive(Debug, Default)]
struct Invoker {
    /// The batch that runs: its start, and whether it counts.
    runs: Option<(u64, bool)>,
    last_start: Option<u64>,
    of: BatchFigures,
}

/// Batches of one row.
#[derive(Debug, Default)]
struct BatchFigures {
    batches: u64,
    ready: Spread,
    invoked: Spread,
    duration: Spread,
    spacing: Spread,
}

impl Default for Batches {
    fn default() -> Self {
        Batches {
            invokers: Map::default(),
            all: BatchFigures::apart(),
            room: Room::default(),
            refused: 0,
            torn: 0,
        }
    }
}

impl Part for Batches {
    fn reset(&mut self) {
        for invoker in self.invokers.values_mut() {
            invoker.of = BatchFigures::default();
            invoker.last_start = None;
            // One that runs is whole, and does not count.
            if let Some(runs) = &mut invoker.runs {
                runs.1 = false;
            }
        }
        self.all = BatchFigures::apart();
        self.room = Room::default();
        (self.refused, self.torn) = (0, 0);
    }

    fn see(&mut self, seen: &Seen<'_>) {
        let record = seen.record;
        if !matches!(
            seen.event,
            Event::BatchStart { .. } | Event::BatchEnd { .. }
        ) {
            return;
        }
        let Some(invoker) = row(&mut self.invokers, NAMES_MOST, invoker_of(record)) else {
            self.refused += 1;
            return;
        };
        let wanted = seen.wants(record.cpu, record.task(), record.pid);
        match *seen.event {
            Event::BatchStart { callbacks } => {
                self.torn += u64::from(invoker.runs.is_some() && wanted);
                invoker.runs = Some((record.time_ns, wanted));
                if wanted {
                    invoker.of.ready.tally(callbacks);
                    self.all.ready.tally(callbacks);
                    if let Some(last) = invoker.last_start {
                        invoker
                            .of
                            .spacing
                            .between(last, record.time_ns, &mut self.room);
                    }
                    invoker.last_start = Some(record.time_ns);
                }
            }
            Event::BatchEnd { invoked } => match invoker.runs.take() {
                Some((start, true)) if seen.inside => {
                    for of in [&mut invoker.of, &mut self.all] {
                        of.batches += 1;
                        of.invoked.tally(invoked);
                        of.duration.between(start, record.time_ns, &mut self.room);
                    }
                }
                None => self.torn += u64::from(wanted),
                Some(_) => {}
            },
            _ => {}
        }
    }

    fn finish(self: Box<Self>, findings: &mut Findings, _: &Own) -> Result<(), Error> {
        let mut table = Table::new("Batches by who invokes them", "", &["invoker"]);
        let mut torn = self.torn;
        for (name, invoker) in &self.invokers {
            torn += u64::from(invoker.runs.is_some_and(|it| it.1));
            if invoker.of.batches > 0 || invoker.of.ready.max().is_some() {
                table.add(&[name], &invoker.of.figures());
            }
        }
        table.sort_by(0);
        // The order of batches means nothing for different invokers.
        table.add(&["(all)"], &self.all.figures());
        findings.tables.push(table);
        findings.say(
            torn,
            "batches have no start or no end in the trace: of these only starts count, in what was ready and \
             in the spacing",
        );
        let what = "events of invokers beyond the first";
        findings.say(
            self.refused,
            format_args!("{what} {NAMES_MOST} were left out"),
        );
        let of = || self.invokers.values().map(|i| &i.of);
        findings.about_spreads("durations", of().map(|of| &of.duration));
        findings.about_spreads("spacings", of().map(|of| &of.spacing));
        Ok(())
    }
}

impl BatchFigures {
    fn apart() -> Self {
        BatchFigures {
            duration: Spread::apart(),
            ..BatchFigures::default()
        }
    }

    fn figures(&self) -> [Figure; 12] {
        let (length, apart) = (&self.duration, &self.spacing);
        [
            ("batches", "batches", "count", count(self.batches)),
            ("invoked", "invoked", "count", Some(self.invoked.sum())),
            ("avg", "batch_invoked_avg", "count", self.invoked.mean()),
            ("max", "batch_invoked_max", "count", self.invoked.max()),
            ("ready avg", "batch_ready_avg", "count", self.ready.mean()),
            ("ready max", "batch_ready_max", "count", self.ready.max()),
            ("avg us", "duration_us_avg", "us", us(length.mean())),
            ("p50 us", "duration_us_p50", "us", us(length.median())),
            ("max us", "duration_us_max", "us", us(length.max())),
            ("every min ms", "spacing_ms_min", "ms", ms(apart.min())),
            ("p50 ms", "spacing_ms_p50", "ms", ms(apart.median())),
            ("avg ms", "spacing_ms_avg", "ms", ms(apart.mean())),
        ]
    }
}

/// The invoker: an offload thread, RCU's thread of a CPU, or the soft interrupt of a CPU.
pub(crate) fn invoker_of(record: &Record<'_>) -> String {
    match role(record.task()) {
        Role::OffloadInvoker => short(record.task()).to_owned(),
        Role::OtherRcu if record.task().starts_with("rcuc/") => short(record.task()).to_owned(),
        _ => format!("softirq CPU {}", record.cpu),
    }
}

#[cfg(test)]
mod tests;
