//! How much work a replay is, known before it begins.
//!
//! A few lines of a trace can ask for any amount: a step in its times is a window of years, and a window of
//! one jiffy is lived through thousands of times for lazy callbacks. What a run costs is bounded by two
//! numbers: the events that it is fed with, which are all made before it and need memory, and the ticks that
//! its CPUs can have.

use quiescent_report::Error;

use super::{Feed, Trace, doings, feed};
use crate::input::options::Options;

/// The most events that a run is fed with: about 3 GB.
pub const MOST_EVENTS: u64 = 1 << 24;

/// The most ticks of a run: an hour of 277 CPUs at 1000 ticks a second. If all of them happen, minutes.
pub const MOST_TICKS: u64 = 1_000_000_000;

/// An upper bound on what a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount {
    /// Events that it is fed with.
    pub events: u64,
    /// Ticks of all its CPUs, if none of them idled.
    pub ticks: u64,
    /// Virtual time, in nanoseconds.
    length: u64,
}

impl Trace {
    /// What a run on a machine is, fed so.
    pub fn amount(&self, options: &Options, feed: Feed) -> Amount {
        let it = &self.doings;
        let runs = it.lives.iter().flat_map(|it| &it.runs);
        let steps: usize = runs.map(|it| 1 + it.steps.len()).sum();
        let places = self.recorded.placements.iter().map(|it| it.1.len());
        let moves = places.sum::<usize>() + it.driver.len();
        let once = (steps + it.ticks.len() + it.interrupts.len()).max(1) as u64;
        let events = once.saturating_mul(feed.fed.max(1));
        let moves = (moves as u64).saturating_mul(feed.times.max(1));
        let period = doings::period(&self.recorded);
        let again = period.saturating_mul(feed.times.saturating_sub(1));
        // What the trace begins with is before the window.
        let firsts = it.lives.iter().filter_map(|it| Some(it.runs.first()?.at));
        let window = self.recorded.window;
        let first = firsts.fold(window.start_ns, u64::min);
        let length = (window.end_ns - first).saturating_add(again);
        let ticks = u128::from(length) * u128::from(options.hz) / 1_000_000_000;
        let ticks = ticks * u128::from(options.cpus);
        Amount {
            events: events.saturating_add(moves),
            ticks: u64::try_from(ticks).unwrap_or(u64::MAX),
            length,
        }
    }

    /// Refuses a run that is too much; `file` is the trace's name, `remedy` what makes it less.
    ///
    /// # Errors
    /// [`Error::Usage`] with the amount, where it is from, and the remedy.
    pub fn check_amount(
        &self,
        file: &str,
        options: &Options,
        feed: Feed,
        remedy: &str,
    ) -> Result<(), Error> {
        let it = self.amount(options, feed);
        if it.events <= MOST_EVENTS && it.ticks <= MOST_TICKS {
            return Ok(());
        }
        let window = self.recorded.window;
        let [from, to] = [window.start_ns, window.end_ns].map(|ns| ns as f64 / 1e9);
        let (times, seconds) = (feed.times.max(1), it.length as f64 / 1e9);
        let (what, most) = match it.ticks > MOST_TICKS {
            true => (
                format!(
                    "{} ticks ({seconds:.1} s of {} CPUs at {} ticks a second)",
                    it.ticks, options.cpus, options.hz
                ),
                MOST_TICKS,
            ),
            false => (format!("{} events", it.events), MOST_EVENTS),
        };
        Err(Error::Usage(format!(
            "{file}: its window from {from:.6} s to {to:.6} s, replayed {times} times, is a run of {what}, \
             and {most} is the most; {remedy}"
        )))
    }
}

