//! A place with grace periods and callbacks of its own, apart from the process's: what an [`Srcu`](crate::Srcu) stands on, and what a
//! [`Domain`](crate::Domain) has while something goes on in it.
//!
//! The engine, the driver's loop, the queue and the cookies are the process's, compiled over other readers ([`Driven`]): an `Srcu`'s
//! counts, or a domain's spots ([`readers`]). What is a yard's own is who looks after its callbacks: one thread for all yards, the *caretaker* ([`care`](crate::inner::domain::yard::care)), which never
//! waits for a reader of one yard, so that no yard waits for another one's.
//!
//! # Lives
//! A yard lives for ever, and may have one owner after the other: one whose owner has gone and which holds nothing any more is
//! given to the next who asks. (Those of domains go to whoever needs one for a while: [`grounds`](crate::inner::domain::grounds).) So a guard, a cookie or a callback of a yard never leads to memory that is gone. One with a section
//! that nobody ends (a guard was forgotten) is given to nobody.

use std::sync::PoisonError;
use std::time::Duration;

use quiescent_engine::barrier::Barrier;
use quiescent_engine::stall::Stalled;
use quiescent_engine::{Config, CpuId, FullCookie, Global, Pace, Seq};

use crate::error::SyncError;
use crate::inner::defer::barrier::Gate;
use crate::inner::defer::run;
use crate::inner::defer::tasks::Tasks;
use crate::inner::domain::counters::Counters;
use crate::inner::domain::grounds::Grounds;
use crate::inner::domain::policy::Policy;
use crate::inner::domain::process::{Core, SLEEPER_NOBODY};
use crate::inner::gp::calls::Part;
use crate::inner::gp::driven::Driven;
use crate::inner::gp::driver::{Drives as _, How};
use crate::inner::gp::waiters::WaitList;
use crate::inner::gp::waiting::Waits as _;
use crate::inner::prim::teller::Teller;
use crate::inner::prim::{
    self, AtomicPtr, AtomicU32, AtomicU64, Mutex, MutexGuard, Ordering, const_new, full_fence,
};
use crate::inner::queue::per_thread::Queue;
use crate::inner::reader::counted::Counted;
use crate::report::{self, Report};
use crate::statistics::Holdout;
use crate::watch::stall::{StallReport, StalledReader};
#[cfg(not(quiescent_model))]
use crate::watch::telemetry;

pub(crate) mod care;
mod deliver;
pub(crate) mod lent;
mod readers;
pub(crate) mod rounds;

/// One handle leads to it. So many more, so many handles.
const OWNED: u32 = 1;
/// None does any more.
const LEFT: u32 = 0;

/// Readers that are named, at most.
const MOST_NAMED: usize = 64;

/// A yard.
#[derive(Debug)]
pub(crate) struct Yard {
    pub(crate) readers: Counted,
    core: Mutex<Core>,
    sleeper: AtomicU32,
    root_seq: AtomicU64,
    pub(crate) counters: Counters,
    /// What waits for its grace periods. Nobody owns it: everybody queues under the lock.
    pub(crate) queue: Queue,
    /// The caretaker wants to know when a grace period may go on. `[CT-1]`
    interested: AtomicU32,
    /// It is to look here, whatever the time.
    called: AtomicU32,
    /// It is to look here at this time in any case; never, if 0.
    look_at: AtomicU64,
    barrier_word: AtomicU32,
    /// Tasks that wait for its barrier.
    pub(crate) wakers: Tasks,
    /// Somebody reports a stall.
    telling: Teller,
    state: AtomicU32,
    /// The domain that has it.
    grounds: AtomicPtr<Grounds>,
    /// Its readers are a domain's.
    has_spots: bool,
    /// The program runs its code itself, when it drains.
    drained: AtomicU32,
    /// The program is to be told that the budget is passed.
    untold: AtomicU32,
    /// The yard made before this one.
    made_before: AtomicPtr<Yard>,
    /// The next of those that no domain has.
    next_spare: AtomicPtr<Yard>,
    #[cfg(not(quiescent_model))]
    pub(crate) tasks: Tasks<FullCookie>,
    /// Its lock, while this process forks.
    #[cfg(not(quiescent_model))]
    pub(crate) parked: crate::global::fork::Parked<Core>,
}

