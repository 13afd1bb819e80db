//! Forks, while grace periods, callbacks and readers of other threads are in progress. The child checks that
//! the library works in it and has not run its parent's callbacks, and reports by its status.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use quiescent::tuning::set_closures;
use quiescent::{
    Domain, RcuCell, Runner, Srcu, barrier, barrier_async, defer, defer_hurry, defer_lazy,
    grace_period, read_lock, start_grace_period, statistics, synchronize_timeout,
};

use super::{reader, writer};
use crate::book::events::{self, What};
use crate::book::finding::{self, Finding};
use crate::book::hand::Hand;
use crate::book::options::Broken;
use crate::book::periods::{DOMAINS, SRCUS};
use crate::book::waking::block_on;
use crate::book::world::World;

/// The error that the child found, as its status, so a small number; 0 for none.
#[derive(Clone, Copy)]
enum Fault {
    /// Forks are miscounted.
    Forks = 11,
    /// No grace period within the time limit.
    NoGracePeriod,
    /// Its callbacks did not run once each.
    Callbacks,
    /// It ran entries that were queued in the parent.
    Inherited,
    /// A reader in the way was not reported.
    Unreported,
    /// Something is left in a domain that a barrier has emptied.
    Left,
    /// An oracle of the run has found something.
    Finding,
    /// It panicked.
    Panicked,
}

/// Forks until the run is over.
pub fn run(mut hand: Hand) {
    while hand.goes_on() {
        for _ in 0..hand.numbers.below(10) {
            let kind = hand.deferred();
            writer::update_process(&mut hand, kind);
        }
        if fork(&mut hand) {
            hand.acted();
        }
        hand.rest(60);
    }
}

/// Makes one child, and waits for its end. True if it found no error.
fn fork(hand: &mut Hand) -> bool {
    let forks = statistics().forks;
    start_grace_period(); // a grace period is requested, or in flight
    let guard = hand.numbers.once_in(2).then(read_lock);
    // SAFETY: the child uses only functions that the library allows there, and an allocator that works there;
    // it ends with `_exit`.
    let child = unsafe { libc::fork() };
    if child == 0 {
        events::silence();
        drop(guard);
        let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(hand, forks)));
        let status = match checked {
            Ok(Ok(())) => 0,
            Ok(Err(fault)) => fault as i32,
            Err(_) => Fault::Panicked as i32,
        };
        // SAFETY: ends the process; no destructor runs.
        unsafe { libc::_exit(status) };
    }
    drop(guard);
    if child < 0 {
        return false; // no memory, or no room for a process now
    }
    hand.record(What::Fork, None, child as u64);
    let status = wait_for(hand, child);
    hand.record(What::ForkEnd, None, status as u64);
    if status != 0 {
        Finding::ForkedChild.note(None, status as u64);
    }
    status == 0
}

/// The status of the child: its exit code, or 1000 plus the signal that ended it.
fn wait_for(hand: &Hand, child: libc::pid_t) -> i32 {
    let start = Instant::now();
    let mut status = 0;
    loop {
        // SAFETY: a child of ours that has not been waited for, and a place for its status.
        let ended = unsafe { libc::waitpid(child, &mut status, libc::WNOHANG) };
        match ended {
            0 if start.elapsed() > hand.world.options.patience => {
                // SAFETY: as above. The child does not end by itself: the status will show that.
                unsafe { libc::kill(child, libc::SIGKILL) };
            }
            0 => {}
            _ if libc::WIFSIGNALED(status) => return 1000 + libc::WTERMSIG(status),
            _ => return libc::WEXITSTATUS(status),
        }
        thread::sleep(Duration::from_millis(1));
        hand.beat();
    }
}

/// Callbacks and destructors that have run.
fn code_done(world: &World) -> u64 {
    world.done(|kind| !kind.plain())
}

/// The program's own domains: no other reader is inside, and they work.
fn check_domains(hand: &mut Hand, ran: &'static AtomicU64) -> Result<(), Fault> {
    let patience = hand.world.options.patience;
    ran.store(0, Ordering::Relaxed);
    let fresh = Domain::new();
    for domain in DOMAINS.iter().chain([&fresh]) {
        domain.set_closures(Runner::Worker);
        drop(domain.read_lock());
        if domain.synchronize_timeout(patience).is_err() {
            return Err(Fault::NoGracePeriod);
        }
        domain.defer_hurry(|| _ = ran.fetch_add(1, Ordering::Relaxed));
        domain.barrier();
    }
    match ran.load(Ordering::Relaxed) == DOMAINS.len() as u64 + 1 {
        true => Ok(()),
        false => Err(Fault::Callbacks),
    }
}

