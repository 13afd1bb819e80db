//! A task that closes buffers frame by frame: one system call for each, and each queues callbacks.
//!
//! A display does this all day: at every frame a process draws, and then closes the buffer of the last frame.
//! The system call drops the last reference, and callbacks that the call has queued free the buffer's
//! records. An analysis of callbacks needs to know *which call* a callback comes from: the task states when
//! it enters and leaves the kernel ([`Op::Enter`], [`Op::Leave`]), and the machine keeps a record of each
//! call ([`SysCall`](crate::SysCall)).

use super::Queued;
use crate::base::chance::Chance;
use crate::input::op::{Op, SysCallName, Work};

/// The first descriptor that is not standard input, output or error.
const FIRST: u64 = 3;

/// Sleeps until the next frame, draws it, closes buffers, and sleeps again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closer {
    /// Nanoseconds between two frames.
    pub every: u64,
    /// The times between frames are exponentially distributed with this mean.
    pub vary: bool,
    /// Buffers that are closed at each frame, one system call each.
    pub buffers: u64,
    /// What each of those calls queues.
    pub callbacks: Vec<Queued>,
    /// Nanoseconds that the task computes for a frame before it closes anything.
    pub draw: u64,
    /// Nanoseconds that each call takes before it queues its first callback.
    pub close: u64,
    /// From this time on there are no frames.
    pub stop: u64,
    /// What the times are drawn from.
    pub chance: Chance,
    /// Where it is.
    pub at: CloserState,
}

/// Where a [`Closer`] is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CloserState {
    /// When the frame under way was due.
    due: u64,
    step: CloserStep,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum CloserStep {
    #[default]
    Sleep,
    Draw,
    /// It closes this buffer next.
    Enter(u64),
    /// It is in the call for this one.
    Close(u64),
    /// It has queued so many callbacks of it.
    Queue(u64, usize),
}

impl Closer {
    /// The next frame is due, from when the last one was: what a frame takes does not change the rate. None:
    /// there is none any more.
    fn next_frame(&mut self) -> Option<u64> {
        if self.every == 0 || self.buffers == 0 {
            return None;
        }
        self.at.due += self.chance.pause(self.every, self.vary).max(1);
        (self.at.due < self.stop).then_some(self.at.due)
    }
}

impl Work for Closer {
    fn next(&mut self, now: u64) -> Op {
        loop {
            match self.at.step {
                CloserStep::Sleep => {
                    if self.at.due == 0 {
                        self.at.due = now; // it has just started
                    }
                    let Some(due) = self.next_frame() else {
                        return Op::Exit;
                    };
                    self.at.step = CloserStep::Draw;
                    if due > now {
                        return Op::SleepUntil(due);
                    }
                }
                CloserStep::Draw => {
                    self.at.step = CloserStep::Enter(0);
                    if self.draw > 0 {
                        return Op::Compute(self.draw);
                    }
                }
                CloserStep::Enter(buffer) if buffer < self.buffers => {
                    self.at.step = CloserStep::Close(buffer);
                    return Op::Enter {
                        name: SysCallName::Close,
                        argument: FIRST + buffer,
                    };
                }
                CloserStep::Enter(_) => self.at.step = CloserStep::Sleep,
                CloserStep::Close(buffer) => {
                    self.at.step = CloserStep::Queue(buffer, 0);
                    if self.close > 0 {
                        return Op::Kernel(self.close);
                    }
                }
                CloserStep::Queue(buffer, done) => {
                    let Some(&it) = self.callbacks.get(done) else {
                        self.at.step = CloserStep::Enter(buffer + 1);
                        return Op::Leave;
                    };
                    self.at.step = CloserStep::Queue(buffer, done + 1);
                    return it.call();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closer(buffers: u64) -> Closer {
        let callback = |func| Queued {
            func,
            lazy: true,
            can_wake: true,
        };
        Closer {
            every: 16_000,
            vary: false,
            buffers,
            callbacks: vec![callback(0), callback(1)],
            draw: 500,
            close: 20,
            stop: 40_000,
            chance: Chance::new(3),
            at: CloserState::default(),
        }
    }

    #[test]
    fn a_frame_is_drawn_and_each_buffer_has_a_call_of_its_own() {
        let mut work = closer(2);
        let (mut now, mut done) = (1000, Vec::new());
        loop {
            let op = work.next(now);
            match op {
                Op::Exit => break,
                Op::SleepUntil(at) => now = at,
                Op::Compute(ns) | Op::Kernel(ns) => now += ns,
                _ => {}
            }
            done.push(op);
        }
        let call = |func| Op::Call {
            func,
            lazy: true,
            can_wake: true,
        };
        let close = |argument| {
            let name = SysCallName::Close;
            let enter = Op::Enter { name, argument };
            [enter, Op::Kernel(20), call(0), call(1), Op::Leave]
        };
        let frame = |at| {
            [
                vec![Op::SleepUntil(at), Op::Compute(500)],
                close(3).into(),
                close(4).into(),
            ]
            .concat()
        };
        assert_eq!(
            done,
            [frame(17_000), frame(33_000)].concat(),
            "and none at 49000"
        );
    }

    #[test]
    fn who_closes_nothing_is_gone() {
        assert_eq!(closer(0).next(5), Op::Exit);
    }
}
