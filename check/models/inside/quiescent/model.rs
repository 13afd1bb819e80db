//! The singletons of one execution of a model.
//!
//! A scenario of the library's own makes them, and its threads enter; some take the roles of the workers. In
//! the model of a program, whose threads just use the library, the first one that does makes them for all
//! ([`alone`](Process::alone)): there is no worker then, and who calls a barrier does its work.

#[cfg(not(quiescent_explorer))]
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use quiescent_engine::{Config, Pace};

use crate::watch::report::{self, Report};
use quiescent_core::domain::env::{Env, Zeros};
use quiescent_core::domain::host::{Host, StallReporter};
use quiescent_core::domain::life::Domain;
use quiescent_core::domain::settings::Settings;
use quiescent_core::domain::state::State;
use quiescent_core::prim::{
    self, AtomicU32, Ordering, futex_wait, futex_wake, keep, tls_get, tls_set, witness,
};
use quiescent_core::queue::meter::uncounted;
use quiescent_core::reader::counted::Counted;
use quiescent_core::reader::local::{Here, Local};
use quiescent_core::reader::records::ReaderRecords;
use quiescent_core::reader::registration::Keeper;
use quiescent_core::reader::set::DomainReaders;

/// A model thread's cell with the address of the process it works in.
const CELL_PROCESS: usize = 0;
/// A cell with the address of the thread's local state.
const CELL_LOCAL: usize = 1;

/// The singletons of one execution.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) env: Env,
    zeros: Zeros,
    /// Calls of the overflow worker.
    calls: AtomicU32,
    /// No thread of the model takes the role of the worker.
    #[cfg(not(quiescent_explorer))]
    alone: AtomicBool,
}

/// The policy of a model's domains, with the fewest spins.
pub(crate) fn config() -> Config {
    let mut config = Config::threads();
    config.leaf = prim::LEAF_SLOTS as u32;
    config.pace = Pace {
        spin: 1,
        spins_before_flag: 0,
        spins_after_flag: 0,
        expedited_factor: 1,
        stall_ns: u64::MAX,
    };
    config.takeover_after_ns = u64::MAX; // where no scenario is about that: time-outs are choices
    config.defer.growth = 1; // what is queued decides where a batch ends, not the clock
    config
}

impl Process {
    /// Makes them for this execution.
    pub(crate) fn make(config: Config) -> &'static Process {
        #[cfg(not(quiescent_explorer))]
        prim::begin();
        witness::forget();
        stalls::forget();
        #[cfg(not(quiescent_explorer))]
        return prim::on_large_stack(|| Process::make_here(config));
        #[cfg(quiescent_explorer)]
        Process::make_here(config)
    }

    fn make_here(config: Config) -> &'static Process {
        let place = Box::leak(Box::<Process>::new_uninit());
        let process = place.as_mut_ptr();
        // SAFETY: made here, at the place that `new` gets, and kept until no thread of the execution is left.
        // Built part by part, because the stacks of model threads are small.
        unsafe {
            let env = &raw mut (*process).env;
            (&raw mut (*process).zeros).write(Zeros::new());
            env.write(Env::new(
                env,
                config,
                &*process,
                uncounted,
                &(*process).zeros,
            ));
            (&raw mut (*process).calls).write(AtomicU32::new(0));
            #[cfg(not(quiescent_explorer))]
            (&raw mut (*process).alone).write(AtomicBool::new(false));
            keep(Box::from_raw(process))
        }
    }

    /// Makes the calling model thread work here.
    pub(crate) fn enter(&'static self) {
        // SAFETY: they live as long as the execution.
        let local = unsafe { Local::new(&raw const self.env.threads, &raw const self.env.common) };
        let local: &'static Local = keep(Box::new(local));
        tls_set(CELL_LOCAL, std::ptr::from_ref(local).expose_provenance());
        tls_set(CELL_PROCESS, std::ptr::from_ref(self).expose_provenance());
    }

    /// The calling model thread, which has not entered, works in the process that all such threads share.
    #[cold]
    fn enter_unasked() {
        #[cfg(quiescent_explorer)]
        panic!("a model thread starts with Model::enter");
        #[cfg(not(quiescent_explorer))]
        {
            let process = prim::of_execution(|| {
                let process = Process::make(config());
                process.alone.store(true, Relaxed);
                std::ptr::from_ref(process).expose_provenance()
            });
            // SAFETY: made in this execution, and kept until its end.
            let process: &Process = unsafe { &*std::ptr::with_exposed_provenance(process) };
            process.enter();
        }
    }

    /// A domain of the program with this policy, whose readers are counted or have records.
    pub(crate) fn domain(
        &'static self,
        number: u32,
        counted: bool,
        mut config: Config,
    ) -> &'static Domain {
        let readers = if counted {
            config.readers = quiescent_engine::Readers::Indexed;
            DomainReaders::Counted(Counted::new())
        } else {
            DomainReaders::Records(ReaderRecords::new())
        };
        let settings = Settings::new(&config, 0);
        // SAFETY: it lives as long as the execution.
        let domain = unsafe { Domain::new(number, readers, settings, &self.env) };
        let domain: &'static Domain = keep(Box::new(domain));
        domain.set_state(config);
        self.env.registry.domains.add(domain);
        domain
    }

    /// Sleeps until the overflow worker was called more than `calls` times; returns the number of calls.
    pub(crate) fn sleep_as_overflow(&self, calls: u32) -> u32 {
        loop {
            let now = self.calls.load(Ordering::Acquire);
            if now != calls {
                return now;
            }
            futex_wait(&self.calls, calls, None);
        }
    }
}

