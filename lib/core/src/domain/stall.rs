//! Stall reports: how one is made.
//!
//! The engine decides when, and how often (`quiescent_engine::stall`); the driver executes it. This file
//! makes the report and delivers it.
//!
//! # Context of the reporter
//! The reporter runs on the thread that drove, after it has left the driver role, with no lock held:
//! meanwhile another waiter of the same grace period drives. So a reporter may take long, and may take a lock
//! that *another* waiter holds. It runs as callbacks do: it may `retire`, `defer` and inspect anything; calls
//! that would wait are refused. The worker's reporter is watched like a callback: one that does not return
//! costs only the worker its role. While one reporter runs, further reports are dropped: a reporter that
//! hangs blocks one thread, and one that polls is not called recursively.
//!
//! # Order of reads
//! The blocking readers are read under the domain's lock, as numbers, unless the grace period has ended since
//! the report was due. Names and states are then read from `/proc` without any lock. A slot whose generation
//! differs from the first scan belongs to a reader that has left since: it is not named. That is checked
//! after the names were read.

use std::time::Duration;

use quiescent_engine::stall::Stalled;

#[cfg(feature = "helpers")]
use crate::domain::report::Report;
use crate::domain::report::{StallReport, StalledReader};
use crate::domain::state::State;
use crate::prim;
#[cfg(feature = "helpers")]
use crate::queue::kind;
#[cfg(feature = "helpers")]
use crate::queue::per_thread::STUCK_NS;
use crate::reader::holdout::Holdout;
#[cfg(feature = "helpers")]
use crate::reader::threads::Slot;

/// The largest number of readers named in a report.
const MOST: usize = 64;

impl State {
    /// The report of a stall. Names no reader if the grace period has ended meanwhile.
    pub fn stall_report(&'static self, stalled: Stalled) -> StallReport {
        let age = Duration::from_nanos(stalled.now_ns.saturating_sub(stalled.since_ns));
        let mut seen = [(0, 0); MOST];
        let (mut found, mut all) = (0, 0);
        let core = self.lock();
        let is_over = core.engine.published() != stalled.gp_seq;
        for reader in core.engine.in_the_way().filter(|_| !is_over) {
            if let Some(place) = seen.get_mut(all) {
                *place = reader;
                found += 1;
            }
            all += 1;
        }
        drop(core);
        let seen = seen[..found].iter();
        let readers = seen.flat_map(|&(cpu, stamp)| self.stalled_readers(cpu, stamp, age));
        let readers = readers.take(MOST).collect();
        let (queued, queued_bytes) = self.held();
        StallReport {
            domain: self.name(),
            grace_period: stalled.grace_period,
            report: stalled.nth,
            age,
            readers,
            more: all - found,
            queued,
            queued_bytes,
        }
    }

    /// The threads behind a reader that was seen with this stamp, if they are still in the same section.
    fn stalled_readers(&self, cpu: u32, stamp: u64, held_for: Duration) -> Vec<StalledReader> {
        let readers = self.readers();
        let location = (readers.words(cpu)).and_then(|words| words.reader.location());
        let named = readers.named(cpu, stamp);
        let mut named: Vec<_> = (named.into_iter())
            .map(|holdout| stalled_reader(holdout, held_for))
            .collect();
        if let Some(reader) = named.first_mut() {
            reader.location = location;
        }
        named
    }

    /// Has a stall reported, if a reporter is set. Called with no lock held, and without the driver role.
    pub fn report_stall(&'static self, stalled: Stalled) {
        #[cfg(all(test, not(quiescent_model)))]
        self.probe
            .reported
            .fetch_add(1, crate::prim::Ordering::Relaxed);
        let (env, host) = (self.env(), self.env().host);
        let Some(report) = host.stalls().filter(|_| self.telling.begin()) else {
            return;
        };
        if self.in_callback() {
            report(self, Some(stalled)); // a polling callback: already marked and watched
        } else {
            env.marked(|| {
                host.begin(|| "the reporter");
                report(self, Some(stalled));
                host.end();
                host.rest();
            });
        }
        self.telling.end();
    }
}

/// Owners that a taker has found in destructors of their own lane, which may wait for a lock that the owner
/// holds. Nothing is paid for it before: the worker takes a queue over at its deadline, and finds the owner.
#[cfg(feature = "helpers")]
impl State {
    /// Has them reported, if reports have a receiver.
    pub fn look_at_owners(&'static self) {
        if let Some(report) = self.env().host.stalls() {
            report(self, None);
        }
    }

