//! A measuring process: one subject, one case.
//!
//! It ends when its input does. Ctrl-C is for the parent, which then prints what was measured; so it is
//! ignored here.
//!
//! The other threads of a case are made once. Between rounds they sleep in a channel (*offline*, for
//! libraries that want to know), so that a process that is not being measured uses no CPU and blocks no grace
//! period.

use super::wire::{Answer, Ask};
use super::{SyncCase, fence_count};
use crate::measure::clock;
use crate::subjects::{self, ReaderControl, Subject, Waiting};
use std::io::{BufRead, Write};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Answers questions from standard input until it ends; the exit code.
pub fn serve(subject: &str, case: SyncCase, threads: usize, count_fences: bool) -> u8 {
    // SAFETY: ignoring a signal touches no memory.
    unsafe { libc::signal(libc::SIGINT, libc::SIG_IGN) };
    let mut session = match Session::start(subject, case, threads, count_fences) {
        Ok(session) => session,
        Err(why) => {
            say(&Answer::Failed { why });
            return 1;
        }
    };
    if !say(&Answer::Ready {
        threads: all_threads(),
    }) {
        return 1;
    }
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let answer = match serde_json::from_str(&line) {
            Ok(ask) => session.answer(&ask),
            Err(why) => Answer::Failed {
                why: format!("not a question: `{line}` ({why})"),
            },
        };
        if !say(&answer) {
            break;
        }
    }
    0
}

/// Whether the parent is still there to hear it.
fn say(answer: &Answer) -> bool {
    let line = serde_json::to_string(answer).expect("numbers and words always serialise");
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).is_ok()
}

/// The subject in its case, set up.
pub struct Session {
    waiting: Waiting,
    case: SyncCase,
    counting: bool,
    others: Vec<Other>,
    stamps_per_us: u64,
}

/// A thread beside the caller.
struct Other {
    /// What it shares with the caller while it reads.
    control: Arc<ReaderControl>,
    go: Sender<()>,
    /// One message when it has attached, one after each time it has read.
    parked: Mutex<Receiver<()>>,
}

impl Session {
    /// Attaches this thread and makes the `threads` others, when the case has others.
    ///
    /// # Errors
    /// A text with the reason and the remedy.
    pub fn start(
        name: &str,
        case: SyncCase,
        threads: usize,
        counting: bool,
    ) -> Result<Self, String> {
        let subject = subjects::named(name)
            .ok_or_else(|| format!("`{name}` is not in this build; see `host.absent_peers`"))?;
        let waiting = subject
            .waiting
            .ok_or_else(|| format!("{name} has no grace period to wait for"))?;
        if counting {
            fence_count::start().map_err(|why| {
                format!("cannot count fences: {why}; seccomp filters are refused here")
            })?;
        }
        (subject.attach)();
        let others = match case {
            SyncCase::SoleThread => 0,
            SyncCase::OtherAsleep | SyncCase::ReaderLooping => threads,
        };
        let others = (1..=others)
            .map(|number| {
                Other::start(subject, waiting).map_err(|why| {
                    format!(
                        "cannot start thread {number} of {others}: {why}; give fewer --threads, or raise the \
                         limit (ulimit -u, pids.max of the cgroup)"
                    )
                })
            })
            .collect::<Result<Vec<Other>, String>>()?;
        Ok(Session {
            waiting,
            case,
            counting,
            others,
            stamps_per_us: clock::stamps_per_us(),
        })
    }

    /// Does what it is asked.
    pub fn answer(&mut self, ask: &Ask) -> Answer {
        match *ask {
            Ask::Round { calls, budget_ms } => self.round(calls, Duration::from_millis(budget_ms)),
            Ask::Idle { ms } => self.idle(Duration::from_millis(ms)),
        }
    }

