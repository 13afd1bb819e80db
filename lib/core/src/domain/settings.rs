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
    /// Owners run their own closures, as they do destructors.
    pub inline: bool,
    /// The program runs the callbacks itself, by draining.
    pub drained: bool,
    /// Workers run destructors, not the threads that retire.
    pub workers_run: bool,
    /// Other threads reclaim what owners retire.
    pub offload: bool,
}

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
            inline: false,
            drained: false,
            workers_run: false,
            offload: false,
        }
    }

    /// Passes the settings to a state. True: the worker, or a sleeping driver, has to check again.
    pub fn apply(&self, state: &'static State) -> bool {
        for (word, is_set) in [
            (&state.inline, self.inline),
            (&state.drained, self.drained),
            (&state.workers_run, self.workers_run),
            (&state.offload, self.offload),
        ] {
            word.store(u32::from(is_set), Ordering::Relaxed);
        }
        state.set_place(self.place);
        let mut core = state.lock();
        let defer = core.engine.config().defer;
        let before = (defer.lazy_ns, defer.prompt_ns, defer.drained);
        if before != (self.lazy_ns, self.prompt_ns, self.drained) {
            core.due_from = now_ns(); // what is due by these, and was not
            core.engine.set_flush_times(self.lazy_ns, self.prompt_ns);
            core.engine.set_drained(self.drained);
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
    /// True if closures go to their owners' own lanes.
    pub fn runs_inline(&self) -> bool {
        self.inline.load(Ordering::Relaxed) != 0
    }

    /// True if owners run no code of the program: workers do, or the program when it drains.
    pub fn workers_run(&self) -> bool {
        self.workers_run.load(Ordering::Relaxed) != 0 || self.is_drained()
    }

    /// True if other threads reclaim what owners retire.
    pub fn offloads(&self) -> bool {
        self.offload.load(Ordering::Relaxed) != 0
    }

    /// True if the program runs its callbacks itself.
    pub fn is_drained(&self) -> bool {
        self.drained.load(Ordering::Relaxed) != 0
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
        }
        // The budget may be exceeded now, or the worker may have to run callbacks, or a stall may be due
        // earlier.
        if self.interested.load(Ordering::Acquire) != 0 || self.held().0 > 0 {
            self.kick_worker();
        }
    }
}
