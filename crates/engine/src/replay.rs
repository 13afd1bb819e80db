//! Inputs as values: record what a host asked the engine and what the engine asked back, and replay
//! it bit for bit.
//!
//! Every call of [`Global`] that changes it has an [`Input`]; [`Global::apply`] dispatches it and
//! returns an [`Output`]. A host that wants a recording wraps its own [`Host`] in [`Recording`], which
//! keeps the answers in the order of the questions. A recorded run is a list of [`Entry`]s in the
//! order of the host's lock; [`replay`] feeds them to a fresh engine and compares every output. If the
//! engine reads anything but its inputs, this is where it shows.

use alloc::vec::Vec;
use core::cell::RefCell;

use crate::event::Event;
use crate::global::{Global, Interest};
use crate::host::{CpuId, Effects, Host, LeafId, Next, Now, Pos, Seen};
use crate::polled::FullCookie;
use crate::seq::Seq;

/// One call of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(
    missing_docs,
    reason = "each variant is the method of the same name, with its parameters"
)]
pub enum Input {
    WaitForGp {
        leaf: LeafId,
        expedited: bool,
    },
    StartPoll {
        leaf: LeafId,
    },
    TryDrive {
        cpu: Option<CpuId>,
        interest: Interest,
    },
    Step {
        now: Now,
    },
    Fenced,
    Flagged {
        newly: u32,
    },
    Leave,
    Grow {
        cpus: u32,
    },
    ReportQs {
        cpu: CpuId,
        noted: Seq,
    },
    Departed {
        cpu: CpuId,
    },
    WaitersWoken {
        pos: Pos,
    },
}

/// What a call returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(
    missing_docs,
    reason = "each variant is the return value of the call that has it"
)]
pub enum Output {
    Ticket(Pos, Effects),
    Cookie(FullCookie, Effects),
    Effects(Effects),
    Next(Next),
    Done(bool),
}

/// An answer of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each variant is the question of the same name")]
pub enum Answer {
    Cpus(u32),
    Observe(CpuId, Seen),
    Present(LeafId, u64),
    OwnQuiescent(CpuId, bool),
}

/// One recorded call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The call.
    pub input: Input,
    /// What the host answered meanwhile, in order.
    pub answers: Vec<Answer>,
    /// What came out.
    pub output: Output,
}

impl Global {
    /// Makes the call that `input` stands for. A tree that cannot be built, or is refused, yields
    /// `Done(false)`.
    pub fn apply(&mut self, input: Input, host: &impl Host) -> Output {
        match input {
            Input::WaitForGp { leaf, expedited } => {
                let (ticket, effects) = self.wait_for_gp(leaf, expedited, host);
                Output::Ticket(ticket, effects)
            }
            Input::StartPoll { leaf } => {
                let (cookie, effects) = self.start_poll(leaf, host);
                Output::Cookie(cookie, effects)
            }
            Input::TryDrive { cpu, interest } => Output::Done(self.try_drive(cpu, interest)),
            Input::Step { now } => Output::Effects(self.step(now, host)),
            Input::Fenced => Output::Next(self.fenced()),
            Input::Flagged { newly } => Output::Next(self.flagged(newly)),
            Input::Leave => Output::Next(self.leave()),
            Input::Grow { cpus } => Output::Done(match Global::new_tree(self.config(), cpus) {
                Ok(tree) => self.grow(tree).is_ok(),
                Err(_) => false,
            }),
            Input::ReportQs { cpu, noted } => Output::Effects(self.report_qs(cpu, noted, host)),
            Input::Departed { cpu } => Output::Effects(self.departed(cpu, host)),
            Input::WaitersWoken { pos } => {
                self.waiters_woken(pos);
                Output::Done(true)
            }
        }
    }
}

/// A host that keeps a copy of every answer it passes on.
#[derive(Debug)]
pub struct Recording<'a, H> {
    host: &'a H,
    answers: RefCell<Vec<Answer>>,
}