    fn round(&mut self, calls: u64, budget: Duration) -> Answer {
        let looping = self.case == SyncCase::ReaderLooping;
        let readers: &[Other] = if looping { &self.others } else { &[] };
        readers.iter().for_each(Other::start_reading);
        let before = fence_count::count();
        let deadline = Instant::now() + budget;
        let mut latencies_ns = Vec::with_capacity(calls.min(1 << 20) as usize);
        while (latencies_ns.len() as u64) < calls {
            let on_cpu = |reader: &Other| reader.on_cpu(self.stamps_per_us);
            if looping && !readers.iter().any(on_cpu) {
                if Instant::now() >= deadline {
                    break;
                }
                std::hint::spin_loop();
                continue;
            }
            let begin = Instant::now();
            (self.waiting.sync)();
            let end = Instant::now();
            latencies_ns.push(end.duration_since(begin).as_nanos() as u64);
            if end >= deadline {
                break;
            }
        }
        let fences = self.counting.then(|| fence_count::count() - before);
        readers
            .iter()
            .for_each(|reader| reader.control.stop.0.store(1, Relaxed));
        readers.iter().for_each(Other::wait_parked);
        Answer::Round {
            latencies_ns,
            fences,
        }
    }

    fn idle(&self, time: Duration) -> Answer {
        let Some(counters) = self.waiting.counters else {
            return Answer::Failed {
                why: "this subject has no counters".into(),
            };
        };
        let before = counters();
        std::thread::sleep(time);
        Answer::Idle {
            before,
            after: counters(),
            threads: all_threads(),
        }
    }
}

impl Other {
    fn start(subject: Subject, waiting: Waiting) -> std::io::Result<Self> {
        let control = Arc::new(ReaderControl::default());
        let (go, orders) = channel();
        let (park, parked) = channel();
        let shared = control.clone();
        std::thread::Builder::new()
            .name("other".into())
            .spawn(move || {
                (subject.attach)();
                // A first section, so that a library that registers at the first read knows this thread.
                (subject.loops.empty)(1);
                (waiting.offline)();
                while park.send(()).is_ok() && orders.recv().is_ok() {
                    (waiting.online)();
                    (waiting.reader)(&shared);
                    (waiting.offline)();
                }
                (waiting.online)();
                (subject.detach)();
            })?;
        let other = Other {
            control,
            go,
            parked: Mutex::new(parked),
        };
        other.wait_parked();
        Ok(other)
    }

    fn wait_parked(&self) {
        let parked = self.parked.lock().unwrap_or_else(PoisonError::into_inner);
        // An error means that the thread died, after saying why; the next round will find no heartbeat.
        let _ = parked.recv();
    }

    fn start_reading(&self) {
        self.control.stop.0.store(0, Relaxed);
        // As above.
        let _ = self.go.send(());
    }

    /// Whether the reader finished a section less than 1 µs ago.
    fn on_cpu(&self, stamps_per_us: u64) -> bool {
        let beat = self.control.heartbeat.0.load(Relaxed);
        // A beat later than our own stamp is as fresh as can be.
        clock::stamp().saturating_sub(beat) < stamps_per_us
    }
}

/// Threads of this process, as the kernel counts them.
fn all_threads() -> u64 {
    std::fs::read_dir("/proc/self/task").map_or(0, |tasks| tasks.count() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting_subjects() -> impl Iterator<Item = Subject> {
        subjects::all()
            .into_iter()
            .filter(|subject| subject.waiting.is_some())
    }

    #[test]
    fn every_subject_waits_in_every_case() {
        for subject in waiting_subjects() {
            for case in SyncCase::ALL {
                std::thread::spawn(move || {
                    let mut session = Session::start(subject.name, case, 2, false).unwrap();
                    let ask = Ask::Round {
                        calls: 3,
                        budget_ms: 5_000,
                    };
                    for _ in 0..2 {
                        let Answer::Round {
                            latencies_ns,
                            fences: None,
                        } = session.answer(&ask)
                        else {
                            panic!("{} {}", subject.name, case.name());
                        };
                        assert!(latencies_ns.len() <= 3);
                        assert!(case == SyncCase::ReaderLooping || latencies_ns.len() == 3);
                    }
                    drop(session);
                    (subject.detach)();
                })
                .join()
                .unwrap();
            }
        }
    }

    #[test]
    fn unknown_subjects_are_refused() {
        let error = Session::start("no such library", SyncCase::SoleThread, 1, false).err();
        assert!(error.unwrap().contains("no such library"));
    }

    #[test]
    fn subjects_without_a_grace_period_are_refused() {
        for subject in subjects::all()
            .iter()
            .filter(|subject| subject.waiting.is_none())
        {
            assert!(Session::start(subject.name, SyncCase::SoleThread, 1, false).is_err());
        }
    }
}
