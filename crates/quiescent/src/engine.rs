//! The engine as the thread host calls it: every input passes through here, so that tests can record
//! a run and replay it bit for bit (rule R1).

use quiescent_engine::replay::{Input, Output};
use quiescent_engine::{CpuId, Effects, FullCookie, Interest, Next, Pos, Tree};

use crate::domain::{Core, Domain, View};
use crate::slots::Slots;

/// Records a call in tests; in the product it is the call.
macro_rules! through {
    ($core:expr, $slots:expr, $input:expr, $wrap:expr, |$host:ident| $call:expr) => {{
        #[cfg(test)]
        let result = {
            let view = View($slots);
            let $host = &quiescent_engine::replay::Recording::new(&view);
            let result = $call;
            if let Some(entries) = &mut $core.recording {
                let answers = $host.answers();
                let output = $wrap(&result);
                entries.push(quiescent_engine::replay::Entry {
                    input: $input,
                    answers,
                    output,
                });
            }
            result
        };
        #[cfg(not(test))]
        let result = {
            let $host = &View($slots);
            let _ = || ($input, $wrap); // the recording's view of this call stays compiled
            $call
        };
        result
    }};
}

impl Core {
    pub(crate) fn wait_for_gp(&mut self, slots: &Slots, leaf: usize, expedited: bool) -> Pos {
        let (ticket, _) = through!(
            self,
            slots,
            Input::WaitForGp { leaf, expedited },
            |r: &(Pos, Effects)| Output::Ticket(r.0, r.1),
            |host| self.engine.wait_for_gp(leaf, expedited, host)
        );
        ticket
    }

    pub(crate) fn start_poll(&mut self, slots: &Slots, leaf: usize) -> FullCookie {
        let (cookie, _) = through!(
            self,
            slots,
            Input::StartPoll { leaf },
            |r: &(FullCookie, Effects)| Output::Cookie(r.0, r.1),
            |host| self.engine.start_poll(leaf, host)
        );
        cookie
    }

    pub(crate) fn try_drive(
        &mut self,
        slots: &Slots,
        cpu: Option<CpuId>,
        interest: Interest,
    ) -> bool {
        through!(
            self,
            slots,
            Input::TryDrive { cpu, interest },
            |r: &bool| Output::Done(*r),
            |_host| self.engine.try_drive(cpu, interest)
        )
    }

    pub(crate) fn step(&mut self, slots: &Slots, now_ns: u64) -> Effects {
        let now = Domain::now(now_ns);
        through!(
            self,
            slots,
            Input::Step { now },
            |r: &Effects| Output::Effects(*r),
            |host| self.engine.step(now, host)
        )
    }

    pub(crate) fn fenced(&mut self, slots: &Slots) -> Next {
        through!(
            self,
            slots,
            Input::Fenced,
            |r: &Next| Output::Next(*r),
            |_host| self.engine.fenced()
        )
    }

    pub(crate) fn flagged(&mut self, slots: &Slots, newly: u32) -> Next {
        through!(
            self,
            slots,
            Input::Flagged { newly },
            |r: &Next| Output::Next(*r),
            |_host| self.engine.flagged(newly)
        )
    }

    pub(crate) fn leave(&mut self, slots: &Slots) -> Next {
        through!(
            self,
            slots,
            Input::Leave,
            |r: &Next| Output::Next(*r),
            |_host| self.engine.leave()
        )
    }

    /// Hands a larger tree in; what comes back is to be freed with no lock held.
    pub(crate) fn grow(&mut self, slots: &Slots, tree: Tree) -> Option<Tree> {
        let cpus = tree.geometry().nr_cpus();
        let result = through!(
            self,
            slots,
            Input::Grow { cpus },
            |r: &Result<Option<Tree>, Tree>| Output::Done(r.is_ok()),
            |_host| self.engine.grow(tree)
        );
        result.unwrap_or_else(Some)
    }
}

#[cfg(all(test, not(any(quiescent_loom, quiescent_double))))]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use quiescent_engine::replay::{Entry, Input, Output, replay};
    use quiescent_engine::{Global, Next};

    use crate::sync;

    /// Starts recording and returns the engine as it stood then.
    fn start() -> Global {
        let mut core = sync::domain().lock();
        core.recording = Some(Vec::new());
        core.engine.clone()
    }

    /// Stops recording; the entries, and the engine as it stands now.
    fn stop() -> (Vec<Entry>, Global) {
        let mut core = sync::domain().lock();
        (
            core.recording.take().expect("recording was started"),
            core.engine.clone(),
        )
    }

    fn busy_readers(stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) {
            crate::read(|_| std::hint::spin_loop());
            std::thread::yield_now();
        }
    }

    /// Rule R1: four updaters, readers, churn of short-lived threads, pollers and callers that give
    /// up; every decision of the engine comes out again from its inputs alone, bit for bit.
    #[test]
    fn a_threaded_run_replays_bit_for_bit() {
        let before = start();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| busy_readers(&done));
            }
            let updaters: Vec<_> = (0..4)
                .map(|n| {
                    scope.spawn(move || {
                        for i in 0..150 {
                            match (n + i) % 4 {
                                0 => crate::synchronize(),
                                1 => crate::synchronize_expedited(),
                                2 => drop(crate::synchronize_timeout(Duration::from_micros(5))),
                                _ => {
                                    let cookie = crate::start_poll();
                                    while !crate::poll(cookie) {
                                        std::thread::yield_now();
                                    }
                                }
                            }
                        }
                    })
                })
                .collect();
            for _ in 0..80 {
                let crowd: Vec<_> = (0..8)
                    .map(|_| scope.spawn(|| crate::read(|_| ())))
                    .collect();
                crowd
                    .into_iter()
                    .for_each(|t| t.join().expect("a reader that only reads"));
            }
            // More at once than a leaf holds, so that the tree grows.
            let together = Barrier::new(70);
            std::thread::scope(|scope| {
                for _ in 0..70 {
                    scope.spawn(|| {
                        crate::read(|_| ());
                        together.wait();
                        crate::synchronize();
                    });
                }
            });
            updaters
                .into_iter()
                .for_each(|t| t.join().expect("an updater that only waits"));
            done.store(true, Ordering::Relaxed);
        });
        let (entries, after) = stop();

        let steps = entries
            .iter()
            .filter(|e| matches!(e.input, Input::Step { .. }))
            .count();
        assert!(
            steps > 1000 && entries.len() > steps,
            "a real run was recorded: {steps} steps"
        );
        let mut engine = before.clone();
        replay(&mut engine, &entries).expect("same inputs, same outputs");
        assert_eq!(engine, after, "and the same state");
        assert!(
            entries
                .iter()
                .any(|e| matches!(e.input, Input::Grow { .. })),
            "the tree grew"
        );

        // The comparison can fail: one flipped answer, one flipped output.
        let at = entries
            .iter()
            .position(|e| !e.answers.is_empty())
            .expect("questions were asked");
        let mut wrong = entries.clone();
        wrong[at].answers.pop();
        assert_eq!(
            replay(&mut before.clone(), &wrong)
                .expect_err("an answer is missing")
                .at,
            at
        );
        let mut wrong = entries;
        wrong[at].output = Output::Next(Next::HandOver);
        assert_eq!(
            replay(&mut before.clone(), &wrong)
                .expect_err("another output")
                .at,
            at
        );
    }
}
