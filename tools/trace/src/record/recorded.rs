//! What a replay takes from a trace: the machine, and what happened to it from outside RCU.
//!
//! A model is fed with arrivals and with where RCU's threads were; everything else it must produce itself.
//! All of the trace is kept, not only the [`Window`]: what was queued before it decides how it begins. Memory
//! grows with the number of arrivals.

use crate::event::KVFREE;
use crate::measure::Counted;
use crate::measure::window::{Follow, Place, missing};
use crate::record::arrival::{Arrival, Queued, is_put_off};
use crate::record::callbacks::{self, Was};
use crate::record::clock::Clock;
use crate::record::placement::{self, Placements};
use crate::{
    CpuSet, Distribution, Error, Event, Faults, Figures, GracePeriod, Reader, Record, Summary,
    Window,
};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What is known better than the trace tells it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// The window; `None`: between the marks, or everything.
    pub window: Option<Window>,
    /// The tick rate; `None`: from the trace.
    pub hz: Option<u32>,
}

/// The input of a replay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Recorded {
    /// CPUs of the machine.
    pub cpus: u32,
    /// Its tick rate.
    pub hz: u32,
    /// The jiffy number at time 0 of the trace's clock, if a wheel timer shows it.
    pub jiffies_at_zero: Option<u64>,
    /// The part to be compared.
    pub window: Window,
    /// Callbacks queued, in order.
    pub arrivals: Vec<Arrival>,
    /// Where `rcu_preempt`, each `rcuog/N` and each `rcuop/N` was.
    pub placements: Placements,
    /// CPUs whose callbacks are offloaded, as far as the trace shows it.
    pub offloaded: CpuSet,
    /// Laziness was on.
    pub lazy: bool,
    /// Callbacks that were invoked and whose queueing is not in the trace, but for those of `rcu_barrier`.
    pub unseen: u64,
    /// Known events that could not be decoded.
    pub undecoded: Faults,
}

impl Recorded {
    /// The arrivals of the window.
    pub fn in_window(&self) -> impl Iterator<Item = &Arrival> {
        let window = self.window;
        self.arrivals
            .iter()
            .filter(move |a| window.contains(a.time_ns))
    }
}

/// Collects while the caller reads: feed it every record, then finish.
#[derive(Debug, Default)]
pub struct Recorder {
    options: Options,
    window: Follow,
    clock: Clock,
    placement: placement::Follow,
    names: BTreeSet<Arc<str>>,
    arrivals: Vec<Arrival>,
    /// Known by their places among the arrivals.
    callbacks: callbacks::Follow<usize>,
    delay: Distribution,
    counted: Counted,
    unseen: u64,
    /// By CPU, callbacks that waited for [`LONG`] or more.
    long: BTreeMap<u32, u64>,
}

/// An offloaded callback that waits for so long is lazy, unless a grace period lasts a quarter of it, in
/// nanoseconds.
const LONG: u64 = 1_000_000_000;

/// So many of those tell that laziness is on.
const FEW: u64 = 5;

impl Recorder {
    /// With what is known better.
    pub fn new(options: Options) -> Self {
        Recorder {
            options,
            window: Follow::new(options.window),
            ..Recorder::default()
        }
    }

