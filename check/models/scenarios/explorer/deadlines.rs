//! Deadlines against a worker that goes to sleep: `prim/alarm.rs`. The timer expires between any two steps of
//! arming it, kicking, following what is left, and sleeping. A time that was lost leaves the worker asleep
//! for ever: the clock does not advance to the later one.

use std::rc::Rc;

use crate::common::{check, join_all};
use quiescent_models::explorer::Ordering::{AcqRel, Release};
use quiescent_models::explorer::{
    AtomicU32, JoinHandle, Mutex, allow_timer, branching, now_ns, pass_time, spawn,
};
use quiescent_on_explorer::check::Model as Domain;

/// The time that comes: later than the clock's own readings.
const SOON: u64 = 1_000_000_000;
/// The time that does not.
const LATER: u64 = 10 * SOON;

/// Two queues with deadlines, as the engine keeps them, and a call.
struct Queues {
    domain: Domain,
    /// 0: nothing is queued.
    armed: Mutex<[u64; 2]>,
    called: AtomicU32,
}

impl Queues {
    fn new() -> Rc<Queues> {
        branching(false);
        allow_timer();
        let queues = Queues {
            domain: Domain::new(),
            armed: Mutex::new([0; 2]),
            called: AtomicU32::new(0),
        };
        Rc::new(queues)
    }

    fn thread(self: &Rc<Queues>, body: impl FnOnce(&Queues) + 'static) -> JoinHandle<()> {
        let queues = self.clone();
        spawn(move || body(&queues))
    }

    /// The first item of a queue, as in `enqueue::arm_and_kick`.
    fn queue(&self, queue: usize, deadline: u64) {
        self.armed.lock().expect("no panic")[queue] = deadline;
        self.domain.arm(deadline);
    }

    fn call(&self) {
        self.called.store(1, Release);
        self.domain.kick();
    }

    /// As `Env::set_alarm`.
    fn follow(&self) {
        self.domain.follow(|| {
            let armed = self.armed.lock().expect("no panic");
            armed.iter().copied().filter(|&at| at != 0).min()
        });
    }

    /// The worker's loop, as in `Env::serve`, until the first queue has run and it was called so often.
    fn serve(&self, calls: u32) {
        let (mut ran, mut seen) = (false, 0);
        loop {
            seen += self.called.swap(0, AcqRel);
            let now = now_ns();
            let mut armed = self.armed.lock().expect("no panic");
            if (1..=now).contains(&armed[0]) {
                armed[0] = 0;
                ran = true;
            }
            drop(armed);
            if ran && seen >= calls {
                return;
            }
            self.follow();
            self.domain.sleep();
        }
    }
}

/// A thread queues what is due soon, and does `rest`, beside `others`, the clock, and the worker, which is
/// called so often.
fn soon<const N: usize>(
    name: &str,
    preemptions: u32,
    calls: u32,
    others: [fn(&Queues); N],
    rest: fn(&Queues),
) {
    check(name, preemptions, 1, move || {
        let queues = Queues::new();
        let worker = queues.thread(move |queues| queues.serve(calls));
        let others = others.map(|body| queues.thread(body));
        let clock = spawn(|| pass_time(SOON));
        branching(true);
        queues.queue(0, SOON);
        rest(&queues);
        worker.join();
        join_all(others);
        clock.join();
    });
}

/// One thread queues in two domains.
#[test]
fn a_later_one_leaves_a_time_that_has_come() {
    soon("deadlines", 4, 0, [], |queues| queues.queue(1, LATER));
}

/// Two threads queue at the same time.
#[test]
fn a_later_one_of_another_thread_leaves_a_time_that_has_come() {
    let later: fn(&Queues) = |queues| queues.queue(1, LATER);
    soon("deadlines of two", 2, 0, [later], |_| ());
}

/// A thread that has drained its domain sets the timer to what is left, as the worker does.
#[test]
fn a_thread_that_drains_leaves_a_time_that_has_come() {
    soon("deadlines and a drain", 2, 0, [Queues::follow], |_| ());
}

/// A kick comes in between: the worker looks too early, and sets the timer again.
#[test]
fn a_kick_before_a_later_one_leaves_a_time_that_has_come() {
    soon("deadlines and a kick", 3, 1, [], |queues| {
        queues.call();
        queues.queue(1, LATER);
    });
}