/// Parts of a run between two checks whether to stop: the steps of its progress.
pub(super) fn slices(trace: &Trace, times: u64) -> u64 {
    let start = trace.recorded.window.start_ns;
    let length = feed::end(&trace.recorded, times).saturating_sub(start);
    length.div_ceil(super::LONG_SLICE)
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use quiescent_report::{Control, Progress};
    use quiescent_trace::{Options as Known, Window};

    use super::*;
    use crate::whatif::{Request, ask, read};

    const MS: u64 = 1_000_000;

    /// Two callbacks a millisecond apart, and after so many seconds a third; the window is from the first
    /// one to the end.
    fn trace(seconds: u64, to: u64) -> Trace {
        let at = |seconds: u64, micros: u64, number: u64| {
            format!(
                "  init-1 [003] d..1. {seconds}.{micros:06}: rcu_callback: rcu_preempt \
                 rhp=ffff8880{number:08x} func=f 1\n"
            )
        };
        let text = "# tracer: nop\n#\n# entries-in-buffer/entries-written: 3/3   #P:8\n#\n"
            .to_owned()
            + &at(1, 0, 64)
            + &at(1, 1000, 128)
            + &at(1 + seconds, 0, 192);
        let (start_ns, end_ns) = (1000 * MS, to);
        let window = Some(Window { start_ns, end_ns });
        let hz = Some(250);
        read("text", text.as_bytes(), Known { window, hz }).unwrap()
    }

    fn asked(trace: &Trace, repeat: Option<u64>) -> String {
        let request = Request {
            file: "x.txt".into(),
            set: vec!["rcu=lazy".into()],
            repeat,
            ..Request::default()
        };
        match ask(trace, &request, Control::cancelled()) {
            Ok(answer) => format!("stopped: {}", answer.is_none()),
            Err(why) => why.to_string(),
        }
    }

    #[test]
    fn a_run_is_as_many_ticks_as_its_time_and_as_many_events_as_it_is_fed_with() {
        let short = trace(2, 3000 * MS);
        let machine = short.options();
        let (once, again) = (Feed::of(1), Feed::of(10));
        let amount = |feed| short.amount(&machine, feed);
        assert_eq!(amount(once).ticks / 100, 2 * 250 * 8 / 100);
        assert_eq!(amount(again).ticks / 1000, 20 * 250 * 8 / 1000);
        let fed = |feed: Feed| amount(feed).events / feed.fed;
        assert!(
            fed(once) >= 5 && fed(again) == fed(once),
            "{:?}",
            amount(once)
        );
        let busy = Options {
            cpus: 16,
            ..machine.clone()
        };
        assert_eq!(short.amount(&busy, once).ticks, 2 * amount(once).ticks);
    }

    #[test]
    fn no_more_records_are_kept_than_the_most() {
        let line =
            "  init-1 [003] d..1. 1.0: rcu_callback: rcu_preempt rhp=ffff888000000040 func=f 1\n";
        let text = line.repeat(5);
        for (most, fits) in [(4, false), (5, true)] {
            let mut reader = quiescent_trace::Reader::new("x.txt", text.as_bytes());
            let mut reading = crate::whatif::Reading::new(Known {
                hz: Some(250),
                window: None,
            });
            reading.most = most;
            while let Some(record) = reader.next_record().unwrap() {
                reading.feed(&record);
            }
            assert_eq!(reading.doings.kept(), most);
            let why = reading.finish(reader.summary()).map(drop).err();
            let why = why.map(|it| it.to_string()).unwrap_or_default();
            assert_eq!(
                why.contains("x.txt: 5 records, and 4 are the most"),
                !fits,
                "{why}"
            );
        }
    }

    #[test]
    fn a_step_in_time_and_a_short_window_thousands_of_times_are_refused() {
        assert_eq!(asked(&trace(2, 3000 * MS), None), "stopped: true");
        let step = trace(1_000_000, 1_000_000_000 * MS);
        let why = asked(&step, None);
        assert!(
            why.starts_with("x.txt: its window from 1.000000 s to 1000000.000000 s"),
            "{why}"
        );
        assert!(
            why.contains("8 CPUs at 250 ticks") && why.contains("--from and --to"),
            "{why}"
        );
        let short = trace(2, 1004 * MS);
        let stopped = asked(&short, Some(25_000));
        assert_eq!(stopped, "stopped: true");
        let why = asked(&short, Some(10_000_000));
        assert!(
            why.contains("replayed 10000000 times") && why.contains("smaller --repeat"),
            "{why}"
        );
        assert!(
            why.contains("events, and 16777216") || why.contains("ticks"),
            "{why}"
        );
        let why = asked(&short, Some(u64::MAX));
        assert!(why.contains("smaller --repeat"), "{why}");
    }

    /// The parts that began, each with its steps, and those that were made.
    #[derive(Default)]
    struct Parts {
        all: RefCell<Vec<(String, u64)>>,
        made: Cell<u64>,
    }

    impl Progress for Parts {
        fn begin(&self, what: &str, steps: u64) {
            self.end();
            self.all.borrow_mut().push((what.into(), steps));
        }

        fn advance(&self, steps: u64) {
            self.made.set(self.made.get() + steps);
        }

        fn end(&self) {
            let made = self.made.take();
            if let Some((what, steps)) = self.all.borrow().last() {
                assert_eq!(made, *steps, "{what}");
            }
        }
    }

    /// So the time that is left follows from them.
    #[test]
    fn each_part_of_an_answer_makes_the_steps_that_it_begins_with() {
        let request = Request {
            set: vec!["rcu=lazy".into(), "lazy_flush=100ms".into()],
            ..Request::default()
        };
        let (parts, never) = (Parts::default(), false.into());
        let answer = ask(&trace(2, 3000 * MS), &request, Control::new(&never, &parts)).unwrap();
        assert!(answer.is_some());
        let begun = parts.all.borrow();
        let names: Vec<&str> = begun.iter().map(|it| it.0.as_str()).collect();
        assert_eq!(
            names,
            ["model: fit", "model: change", "model: other machines"]
        );
        assert!(begun.iter().all(|it| it.1 > 20), "{begun:?}");
    }
}
