//! What takes time, and the futex.

use std::time::Duration;

use quiescent_engine::Global;
use quiescent_engine::owner::STEPS_A_HOLD;

use crate::machine::{routine, suspend};
use crate::shared::{Event, tell, try_with, with};
use crate::{AtomicU32, Ordering};

/// How long a doze is: as in the product.
const DOZE_NS: u64 = 50_000;

/// The time of the machine, in nanoseconds.
pub fn now() -> u64 {
    with(|machine| machine.now.get())
}

/// The library's clock.
pub fn now_ns() -> u64 {
    with(|machine| machine.setup.origin + machine.now.get())
}

/// The same as of the last tick.
pub fn coarse_ns() -> u64 {
    let tick = with(|machine| machine.setup.tick_ns);
    let now = now_ns();
    now - now % tick
}

/// The number of the running fiber; none outside of fibers.
pub fn me() -> Option<usize> {
    with(|machine| machine.running.get())
}

/// A fiber that begins after so many nanoseconds; its number.
pub fn spawn(after: u64) -> usize {
    with(|machine| machine.add(machine.now.get() + after, routine()))
}

// Being busy.

/// The fiber has done something that it is to be busy for, later.
pub fn charge(ns: u64) {
    with(|machine| machine.own(|fiber| fiber.debt += ns));
}

/// The fiber is busy for so long, and for its debt.
pub fn busy(ns: u64) {
    with(|machine| {
        let all = machine.own(|fiber| {
            let all = ns + std::mem::take(&mut fiber.debt);
            fiber.busy_ns += all;
            all
        });
        let at = machine.now.get() + all.expect("a fiber runs");
        machine
            .events
            .borrow_mut()
            .put(at, Event::Run(machine.me()));
    });
    suspend();
}

/// The fiber is busy for its debt, if it has any.
pub fn settle() {
    if with(|machine| machine.own(|fiber| fiber.debt > 0)) == Some(true) {
        busy(0);
    }
}

/// Before a lock: a fiber that holds none is busy for its debt, or lets others run if the machine is
/// stepwise.
pub(crate) fn before_lock() {
    let waits = try_with(|machine| {
        let stepwise = machine.setup.stepwise;
        machine.own(|fiber| fiber.holds == 0 && (stepwise || fiber.debt > 0))
    });
    if waits.flatten() == Some(true) {
        busy(0);
    }
}

/// Stops the compiler only: nothing happens here.
pub fn light_fence() {}

/// Every access is seen at once.
pub fn fence(_order: Ordering) {}

/// Takes its price.
///
/// # Errors
/// Never.
pub fn heavy_fence() -> Result<(), i32> {
    busy(with(|machine| machine.setup.prices.fence));
    Ok(())
}

/// Registering is not modelled.
///
/// # Errors
/// Never.
pub fn register_heavy_fence() -> Result<(), i32> {
    Ok(())
}

/// Takes the price of a spin, however long that is on a processor. (Time passes in any case: a caller may
/// spin until some time.)
pub fn spin(_times: u32) {
    busy(with(|machine| machine.setup.prices.spin).max(1));
}

/// Is busy for a moment.
pub fn doze() {
    busy(DOZE_NS);
}

// Sleeping.

/// The fiber sleeps until it is woken, on this address if any, or until this time.
pub(crate) fn sleep(on: Option<usize>, until: Option<u64>) {
    with(|machine| {
        let me = machine.me();
        let round = machine.own(|fiber| {
            (fiber.sleeps, fiber.on) = (true, on);
            fiber.round += 1;
            fiber.round
        });
        if let Some(address) = on {
            let mut sleepers = machine.sleepers.borrow_mut();
            sleepers.entry(address).or_default().push_back(me);
        }
        if let (Some(until), Some(round)) = (until, round) {
            let at = until.max(machine.now.get());
            machine
                .events
                .borrow_mut()
                .put(at, Event::Timeout(me, round));
        }
    });
    suspend();
}

/// The fiber sleeps until this time of the machine, and is woken then.
pub fn sleep_until(until: u64) {
    settle();
    if now() < until {
        sleep(None, Some(until));
    }
}

/// Sleeps while `word` holds `expected`, until [`futex_wake`], or until the time is over.
pub fn futex_wait(word: &AtomicU32, expected: u32, timeout: Option<Duration>) {
    let nanos = |timeout: Duration| u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
    let until = timeout.map(|timeout| now().saturating_add(nanos(timeout)));
    settle();
    if word.load(Ordering::Relaxed) == expected && until.is_none_or(|until| now() < until) {
        sleep(Some(std::ptr::from_ref(word).addr()), until);
    }
}

/// Wakes one sleeper on this address, which is only compared: the one that has slept longest.
pub fn futex_wake(word: *const AtomicU32) {
    wake_first(word.addr());
}

/// Wakes all sleepers on this address.
pub fn futex_wake_all(word: &AtomicU32) {
    while wake_first(std::ptr::from_ref(word).addr()) {}
}

/// Wakes the longest sleeper on an address; false if there is none.
pub(crate) fn wake_first(address: usize) -> bool {
    try_with(|machine| {
        let sleepers = machine.sleepers.borrow();
        let first = sleepers
            .get(&address)
            .and_then(|here| here.front().copied());
        drop(sleepers);
        first.inspect(|&fiber| machine.wake(fiber)).is_some()
    })
    .unwrap_or(false)
}

// What the library tells.

/// A driver is about to make its step number `steps` under one hold of the lock: is that to end first?
pub fn hold_is_over(steps: u32) -> bool {
    let (price, most) = with(|machine| {
        let most = if machine.setup.stepwise {
            1
        } else {
            STEPS_A_HOLD
        };
        (machine.setup.prices.step, most)
    });
    charge(price);
    steps > most
}

/// An owner has taken its queue's lock and the engine's.
pub fn refilled() {
    let price = with(|machine| {
        machine.refills.set(machine.refills.get() + 1);
        machine.setup.prices.help
    });
    charge(price);
}

/// How often owners did.
pub fn refills() -> u64 {
    with(|machine| machine.refills.get())
}

/// A thread has asked so many others for a fence, or has answered.
pub fn asked(threads: usize) {
    charge(with(|machine| machine.setup.prices.ask) * threads as u64);
}

/// The engine has made a step.
pub fn observe_step(engine: &Global) {
    tell(|host| host.stepped(engine));
}

/// An object that was queued as memory is free.
pub fn observe_free(object: usize) {
    tell(|host| host.freed(object));
}

/// An object that was queued as code is to be run.
pub fn observe_run(object: usize) {
    tell(|host| host.run(object));
}

/// The library needs its worker's thread.
pub fn need_worker() {
    tell(|host| host.need_worker());
}