impl<'a, H: Host> Recording<'a, H> {
    /// Records what `host` answers.
    pub fn new(host: &'a H) -> Self {
        Recording {
            host,
            answers: RefCell::new(Vec::new()),
        }
    }

    /// The answers so far.
    pub fn answers(&self) -> Vec<Answer> {
        self.answers.borrow().clone()
    }

    fn keep<T>(&self, value: T, answer: Answer) -> T {
        self.answers.borrow_mut().push(answer);
        value
    }
}

impl<H: Host> Host for Recording<'_, H> {
    const TRACES: bool = H::TRACES;

    fn cpus(&self) -> u32 {
        let value = self.host.cpus();
        self.keep(value, Answer::Cpus(value))
    }

    fn observe(&self, cpu: CpuId) -> Seen {
        let value = self.host.observe(cpu);
        self.keep(value, Answer::Observe(cpu, value))
    }

    fn present(&self, leaf: LeafId) -> u64 {
        let value = self.host.present(leaf);
        self.keep(value, Answer::Present(leaf, value))
    }

    fn own_quiescent(&self, cpu: CpuId) -> bool {
        let value = self.host.own_quiescent(cpu);
        self.keep(value, Answer::OwnQuiescent(cpu, value))
    }

    fn trace(&self, event: &Event) {
        self.host.trace(event);
    }
}

/// A host that answers from a recording. A question that differs from the recorded one is remembered.
struct Replaying<'a> {
    left: RefCell<core::slice::Iter<'a, Answer>>,
    strayed: RefCell<bool>,
}

impl Replaying<'_> {
    fn next<T>(&self, pick: impl Fn(Answer) -> Option<T>, otherwise: T) -> T {
        match self
            .left
            .borrow_mut()
            .next()
            .and_then(|&answer| pick(answer))
        {
            Some(value) => value,
            None => {
                *self.strayed.borrow_mut() = true;
                otherwise
            }
        }
    }
}

impl Host for Replaying<'_> {
    const TRACES: bool = false;

    fn cpus(&self) -> u32 {
        self.next(
            |a| {
                if let Answer::Cpus(n) = a {
                    Some(n)
                } else {
                    None
                }
            },
            0,
        )
    }

    fn observe(&self, cpu: CpuId) -> Seen {
        let pick = |a| match a {
            Answer::Observe(c, seen) if c == cpu => Some(seen),
            _ => None,
        };
        self.next(
            pick,
            Seen {
                outside: false,
                stamp: 0,
            },
        )
    }

    fn present(&self, leaf: LeafId) -> u64 {
        let pick = |a| match a {
            Answer::Present(l, mask) if l == leaf => Some(mask),
            _ => None,
        };
        self.next(pick, 0)
    }

    fn own_quiescent(&self, cpu: CpuId) -> bool {
        let pick = |a| match a {
            Answer::OwnQuiescent(c, yes) if c == cpu => Some(yes),
            _ => None,
        };
        self.next(pick, false)
    }
}

/// Where a replay went another way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diverged {
    /// Number of the entry, from 0.
    pub at: usize,
    /// What was recorded.
    pub recorded: Output,
    /// What came out now.
    pub replayed: Output,
    /// The engine asked other questions than recorded.
    pub other_questions: bool,
}

/// Feeds a recording to `engine` and compares every output and every question.
///
/// # Errors
/// The first entry that differs.
#[allow(clippy::result_large_err, reason = "a diagnosis, made once")]
pub fn replay(engine: &mut Global, entries: &[Entry]) -> Result<(), Diverged> {
    for (at, entry) in entries.iter().enumerate() {
        let host = Replaying {
            left: RefCell::new(entry.answers.iter()),
            strayed: RefCell::new(false),
        };
        let replayed = engine.apply(entry.input, &host);
        let unasked = host.left.borrow_mut().next().is_some();
        let other_questions = *host.strayed.borrow() || unasked;
        if replayed != entry.output || other_questions {
            return Err(Diverged {
                at,
                recorded: entry.output,
                replayed,
                other_questions,
            });
        }
    }
    Ok(())
}
