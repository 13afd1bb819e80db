//! The engine as the thread host calls it: every input passes through here and through
//! [`callbacks`](crate::inner::gp::callbacks), so that tests can record a run and replay it bit for bit (rule R1).
//!
//! The engine's state is kept in [`Part`]s, which give the rest of this crate no way round these two
//! files. An entry is put into the recording while the locks are held that the call needs: the queue's
//! for a [`Cpu`](quiescent_engine::Cpu), the domain's for the rest. Hence the recording has the order of
//! every one of these locks.

use std::ops::Deref;

use quiescent_engine::record::{Input, Output};
use quiescent_engine::{CpuId, Effects, FullCookie, Interest, Look, Next, Pos, Tree};

use crate::inner::domain::state::{Core, State};
use crate::inner::gp::readers::ReaderSet;

/// A part of the engine's state. Everybody may look at it.
#[derive(Debug)]
pub(crate) struct Part<T>(T);

impl<T> Part<T> {
    pub(crate) const fn new(state: T) -> Part<T> {
        Part(state)
    }

    /// For calls that are recorded: in this file and in [`callbacks`](crate::inner::gp::callbacks) only.
    pub(crate) fn inner(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T> Deref for Part<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// Does something with the engine's view of the readers, of whichever kind they are.
macro_rules! with_view {
    ($readers:expr, |$view:ident| $body:expr) => {
        match $readers {
            $crate::inner::gp::readers::ReaderSet::Threads(slots) => {
                let $view = &$crate::inner::gp::readers::View(slots);
                $body
            }
            $crate::inner::gp::readers::ReaderSet::Spots(spots) => {
                let $view = &$crate::inner::reader::spots::View(spots);
                $body
            }
            $crate::inner::gp::readers::ReaderSet::Counted(counted) => {
                let $view = &counted.view();
                $body
            }
        }
    };
}

/// A call that asks the host something: recorded in tests, with the answers; in the product it is the
/// call.
macro_rules! through {
    ($readers:expr, $input:expr, $wrap:expr, |$host:ident| $call:expr) => {
        $crate::inner::gp::calls::with_view!($readers, |view| {
            #[cfg(all(test, not(quiescent_model)))]
            let result = {
                let $host = &quiescent_harness::replay::Recording::new(view);
                let result = $call;
                crate::inner::gp::calls::recording::push($input, $host.answers(), $wrap(&result));
                result
            };
            #[cfg(not(all(test, not(quiescent_model))))]
            let result = {
                let $host = view;
                let _ = || ($input, $wrap); // the recording's view of this call stays compiled
                $call
            };
            result
        })
    };
}

/// The same for a call that asks nothing.
macro_rules! straight {
    ($input:expr, $wrap:expr, $call:expr) => {{
        #[cfg(all(test, not(quiescent_model)))]
        let result = {
            let result = $call;
            crate::inner::gp::calls::recording::push($input, Vec::new(), $wrap(&result));
            result
        };
        #[cfg(not(all(test, not(quiescent_model))))]
        let result = {
            let _ = || ($input, $wrap);
            $call
        };
        result
    }};
}

pub(crate) use {straight, through, with_view};

impl Core {
    pub(crate) fn wait_for_gp(
        &mut self,
        readers: ReaderSet<'_>,
        leaf: usize,
        expedited: bool,
    ) -> Pos {
        let (ticket, _) = through!(
            readers,
            Input::WaitForGp { leaf, expedited },
            |r: &(Pos, Effects)| Output::Ticket(r.0, r.1),
            |host| self.engine.inner().wait_for_gp(leaf, expedited, host)
        );
        ticket
    }

    pub(crate) fn start_poll(&mut self, readers: ReaderSet<'_>, leaf: usize) -> FullCookie {
        let (cookie, _) = through!(
            readers,
            Input::StartPoll { leaf },
            |r: &(FullCookie, Effects)| Output::Cookie(r.0, r.1),
            |host| self.engine.inner().start_poll(leaf, host)
        );
        cookie
    }

    pub(crate) fn try_drive(&mut self, cpu: Option<CpuId>, interest: Interest) -> bool {
        straight!(
            Input::TryDrive { cpu, interest },
            |r: &bool| Output::Done(*r),
            self.engine.inner().try_drive(cpu, interest)
        )
    }

    pub(crate) fn step(&mut self, readers: ReaderSet<'_>, now_ns: u64) -> Effects {
        let now = State::now(now_ns);
        through!(
            readers,
            Input::Step { now },
            |r: &Effects| Output::Effects(*r),
            |host| self.engine.inner().step(now, host)
        )
    }

    pub(crate) fn fenced(&mut self) -> Next {
        straight!(
            Input::Fenced,
            |r: &Next| Output::Next(*r),
            self.engine.inner().fenced()
        )
    }

    pub(crate) fn flagged(&mut self, newly: u32) -> Next {
        straight!(
            Input::Flagged { newly },
            |r: &Next| Output::Next(*r),
            self.engine.inner().flagged(newly)
        )
    }

    pub(crate) fn leave(&mut self) -> Next {
        straight!(
            Input::Leave,
            |r: &Next| Output::Next(*r),
            self.engine.inner().leave()
        )
    }

    pub(crate) fn take_over(
        &mut self,
        cpu: Option<CpuId>,
        interest: Interest,
        now_ns: u64,
        sleeping: bool,
    ) -> Look {
        straight!(
            Input::TakeOver {
                cpu,
                interest,
                now_ns,
                sleeping
            },
            |r: &Look| Output::Look(*r),
            self.engine
                .inner()
                .take_over(cpu, interest, now_ns, sleeping)
        )
    }

    pub(crate) fn resume(&mut self, reign: u32) -> bool {
        straight!(
            Input::Resume { epoch: reign },
            |r: &bool| Output::Done(*r),
            self.engine.inner().resume(reign)
        )
    }

    /// True if a sleeping driver has to be woken.
    pub(crate) fn set_stall_ns(&mut self, ns: u64) -> bool {
        straight!(
            Input::SetStallNs { ns },
            |r: &bool| Output::Done(*r),
            self.engine.inner().set_stall_ns(ns)
        )
    }

    /// Hands a larger tree in; what comes back is to be freed with no lock held.
    pub(crate) fn grow(&mut self, tree: Tree) -> Option<Tree> {
        let cpus = tree.geometry().nr_cpus();
        let result = straight!(
            Input::Grow { cpus },
            |r: &Result<Option<Tree>, Tree>| Output::Done(r.is_ok()),
            self.engine.inner().grow(tree)
        );
        result.unwrap_or_else(Some)
    }
}

#[cfg(all(test, not(quiescent_model)))]
pub(crate) mod recording;

#[cfg(all(test, not(quiescent_model)))]
mod tests;
