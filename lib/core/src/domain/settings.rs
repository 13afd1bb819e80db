//! Settings of one domain: flush times, budget, stall time, the thread that runs callbacks.
//!
//! A running program may change them.

use crate::domain::numbers::Numbers;
use crate::domain::stall::DEFAULT_NS;
use crate::domain::state::State;
use crate::prim::{self, Ordering};
use crate::queue::meter::UNNAMED;
use quiescent_engine::Config;

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
    /// The program runs the callbacks itself, by draining.
    pub drained: bool,
    /// Workers run destructors, not the threads that retire.
    pub workers_run: bool,
    /// The counters of earlier owners of this memory.
    pub before: Numbers,
}

impl Settings {
    /// The settings of the process's domain at its start.
    pub const DEFAULT: Settings = {
        let config = Config::threads();
        Settings {
            name: "",
            place: UNNAMED,
            lazy_ns: config.defer.lazy_ns,
            prompt_ns: config.defer.prompt_ns,
            budget_bytes: config.budget.bytes,
            budget_count: config.budget.count,
            stall_ns: DEFAULT_NS,
            drained: false,
            workers_run: false,
            before: Numbers::ZERO,
        }
    };

    /// The same, for a domain with this number in telemetry.
    pub const fn default_at(place: u32) -> Settings {
        let mut settings = Settings::DEFAULT;
        settings.place = place;
        settings
    }
}

impl Default for Settings {
    fn default() -> Settings {
        Settings::DEFAULT
    }
}

impl Settings {
    /// Passes the settings to an engine. True: the worker, or a sleeping driver, has to check again.
    pub fn apply(&self, state: &'static State) -> bool {
        state
            .drained
            .store(u32::from(self.drained), Ordering::Relaxed);
        state
            .workers_run
            .store(u32::from(self.workers_run), Ordering::Relaxed);
        state.set_place(self.place);
        let mut core = state.lock();
        core.set_flush_times(self.lazy_ns, self.prompt_ns);
        core.set_drained(self.drained);
        let asleep = core.engine.set_stall_ns(self.stall_ns);
        let over = core.engine.set_budget(self.budget_bytes, self.budget_count);
        state.show_level(&core);
        asleep | over
    }
}

impl State {
    /// True if closures go to their owners' own lanes.
    pub fn runs_inline(&self) -> bool {
        self.inline.load(Ordering::Relaxed) != 0
    }

    /// Sets whether owners run their own closures, as they do destructors.
    pub fn set_inline(&self, inline: bool) {
        self.inline.store(u32::from(inline), Ordering::Relaxed);
    }

    /// True if owners run no code of the program: workers do, or the program when it drains.
    pub fn workers_run(&self) -> bool {
        self.workers_run.load(Ordering::Relaxed) != 0 || self.is_drained()
    }

    /// Sets whether workers run destructors. Owners apply it at their next push.
    pub fn set_workers_run(&'static self, workers_run: bool) {
        self.workers_run
            .store(u32::from(workers_run), Ordering::Relaxed);
        self.retime_all();
    }

    /// True if other threads reclaim what owners retire.
    pub fn offloads(&self) -> bool {
        self.offload.load(Ordering::Relaxed) != 0
    }

    /// Sets whether other threads reclaim what owners retire. Owners apply it at their next push.
    pub fn set_offload(&'static self, offload: bool) {
        self.offload.store(u32::from(offload), Ordering::Relaxed);
        for queue in self.queues() {
            let _core = queue.lock();
            queue.ask_soon();
        }
    }

    /// True if the program runs its callbacks itself.
    pub fn is_drained(&self) -> bool {
        self.drained.load(Ordering::Relaxed) != 0
    }

    /// Sets whether the program runs its callbacks itself.
    pub fn set_drained(&'static self, drained: bool) {
        self.drained.store(u32::from(drained), Ordering::Relaxed);
        self.lock().set_drained(drained);
        self.retime_all();
    }

    /// Sets the times until lazy and prompt callbacks are flushed.
    pub fn set_flush_times(&'static self, lazy_ns: u64, prompt_ns: u64) {
        self.lock().set_flush_times(lazy_ns, prompt_ns);
        self.retime_all();
    }

    /// Called after a change of a setting that determines deadlines, or where code runs. Owners apply it at
    /// their next push.
    pub fn retime_all(&'static self) {
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
    }

    /// Sets whether other threads reclaim what this thread retires; `None`: the domain's setting.
    pub fn offload_thread(&'static self, offload: Option<bool>) {
        if let Some(queue) = self.own_queue_or_new() {
            let mut core = queue.lock();
            core.offload = offload;
            queue.ask_soon(); // its next push applies it
        }
    }

    /// Called after a change of settings. `look`: a sleeping driver may have new work, too.
    pub fn settings_changed(&'static self, look: bool) {
        self.retime_all();
        if look {
            self.rouse_driver(false);
        }
        // The budget may be exceeded now, or the worker may have to run callbacks, or a stall may be due
        // earlier.
        let waits = self.interested.load(Ordering::Acquire) != 0 || self.held().0 > 0;
        if waits {
            self.kick_worker();
        }
    }
}
