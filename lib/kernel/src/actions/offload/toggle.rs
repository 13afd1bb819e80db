//! Offloading a CPU, and de-offloading it, at boot and at run time.
//!
//! A CPU that may ever be offloaded is *chosen* at boot (`rcu_nocbs`): only then it has threads. Linux 6.12
//! toggles CPUs that are offline, after a barrier has emptied them; 5.12 to 6.11 could toggle online CPUs,
//! and so can a host that sets [`online_toggle`](super::Offload::online_toggle).
//!
//! # Toggling an online CPU
//! In one call, under the CPU's lock and its group's. The side that *stamps and advances* changes at once;
//! the side that *invokes* changes at the end of the batch that is out, if there is one
//! ([`invoke`](super::invoke)).
//!
//! * **De-offload**: hidden callbacks are flushed, because only rcuog reads the bypass; the grace periods of
//!   existing stamps are requested, because rcuog may not have done so yet, and no tick would notice; the CPU
//!   leaves the group; if it has callbacks its soft interrupt is raised, because it may be idle without a
//!   tick. An rcuog that waits for the CPU's grace period wakes up once without work.
//! * **Offload**: the CPU joins the group, and rcuog is woken if the CPU has callbacks, because the CPU does
//!   not serve them any more.
//!
//! A CPU that runs without a tick where it can stays offloaded: while a task keeps it busy, no other thread
//! would serve its callbacks.
//!
//! # No lost callback
//! At any time exactly one side serves the callbacks: `offloaded` and membership change together. The side
//! that takes over is notified if there are any, and checks the whole list, stamps included.

use super::{Group, Todo};
use crate::periods::cpu::Cpu;
use crate::periods::global::Global;
use crate::periods::host::Host;

/// The result of toggling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "callbacks may have moved, and threads may have to be woken"]
pub struct Toggled {
    /// This number, all of the bypass, move to the end of the list.
    pub flushed: u64,
    /// The threads to wake.
    pub todo: Todo,
}

/// The reason why a CPU was not toggled. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refused {
    /// It was not chosen at boot.
    NeverChosen,
    /// It is online, and only CPUs that are offline can be toggled.
    Online,
    /// It is offline, and has callbacks: make a barrier first, or let them be adopted.
    NotEmpty,
    /// It is in that state already.
    Already,
    /// It runs without a tick where it can ([`Host::nohz_full`]), and would not serve its callbacks itself.
    NoTick,
}

impl Cpu {
    /// At boot: `group` serves this CPU's callbacks from now on.
    ///
    /// # Panics
    /// If it is already offloaded.
    pub fn choose(&mut self, group: &mut Group) {
        self.offload.group = Some(group.id);
        group.join(self.id);
        self.offloaded = true;
    }

    /// Its group serves this CPU's callbacks again.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn offload(
        &mut self,
        online: bool,
        group: &mut Group,
        global: &Global,
        host: &impl Host,
    ) -> Result<Toggled, Refused> {
        if self.offload.group.is_none() {
            return Err(Refused::NeverChosen);
        }
        self.can_toggle(true, online, group, global)?;
        self.offloaded = true;
        group.join(self.id);
        let list = self.code_ref();
        let some = list.head() != list.end();
        let todo = if some {
            group.wake(self.id, false, host)
        } else {
            Todo::default()
        };
        Ok(Toggled { flushed: 0, todo })
    }

    /// This CPU serves its callbacks itself from now on.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn deoffload(
        &mut self,
        online: bool,
        tick: u64,
        group: &mut Group,
        global: &mut Global,
        host: &impl Host,
    ) -> Result<Toggled, Refused> {
        self.can_toggle(false, online, group, global)?;
        if host.nohz_full(self.id) {
            return Err(Refused::NoTick);
        }
        let flushed = self.flush_bypass(tick);
        self.offload.lazy = 0;
        self.offloaded = false;
        group.part(self.id);
        // A tick requests grace periods for unstamped callbacks, and assumes that existing stamps are
        // requested.
        let leaf = self.leaf(global).id;
        let gp = self.hurried_needs_gp(global) && global.request(leaf, host);
        let list = self.code_ref();
        let some = list.head() != list.end();
        Ok(Toggled {
            flushed,
            todo: Todo {
                core: some.then_some(self.id),
                gp,
                ..Todo::default()
            },
        })
    }

    fn can_toggle(
        &self,
        to: bool,
        online: bool,
        group: &Group,
        global: &Global,
    ) -> Result<(), Refused> {
        if self.offloaded == to {
            return Err(Refused::Already);
        }
        self.must_be_of(group.id);
        if online && !global.config.offload.online_toggle {
            return Err(Refused::Online);
        }
        if !online && self.owed() != 0 {
            return Err(Refused::NotEmpty);
        }
        Ok(())
    }
}