// Guards, cells and cookies lead here, and may be used after a panic: locks are taken whatever has become of who had them, and no code of
// the program's runs under them.
impl std::panic::RefUnwindSafe for Yard {}

/// The yard made last.
#[cfg(not(quiescent_model))]
static NEWEST: AtomicPtr<Yard> = AtomicPtr::new(std::ptr::null_mut());

/// Yards are made, and given to somebody, by one at a time. A fork takes it.
#[cfg(not(quiescent_model))]
static MAKING: Mutex<()> = Mutex::new(());

/// Nobody makes a yard meanwhile.
#[cfg(not(quiescent_model))]
pub(crate) fn making() -> MutexGuard<'static, ()> {
    MAKING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// All there are.
#[cfg(not(quiescent_model))]
pub(crate) fn yards() -> impl Iterator<Item = &'static Yard> {
    // SAFETY: null, or a yard, and those live for ever.
    let at = |place: &AtomicPtr<Yard>| unsafe { place.load(Ordering::Acquire).as_ref() };
    std::iter::successors(at(&NEWEST), move |yard: &&'static Yard| {
        at(&yard.made_before)
    })
}

/// The locks of all yards. The first goes first: no memory is freed under it.
#[cfg(not(quiescent_model))]
pub(crate) struct AllQuiet {
    _making: MutexGuard<'static, ()>,
    _cores: Vec<MutexGuard<'static, Core>>,
}

/// As long as this lives, no grace period begins in a yard, and no yard is made. None: somebody drives or wants one in a yard.
#[cfg(not(quiescent_model))]
pub(crate) fn all_quiet() -> Option<AllQuiet> {
    let mut cores = Vec::new();
    loop {
        let making = making();
        let count = yards().count();
        if count <= cores.capacity() {
            cores.extend(yards().map(Yard::lock));
            let is_quiet =
                |core: &MutexGuard<Core>| !core.engine.busy() && !core.engine.is_driven();
            return cores.iter().all(is_quiet).then_some(AllQuiet {
                _making: making,
                _cores: cores,
            });
        }
        drop(making); // no memory is allocated under it
        cores.reserve(count);
    }
}

impl Yard {
    const_new! {
        pub(crate) fn with_config(config: Config) -> Yard {
            let has_spots = matches!(config.readers, quiescent_engine::Readers::Cpus);
            Yard {
                readers: Counted::new(),
                core: Mutex::new(Core {
                    engine: Part::new(Global::new(config)),
                    waiters: WaitList::new(),
                    barrier: Part::new(Barrier::new()),
                    gate: Gate::new(),
                }),
                sleeper: AtomicU32::new(SLEEPER_NOBODY),
                root_seq: AtomicU64::new(Seq::INITIAL.to_bits()),
                counters: Counters::new(),
                queue: Queue::new(0, std::ptr::null_mut()),
                interested: AtomicU32::new(0),
                called: AtomicU32::new(0),
                look_at: AtomicU64::new(0),
                barrier_word: AtomicU32::new(0),
                wakers: Tasks::new(),
                telling: Teller::new(),
                state: AtomicU32::new(OWNED),
                grounds: AtomicPtr::new(std::ptr::null_mut()),
                has_spots,
                drained: AtomicU32::new(0),
                untold: AtomicU32::new(0),
                made_before: AtomicPtr::new(std::ptr::null_mut()),
                next_spare: AtomicPtr::new(std::ptr::null_mut()),
                #[cfg(not(quiescent_model))]
                tasks: Tasks::new(),
                #[cfg(not(quiescent_model))]
                parked: crate::global::fork::Parked::new(),
            }
        }
    }