/// The process that the calling model thread works in.
pub(crate) fn process() -> &'static Process {
    // SAFETY: only `enter` writes the cell, from a 'static reference.
    unsafe { &*std::ptr::with_exposed_provenance(cell(CELL_PROCESS)) }
}

/// A cell of the calling model thread, which has entered then.
fn cell(index: usize) -> usize {
    if tls_get(index) == 0 {
        Process::enter_unasked();
    }
    tls_get(index)
}

/// A domain of the program that is used for the first time.
pub(crate) fn found(counted: bool) -> &'static Domain {
    let process = process();
    let number = 1 + (process.env.registry.made).fetch_add(1, Ordering::Relaxed) as u32;
    process.domain(number, counted, config())
}

/// The environment that all domains share.
pub(crate) fn env() -> &'static Env {
    &process().env
}

/// The state of the process's domain.
pub(crate) fn home() -> &'static State {
    &env().state
}

fn own() -> &'static Local {
    // SAFETY: only `enter` writes the cell, from a 'static reference.
    unsafe { &*std::ptr::with_exposed_provenance(cell(CELL_LOCAL)) }
}

/// The calling thread's local state.
pub(crate) fn with_local<R>(f: impl FnOnce(&Local) -> R) -> R {
    f(own())
}

/// The same, as a value that can be kept.
pub(crate) fn local() -> Here {
    // SAFETY: the calling model thread's.
    unsafe { Here::new(own()) }
}

// SAFETY: each model thread has its own, made with these threads.
unsafe impl Keeper for Process {
    fn local(&self) -> Here {
        local()
    }
}

impl Host for Process {
    #[cfg(not(quiescent_explorer))]
    fn start_worker(&self) -> bool {
        !self.alone.load(Relaxed)
    }

    #[cfg(not(quiescent_explorer))]
    fn can_hire(&self) -> bool {
        self.start_worker()
    }

    fn call_overflow(&self, _state: &'static State) {
        self.calls.fetch_add(1, Ordering::Release);
        futex_wake(&self.calls);
    }

    fn stalls(&self) -> Option<&'static StallReporter> {
        (stalls::begins() || report::stalls().is_some()).then_some(&stalls::REPORTER)
    }

    fn tell(&self, event: Report) {
        if let Report::Panicked { .. } = event {
            report::report(&self.env, &event);
        }
    }

    fn ready(&self) {
        report::ready(&self.env);
    }
}

/// Stall reports, for the scenario.
pub(crate) mod stalls {
    use std::cell::Cell;

    use quiescent_core::domain::host::StallReporter;
    use quiescent_core::domain::report::StallReport;

    pub(super) static REPORTER: StallReporter = |state, stalled| {
        if let (Some((_, made)), Some(stalled)) = (OBSERVER.get(), stalled) {
            made(&state.stall_report(stalled));
        }
    };

    type Observer = (fn(), fn(&StallReport));

    thread_local! {
        /// Model threads are fibers on one OS thread.
        static OBSERVER: Cell<Option<Observer>> = const { Cell::new(None) };
    }

    /// Until the next domain is created, stalls are reported to the scenario: `begun` is called before the
    /// blocking readers are read, `made` with the report.
    pub fn observe(begun: fn(), made: fn(&StallReport)) {
        OBSERVER.set(Some((begun, made)));
    }

    pub(crate) fn forget() {
        OBSERVER.set(None);
    }

    /// A report begins; false if there is no observer.
    pub(super) fn begins() -> bool {
        let observer = OBSERVER.get();
        observer.inspect(|(begun, _)| begun()).is_some()
    }
}

/// The lock between writers; a model does not fork.
pub(crate) mod write_lock {
    use std::sync::PoisonError;

    use quiescent_core::const_new;
    use quiescent_core::prim::{Mutex, MutexGuard};

    #[derive(Debug)]
    pub(crate) struct WriteLock(Mutex<()>);

    pub(crate) type Taken<'a> = MutexGuard<'a, ()>;

    impl WriteLock {
        const_new! {
            pub(crate) fn new() -> WriteLock {
                WriteLock(Mutex::new(()))
            }
        }

        pub(crate) fn take(&self, _call: &str) -> Taken<'_> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }
}
