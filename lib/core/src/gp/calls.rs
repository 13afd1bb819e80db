//! The engine as the thread host calls it: every input passes through this file and
//! [`callbacks`](crate::gp::callbacks), so that tests can record a run and replay it bit for bit (rule R1).
//!
//! The engine's state is kept in [`Part`](crate::prim::part::Part)s, which the rest of this crate cannot
//! access except through these two files. An entry is added to the recording while the call's locks are held:
//! the queue's lock for a [`Cpu`](quiescent_engine::Cpu), the domain's lock for the rest. So the recording is
//! ordered consistently with each of these locks.

use quiescent_engine::record::{Input, Output};
use quiescent_engine::{CpuId, Effects, FullCookie, Interest, Look, Next, Pos, Published, Tree};

use crate::parts::env::FenceTime;
use crate::parts::state::{Core, State};
use crate::prim::part::straight;
use crate::reader::set::ReaderSet;

/// Evaluates an expression with the engine's view of the readers, for each kind of readers, under the lock.
macro_rules! with_view {
    ($readers:expr, $lock:expr, |$view:ident| $body:expr) => {
        match $readers {
            $crate::reader::set::ReaderSet::Threads(slots) => {
                let $view = &$crate::reader::set::SlotsView(slots, $lock);
                $body
            }
            $crate::reader::set::ReaderSet::Records(records) => {
                let $view = &$crate::reader::records::RecordsView(records);
                $body
            }
            $crate::reader::set::ReaderSet::Counted(counted, threads) => {
                let $view = &$crate::reader::counted::CountedView(counted, threads);
                $body
            }
        }
    };
}

/// A call in which the engine queries the host. While a test records, the call is recorded with the host's
/// answers; otherwise this is the plain call.
macro_rules! through {
    ($readers:expr, $lock:expr, $input:expr, $wrap:expr, |$host:ident| $call:expr) => {
        $crate::gp::calls::with_view!($readers, $lock, |view| {
            #[cfg(feature = "testing")]
            let result = if crate::prim::part::recording::is_on() {
                let $host = &quiescent_engine::record::Recording::new(view);
                let result = $call;
                crate::prim::part::recording::push($input, $host.answers(), $wrap(&result));
                result
            } else {
                let $host = view;
                $call
            };
            #[cfg(not(feature = "testing"))]
            let result = {
                let $host = view;
                let _ = || ($input, $wrap); // keeps the recording code of this call compiled
                $call
            };
            result
        })
    };
}

pub(crate) use {through, with_view};

/// Each method calls the engine's method of the same name, and records the call. It needs the domain's lock.
impl Core {
    pub fn wait_for_gp(&mut self, readers: ReaderSet<'_>, leaf: usize, expedited: bool) -> Pos {
        let (ticket, _) = through!(
            readers,
            &self.lock,
            Input::WaitForGp { leaf, expedited },
            |r: &(Pos, Effects)| Output::Ticket(r.0, r.1),
            |host| self.engine.inner().wait_for_gp(leaf, expedited, host)
        );
        ticket
    }

    pub fn sole_gp(
        &mut self,
        readers: ReaderSet<'_>,
        cpu: Option<CpuId>,
        expedited: bool,
    ) -> Option<Published> {
        through!(
            readers,
            &self.lock,
            Input::SoleGp { cpu, expedited },
            |r: &Option<Published>| Output::Sole(*r),
            |host| self.engine.inner().sole_gp(cpu, expedited, host)
        )
    }

    pub fn start_poll(&mut self, readers: ReaderSet<'_>, leaf: usize) -> FullCookie {
        let (cookie, _) = through!(
            readers,
            &self.lock,
            Input::StartPoll { leaf },
            |r: &(FullCookie, Effects)| Output::Cookie(r.0, r.1),
            |host| self.engine.inner().start_poll(leaf, host)
        );
        cookie
    }

    pub fn try_drive(&mut self, cpu: Option<CpuId>, interest: Interest) -> bool {
        straight!(
            Input::TryDrive { cpu, interest },
            |r: &bool| Output::Done(*r),
            self.engine.inner().try_drive(cpu, interest)
        )
    }

    pub fn step(&mut self, readers: ReaderSet<'_>, now_ns: u64) -> Effects {
        let now = State::now(now_ns);
        through!(
            readers,
            &self.lock,
            Input::Step { now },
            |r: &Effects| Output::Effects(*r),
            |host| self.engine.inner().step(now, host)
        )
    }

    pub fn fenced(&mut self) -> Next {
        straight!(
            Input::Fenced,
            |r: &Next| Output::Next(*r),
            self.engine.inner().fenced()
        )
    }

    /// A fence for deferred work has ended; `None` for other fences.
    pub fn fence_ended(&mut self, time: Option<FenceTime>) {
        let Some(FenceTime { took_ns, ended_ns }) = time else {
            return;
        };
        straight!(
            Input::FenceEnded {
                took_ns,
                now_ns: ended_ns
            },
            |(): &()| Output::Done(true),
            self.engine.inner().fence_ended(took_ns, ended_ns)
        );
    }

    pub fn flagged(&mut self, newly: u32) -> Next {
        straight!(
            Input::Flagged { newly },
            |r: &Next| Output::Next(*r),
            self.engine.inner().flagged(newly)
        )
    }

    pub fn leave(&mut self) -> Next {
        straight!(
            Input::Leave,
            |r: &Next| Output::Next(*r),
            self.engine.inner().leave()
        )
    }

    pub fn take_over(
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

    pub fn resume(&mut self, epoch: u32) -> bool {
        straight!(
            Input::Resume { epoch },
            |r: &bool| Output::Done(*r),
            self.engine.inner().resume(epoch)
        )
    }

    /// True if a sleeping driver has to be woken.
    pub fn set_stall_ns(&mut self, ns: u64) -> bool {
        straight!(
            Input::SetStallNs { ns },
            |r: &bool| Output::Done(*r),
            self.engine.inner().set_stall_ns(ns)
        )
    }

    /// Installs a larger tree; the returned tree is to be freed with no lock held.
    pub fn grow(&mut self, tree: Tree) -> Option<Tree> {
        let cpus = tree.geometry().nr_cpus();
        let result = straight!(
            Input::Grow { cpus },
            |r: &Result<Option<Tree>, Tree>| Output::Done(r.is_ok()),
            self.engine.inner().grow(tree)
        );
        result.unwrap_or_else(Some)
    }
}