    /// The policy.
    pub(crate) const fn config() -> Config {
        let mut config = Config::sleepable();
        if let Pace::Direct { stall_ns, .. } = &mut config.pace {
            *stall_ns = crate::watch::stall::DEFAULT_NS;
        }
        config
    }

    /// A yard for a new owner: one that nobody has any more, or a new one.
    #[cfg(not(quiescent_model))]
    pub(crate) fn found() -> &'static Yard {
        prim::domain().resolve_mode();
        let free = |yard: &&Yard| yard.state.load(Ordering::Acquire) == LEFT && yard.is_at_rest();
        let taken = making();
        if let Some(yard) = yards().find(free) {
            yard.state.store(OWNED, Ordering::Release);
            return yard;
        }
        drop(taken); // no memory is allocated under it
        Yard::made(Yard::config())
    }

    #[cfg(not(quiescent_model))]
    fn made(config: Config) -> &'static Yard {
        let yard = Box::leak(Box::new(Yard::with_config(config)));
        let _one_at_a_time = making();
        if !yard.has_spots {
            let place = telemetry::SRCUS + yards().filter(|it| !it.has_spots).count() as u32;
            yard.queue.lock().told.set_place(place);
        }
        yard.made_before
            .store(NEWEST.load(Ordering::Relaxed), Ordering::Relaxed);
        NEWEST.store(yard, Ordering::Release);
        yard
    }

    /// One handle more.
    pub(crate) fn retain(&self) {
        self.state.fetch_add(1, Ordering::Relaxed);
    }

    /// One handle less; after the last one the next owner may have it.
    pub(crate) fn drop_handle(&'static self) {
        if super::is_last(&self.state) {
            self.change_policy(|policy| *policy = Policy::of_config(&Yard::config())); // the next one begins anew; nobody is left who could drain
            self.abandon();
        }
    }

    /// The owner has gone. What is queued is looked after.
    pub(crate) fn abandon(&self) {
        self.state.store(LEFT, Ordering::Release);
    }

    /// Is nothing held, and nobody inside? (A grace period that was asked for and never waited for is nobody's; who waits next takes
    /// it along.)
    fn is_at_rest(&self) -> bool {
        if !self.queue.lock().cpu.is_empty() {
            return false; // as a rule, while something goes on: no other lock is taken
        }
        #[cfg(not(quiescent_model))]
        if !self.tasks.is_empty() || !self.wakers.is_empty() {
            return false;
        }
        let core = self.lock();
        let busy = core.engine.is_driven() || core.barrier.in_flight();
        drop(core);
        !busy && !self.readers.is_inside()
    }

    /// A section has ended, and a driver waits for its count: it is woken if that was the last one.
    #[cold]
    #[inline(never)]
    pub(crate) fn may_be_empty(&self, which: usize) {
        full_fence(); // of two that are the last ones, one sees both
        if !self.readers.is_empty(which) {
            return; // whoever ends its section later sees the flag
        }
        self.readers.unflag(which);
        self.rouse_driver(true);
        self.tell_caretaker();
    }

    /// See [`set_stall_after`](crate::Srcu::set_stall_after).
    pub(crate) fn set_stall_time(&self, time: Duration) {
        crate::watch::stall::set_time(self, time);
        self.tell_caretaker(); // it, too, looks at another time now
    }

    /// Waits for a full grace period.
    pub(crate) fn wait_for_gp(&'static self, how: How) -> Result<(), SyncError> {
        let result = self.synchronize(how);
        self.tell_caretaker(); // what it waits for may wait for a driver now
        result
    }

    /// As [`poll`](crate::inner::gp::driver::Drives::poll).
    pub(crate) fn poll_gp(&'static self, cookie: FullCookie) -> Result<bool, SyncError> {
        let done = self.poll(cookie);
        self.tell_caretaker();
        done
    }

    /// Has the caretaker look, if it waits for a grace period here. `[CT-1]`
    pub(crate) fn tell_caretaker(&self) {
        if self.interested.load(Ordering::Acquire) != 0 {
            self.call();
        }
    }

    /// Has the caretaker look here. (There is one.)
    pub(crate) fn call(&self) {
        self.called.store(1, Ordering::Release); // before the swap of [ALM-1]
        care::alarm().kick();
    }

    /// The threads on which sections of this count were begun that have not ended, as far as one look can tell.
    fn begun_on(&self, which: usize) -> Vec<Holdout> {
        let domain = prim::domain();
        let thread = |number: Option<u32>| {
            let slot = number.and_then(|number| domain.slots.slot(number));
            slot.map_or(0, |slot| slot.thread())
        };
        let begun = self.readers.begun_on(which).take(MOST_NAMED);
        begun
            .map(|(number, open)| Holdout::new(thread(number), open as u32))
            .collect()
    }
}