/// The program's own `Srcu`s: sections of guards that cannot leave their threads have ended, the others are
/// forgotten, and they work.
fn check_srcus(patience: Duration) -> Result<(), Fault> {
    for srcu in &SRCUS {
        // SAFETY: the child has one thread, which makes no such guard of these `Srcu`s, and uses none that
        // others have made.
        unsafe { srcu.forget_sent_sections() };
        drop(srcu.read_lock());
        if srcu.synchronize_timeout(patience).is_err() {
            return Err(Fault::NoGracePeriod);
        }
    }
    Ok(())
}

/// Tasks that sleep until a worker of the child wakes them: no other thread polls there.
fn check_tasks(hand: &Hand) {
    let bell = &hand.place.bell;
    block_on(bell, grace_period());
    block_on(bell, barrier_async());
    let srcu = Srcu::new();
    let (mut guard, mut waits) = (Some(srcu.read_lock_send()), srcu.grace_period());
    let ends_after_the_first_poll = poll_fn(|context| {
        let polled = Pin::new(&mut waits).poll(context);
        guard.take();
        polled
    });
    block_on(bell, ends_after_the_first_poll);
    block_on(bell, srcu.barrier_async());
}

/// A section in the way of its own thread's grace periods is reported. (Its guard may be sent, so an `Srcu`
/// permits it.)
fn check_reports(hand: &mut Hand) -> Result<(), Fault> {
    let world = hand.world;
    let (start, before) = (Instant::now(), world.stalls.load(Ordering::Relaxed));
    let srcu = Srcu::new();
    let stall = world.options.library.stall_after;
    let stall = stall.unwrap_or(Duration::from_millis(20));
    srcu.set_stall_after(stall);
    let _guard = srcu.read_lock_send();
    while world.stalls.load(Ordering::Relaxed) == before {
        if srcu.synchronize_timeout(2 * stall).is_ok() {
            return Err(Fault::NoGracePeriod);
        }
        if start.elapsed() > world.options.patience {
            return Err(Fault::Unreported);
        }
        hand.beat();
    }
    Ok(())
}

/// Past a budget of its own, a domain still frees everything.
fn check_limits() -> Result<(), Fault> {
    let domain = Domain::new();
    domain.set_budget(4 << 10, 16);
    let cell = RcuCell::new_in([0u8; 200], &domain);
    for round in 0..100 {
        drop(cell.store([round; 200]));
    }
    domain.barrier();
    match domain.statistics().queued {
        0 => Ok(()),
        _ => Err(Fault::Left),
    }
}

/// Runs in the child.
fn check(hand: &mut Hand, forks: u64) -> Result<(), Fault> {
    let before = code_done(hand.world);
    if statistics().forks != forks + 1 {
        return Err(Fault::Forks);
    }
    // In the parent another thread may run callbacks in place of the worker; in the child there is none.
    set_closures(Runner::Worker);
    reader::glance(hand.world, &mut hand.numbers);
    if synchronize_timeout(hand.world.options.patience).is_err() {
        return Err(Fault::NoGracePeriod);
    }
    let ran: &'static AtomicU64 = Box::leak(Box::default());
    for number in 0..9 {
        let run = move || _ = ran.fetch_add(1, Ordering::Relaxed);
        match number % 3 {
            0 => defer(run),
            1 => defer_lazy(run),
            _ => defer_hurry(run),
        }
    }
    if hand.world.is_broken(Broken::ChildTwice) {
        ran.fetch_add(1, Ordering::Relaxed);
    }
    barrier();
    if ran.load(Ordering::Relaxed) != 9 {
        return Err(Fault::Callbacks);
    }
    check_tasks(hand);
    check_srcus(hand.world.options.patience)?;
    check_limits()?;
    if hand.world.options.cast.has_domains() {
        check_domains(hand, ran)?;
        check_reports(hand)?;
    }
    let inherits = hand.world.options.library.inherit_callbacks;
    if code_done(hand.world) != before && !inherits {
        return Err(Fault::Inherited);
    }
    match finding::any() {
        true => Err(Fault::Finding),
        false => Ok(()),
    }
}
