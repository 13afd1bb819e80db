//! Settings of one domain: flush times, budget, stall time, the thread that runs callbacks.
//!
//! A running program may change them.

use quiescent_engine::Config;

use crate::domain::state::State;
use crate::prim::{self, Ordering, now_ns};
use crate::queue::meter::UNNAMED;

/// The settings of a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The name in reports; empty for none.
    pub name: &'static str,
    /// The number in telemetry; all domains without a name share one.
    pub place: u32,
    /// Longest time until lazy callbacks are flushed, in nanoseconds.
    pub lazy_ns: u64,
    /// The same for prompt callbacks.
    pub prompt_ns: u64,
    /// The budget in bytes.
    pub budget_bytes: u64,
    /// The budget in callbacks and objects.
    pub budget_count: u64,
    /// Time until a stall is reported, in nanoseconds; 0 for never.
    pub stall_ns: u64,
    /// Who runs and frees: bits, as below.
    flags: u32,
}

/// Owners run their own closures, as they do destructors.
pub const INLINE: u32 = 1;
/// The program runs the callbacks itself, by draining.
pub const DRAINED: u32 = 1 << 1;
/// Workers run destructors, not the threads that retire.
pub const WORKERS_RUN: u32 = 1 << 2;
/// Other threads reclaim what owners retire, unless an owner has set it otherwise.
pub const OFFLOAD: u32 = 1 << 3;

impl Settings {
    /// Those of a new domain with this number in telemetry.
    pub const fn new(config: &Config, place: u32) -> Settings {
        Settings {
            name: "",
            place,
            lazy_ns: config.defer.lazy_ns,
            prompt_ns: config.defer.prompt_ns,
            budget_bytes: config.budget.bytes,
            budget_count: config.budget.count,
            stall_ns: config.pace.stall_ns,
            flags: 0,
        }
    }

    pub fn put(&mut self, flag: u32, is_set: bool) {
        self.flags = if is_set {
            self.flags | flag
        } else {
            self.flags & !flag
        };
    }

    /// Passes the settings to a state. True: the worker, or a sleeping driver, has to check again.
    pub fn apply(&self, state: &'static State) -> bool {
        let drained = self.flags & DRAINED != 0;
        state.flags.store(self.flags, Ordering::Relaxed);
        state.set_place(self.place);
        let mut core = state.lock();
        let defer = core.engine.config().defer;
        let before = (defer.lazy_ns, defer.prompt_ns, defer.drained);
        if before != (self.lazy_ns, self.prompt_ns, drained) {
            core.due_from = now_ns(); // what is due by these, and was not
            core.engine.set_flush_times(self.lazy_ns, self.prompt_ns);
            core.engine.set_drained(drained);
        }
        let asleep = core.engine.set_stall_ns(self.stall_ns);
        let over = core.engine.set_budget(self.budget_bytes, self.budget_count);
        state.show_level(&core);
        asleep | over
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings::new(&State::config(), UNNAMED)
    }
}

impl State {
    /// True if one of these is set.
    #[inline]
    pub fn has(&self, flags: u32) -> bool {
        self.flags.load(Ordering::Relaxed) & flags != 0
    }

    /// Sets whether other threads reclaim what this thread retires; `None`: the domain's setting.
    pub fn offload_thread(&'static self, offload: Option<bool>) {
        if let Some(queue) = self.own_queue_or_new() {
            let mut core = queue.lock();
            core.offload = offload;
            queue.ask_soon(); // its next push applies it
        }
    }

    /// Called after a change of settings: moves deadlines; owners apply the rest at their next push. `look`:
    /// a sleeping driver may have new work, too.
    pub fn settings_changed(&'static self, look: bool) {
        let mut earliest: Option<u64> = None;
        for queue in self.queues() {
            let mut core = queue.lock();
            queue.ask_soon();
            let now = prim::now_ns();
            let arm = core.cpu.retime(&mut self.lock().engine, now);
            earliest = arm.or(earliest); // each is earlier than those before
        }
        if let Some(deadline) = earliest {
            self.arm_alarm(deadline);
        }
        if look {
            self.rouse_driver(false);
            if self.held().0 > 0 {
                self.kick_worker(); // the budget may be exceeded now
            }
        }
        self.call_worker_if_interested(); // a stall may be due earlier
    }
}