impl Driven for Yard {
    type Readers = Yard;

    fn readers(&self) -> &Yard {
        self
    }

    fn lock(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn try_lock(&self) -> Option<MutexGuard<'_, Core>> {
        self.core.try_lock().ok()
    }

    fn sleeper(&self) -> &AtomicU32 {
        &self.sleeper
    }

    fn root_seq(&self) -> &AtomicU64 {
        &self.root_seq
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn heavy_fence(&self) -> Result<(), i32> {
        prim::domain().heavy_fence() // readers are threads of the process like any others
    }

    fn own_cpu(&self) -> Option<CpuId> {
        let spot = self.grounds()?.own_spot()?;
        Some(spot.cpu())
    }

    fn is_inside(&self) -> bool {
        self.grounds().is_some_and(Grounds::is_inside)
    }

    fn gp_ended(&self) {
        self.tell_caretaker();
    }

    fn stall_report(&'static self, stalled: Stalled) -> Option<StallReport> {
        if !report::is_heard() {
            return None;
        }
        let age = Duration::from_nanos(stalled.now_ns.saturating_sub(stalled.since_ns));
        let readers = self.holdouts().into_iter();
        let readers = readers.map(|holdout| StalledReader::begun_on(holdout, age));
        let readers: Vec<_> = readers.collect();
        let (queued, queued_bytes) = self.held();
        let before = |grounds: &'static Grounds| grounds.ended_before(stalled.grace_period);
        Some(StallReport {
            domain: self.domain_name(),
            grace_period: self.grounds().map_or(stalled.grace_period, before),
            report: stalled.nth,
            age,
            readers,
            more: 0,
            queued,
            queued_bytes,
        })
    }

    fn tell_stall(&'static self, stall: Option<StallReport>) {
        let Some(stall) = stall else { return };
        if !self.telling.begin() {
            return;
        }
        let report = || report::report(Report::Stalled(stall));
        match run::in_callback() {
            true => report(), // it polls, and is marked already
            false => run::marked(report),
        }
        self.telling.end();
    }

    fn holdouts(&self) -> Vec<Holdout> {
        if let Some(grounds) = self.grounds() {
            return self.holdouts_at(grounds);
        }
        let which = self.lock().engine.holdouts().next();
        which.map_or(Vec::new(), |which| self.begun_on(which as usize))
    }
}

/// In the child of a fork, under the locks that *prepare* took: nobody drives, waits or looks after it.
#[cfg(not(quiescent_model))]
impl Yard {
    pub(crate) fn forked(
        &'static self,
        core: &mut crate::inner::queue::per_thread::Core,
        global: &mut Core,
        run_code: bool,
    ) {
        let queued = self.queue.forked(core, run_code);
        let now = prim::coarse_ns();
        global.forked_cpu(&mut core.cpu, &queued, run_code, now);
        global.forked();
        self.counters.forked();
        self.sleeper.store(SLEEPER_NOBODY, Ordering::Relaxed);
        self.interested.store(0, Ordering::Relaxed);
        self.called.store(0, Ordering::Relaxed);
        self.look_at.store(0, Ordering::Relaxed);
        self.telling.end();
    }
}