    /// The next record of the trace. Its event, unless it does not follow or cannot be decoded, which is
    /// counted.
    pub fn feed<'a>(&mut self, record: &Record<'a>) -> Option<Event<'a>> {
        let event = *self.window.see(record, &record.decode())?;
        let place = self.window.at(record, &event);
        self.clock.see(record, &event);
        self.placement.see(record, &event);
        self.counted.see(record, &event, place);
        if place == Place::Starts {
            self.callbacks.reset();
            self.delay = Distribution::default();
        }
        let (inside, next) = (place != Place::Outside, self.arrivals.len());
        match self.callbacks.see(record, &event, inside, |_| next) {
            Some(Was::Queued(function, _)) => self.arrives(record, function),
            Some(Was::Placed(queued)) => {
                let arrival = &mut self.arrivals[queued.of];
                if let Event::NocbWake { what, .. } = event {
                    arrival.irqs_off |= arrival.queued == Queued::Unknown && is_put_off(what);
                }
                arrival.queued = queued.how;
            }
            // A kernel writes no `rcu_callback` for those of `rcu_barrier`, and rarely one for blocks.
            Some(Was::Invoked(function, None)) => {
                self.unseen += u64::from(!matches!(function, "rcu_barrier_callback" | KVFREE));
            }
            Some(Was::Invoked(_, Some(queued))) => {
                let waited = record.time_ns.saturating_sub(queued.time_ns);
                if queued.inside && inside {
                    self.delay.add(waited);
                }
                if waited >= LONG {
                    *self.long.entry(self.arrivals[queued.of].cpu).or_default() += 1;
                }
            }
            _ => {}
        }
        Some(event)
    }

    /// Is laziness on? Events say so, or how long callbacks of offloaded CPUs wait.
    fn is_lazy(&self, figures: &Figures, offloaded: &CpuSet) -> bool {
        let gps = figures.gps.iter().filter_map(GracePeriod::duration_ns);
        let short = gps.max().is_none_or(|it| it < LONG / 4);
        let long = self.long.iter().filter(|it| offloaded.contains(*it.0));
        self.callbacks.ways.lazy || (short && long.map(|it| it.1).sum::<u64>() >= FEW)
    }

    fn arrives(&mut self, record: &Record<'_>, function: &str) {
        let func = self.name(function);
        self.arrivals.push(Arrival {
            time_ns: record.time_ns,
            cpu: record.cpu,
            func,
            irqs_off: record.flags().hardirq(),
            queued: Queued::Unknown,
            lazy: None,
        });
    }

    /// One allocation for all uses of a name.
    fn name(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.names.get(name) {
            return Arc::clone(known);
        }
        let new: Arc<str> = Arc::from(name);
        self.names.insert(Arc::clone(&new));
        new
    }

    /// What was collected, and the figures of the window.
    ///
    /// # Errors
    /// [`Error::Missing`] when the trace has no record, no clock with a unit, no time in the window, or when
    /// HZ is neither given nor in the trace.
    pub fn finish(mut self, summary: &Summary) -> Result<(Recorded, Figures), Error> {
        let window = self.window.finish(summary)?;
        let hz = self.options.hz.or_else(|| self.clock.hz());
        let hz = hz.filter(|hz| *hz > 0).ok_or_else(|| {
            missing(
                summary,
                "tick or timer that tells HZ",
                "give the tick rate: `--hz N` (`grep CONFIG_HZ= /boot/config-$(uname -r)` says which)",
            )
        })?;
        let offloading = &self.callbacks.offloading;
        let offloaded: CpuSet = (0..summary.cpus())
            .filter(|it| offloading.is(*it))
            .collect();
        for arrival in &mut self.arrivals {
            let silent = arrival.queued == Queued::Unknown;
            if silent && self.callbacks.ways.lazy && offloaded.contains(arrival.cpu) {
                arrival.queued = Queued::Bypass;
            }
            if self.callbacks.ways.lazy && arrival.queued != Queued::Unknown {
                arrival.lazy = Some(arrival.queued != Queued::Main);
            }
        }
        let counted = std::mem::take(&mut self.counted);
        let figures = counted.finish(window, &self.delay);
        let lazy = self.is_lazy(&figures, &offloaded);
        let recorded = Recorded {
            cpus: summary.cpus(),
            hz,
            jiffies_at_zero: self.clock.jiffies_at_zero(hz),
            window,
            arrivals: self.arrivals,
            placements: self.placement.places,
            offloaded,
            lazy,
            unseen: self.unseen,
            undecoded: self.window.undecoded,
        };
        Ok((recorded, figures))
    }
}

/// Reads a whole trace and gives the input of a replay, and the figures of the window.
///
/// # Errors
/// As [`Reader::next_record`] and [`Recorder::finish`].
///
/// ```
/// use quiescent_trace::{Options, Reader, open, recorded};
///
/// let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/traces/classic-c-lazy-file100.txt.xz");
/// let (recorded, figures) = recorded(&mut Reader::new(path, open(path)?), Options::default())?;
/// assert_eq!((recorded.cpus, recorded.hz), (8, 1000));
/// assert_eq!(recorded.jiffies_at_zero, Some(4294667250));
/// let hurried = recorded.in_window().find(|a| a.lazy == Some(false)).unwrap();
/// assert_eq!((&*hurried.func, hurried.irqs_off), ("rcu_work_rcufn", true));
/// assert!(figures.wakeups["rcuog/N"] > 0);
/// # Ok::<(), quiescent_trace::Error>(())
/// ```
pub fn recorded(reader: &mut Reader<'_>, options: Options) -> Result<(Recorded, Figures), Error> {
    let mut recorder = Recorder::new(options);
    while let Some(record) = reader.next_record()? {
        recorder.feed(&record);
    }
    recorder.finish(reader.summary())
}

#[cfg(test)]
mod tests;