    /// Reports them, once each. Called with no lock held, by the reporter.
    pub fn report_owners(&'static self) {
        for queue in self.queues() {
            let mut core = queue.lock();
            let now = prim::coarse_ns();
            let since = queue.stays_since(&core);
            let Some(since) = since.filter(|since| now >= since.saturating_add(STUCK_NS)) else {
                continue;
            };
            let entry = queue.report_stay(&mut core);
            drop(core);
            let owns = |slot: &&Slot| slot.queues.iter().any(|it| std::ptr::eq(it, queue));
            let owner = self.env().threads.slots.claimed().find(owns);
            let thread = owner.map_or(0, Slot::thread);
            // SAFETY: an entry of a lane of code.
            let named = entry.map(|entry| (unsafe { kind::kind(entry.what) }.name)());
            let name = named.unwrap_or("a retired value");
            self.env().host.tell(Report::StuckInPlace {
                name,
                thread,
                running: Duration::from_nanos(now - since),
            });
        }
    }
}

fn stalled_reader(holdout: Holdout, held_for: Duration) -> StalledReader {
    StalledReader {
        state: thread_state(holdout.thread_id),
        wait_channel: wait_channel(holdout.thread_id),
        holdout,
        held_for,
        location: None,
    }
}

// The kernel's data about a thread of this process. All of it is optional: `/proc` may not be mounted, and a
// thread may end between two reads.

/// The letter of the thread's state.
fn thread_state(thread: u32) -> Option<char> {
    if thread == 0 {
        return None;
    }
    let mut text = [0; 512];
    state_in(prim::of_thread(thread, "stat", &mut text)?)
}

/// `tid (name) S …`: the name may contain anything, including parentheses, so the last one ends it.
fn state_in(stat: &str) -> Option<char> {
    let (_, rest) = stat.rsplit_once(')')?;
    let word = rest.split_ascii_whitespace().next()?;
    let mut letters = word.chars();
    letters
        .next()
        .filter(|c| c.is_ascii_alphabetic() && letters.next().is_none())
}

/// The kernel function in which it sleeps; none if the file is empty or `0`, which also stands for a hidden
/// one.
fn wait_channel(thread: u32) -> Option<String> {
    if thread == 0 {
        return None;
    }
    let mut text = [0; 128];
    let name = prim::of_thread(thread, "wchan", &mut text)?;
    is_name(name).then(|| name.to_owned())
}

fn is_name(channel: &str) -> bool {
    !channel.is_empty() && channel != "0"
}

#[cfg(all(test, not(quiescent_model)))]
mod tests {
    use super::*;

    #[test]
    fn a_hidden_channel_has_no_name() {
        let names = ["", "0", "00", "do_wait", "0x1"].map(is_name);
        assert_eq!(names, [false, false, true, true, true]);
    }

    #[test]
    fn state_is_parsed_after_any_name() {
        for (stat, state) in [
            ("12 (slow) S 1 2 3", Some('S')),
            ("12 (a) R (b) D 1 2", Some('D')),
            ("12 (line\nbreak) t 1", Some('t')),
            ("12 () Z", Some('Z')),
            ("12 (cut off", None),
            ("12 (slow)", None),
            ("12 (slow) Sleeping", None),
            ("12 (slow) 7 8", None),
            ("", None),
        ] {
            assert_eq!(state_in(stat), state, "{stat:?}");
        }
    }

    #[test]
    fn missing_thread_has_no_state_and_no_wait_channel() {
        crate::needs!(linux);
        assert_eq!((thread_state(0), wait_channel(0)), (None, None));
        assert_eq!(
            (thread_state(u32::MAX), wait_channel(u32::MAX)),
            (None, None)
        );
        let me = sync_thread_id();
        assert_eq!(thread_state(me), Some('R'));
    }

    /// What the kernel says of a thread that sleeps; `0` and nothing are no names.
    #[test]
    fn the_wait_channel_is_the_kernel_s() {
        crate::needs!(linux);
        let (sender, receiver) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                sender.send(sync_thread_id()).expect("the test waits");
                let _ = ended.recv();
            });
            let sleeper = receiver.recv().expect("it starts");
            while thread_state(sleeper) != Some('S') {
                std::thread::yield_now();
            }
            let file = format!("/proc/self/task/{sleeper}/wchan");
            // It may be woken between the two looks, though for nothing, and then sleeps again.
            let are_equal = (0..1000).any(|_| {
                let says = std::fs::read_to_string(&file).unwrap_or_default();
                wait_channel(sleeper) == Some(says).filter(|it| is_name(it))
            });
            assert!(are_equal);
            drop(end);
        });
    }

    fn sync_thread_id() -> u32 {
        crate::prim::thread_id()
    }
}
