//! Threads that work together while the whole process is measured.
//!
//! Each thread attaches itself to the library and prepares. When all are ready, the clocks are read and all
//! start. A thread's end, and what is done when all have ended ([`Member::settle`]), are part of the
//! measurement: a library that leaves its work to the end must not look cheap.

use crate::measure::clock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// What the threads did.
#[derive(Debug)]
pub struct Ran<T> {
    /// What each member gave, in order.
    pub results: Vec<T>,
    /// CPU time of the whole process, the library's own threads included.
    pub cpu_ns: u64,
    /// Time that passed.
    pub wall_ns: u64,
}

impl<T> Ran<T> {
    /// A rate of so many in that time.
    pub fn per_second(&self, count: u64) -> f64 {
        count as f64 * 1e9 / self.wall_ns.max(1) as f64
    }
}

/// What a thread does for the library that it measures.
pub trait Member: Sync {
    /// At its beginning.
    fn attach(&self) {}
    /// At its end.
    fn detach(&self) {}
    /// Last of all, when all have ended; by a thread that is not attached.
    fn settle(&self) {}
}

/// What is said of a thread that panicked.
pub const DIED: &str = "a measuring thread died; its panic message is above";

/// Starts a single thread.
///
/// # Errors
/// A text with the reason and the remedy.
pub fn spawn<T: Send + 'static>(
    name: &str,
    body: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, String> {
    let thread = Builder::new().name(name.into()).spawn(body);
    thread.map_err(no_thread)
}

/// A thread that does a step when it gets an order, and sleeps in between.
#[derive(Debug)]
pub struct Helper<T = (), O = ()> {
    orders: Sender<O>,
    said: Receiver<T>,
    thread: JoinHandle<()>,
}

/// Such a thread's side.
#[derive(Debug)]
pub struct Steps<T = (), O = ()>(Sender<T>, Receiver<O>);

impl<T, O> Steps<T, O> {
    /// Says what was done, and sleeps until the next order; `None` when there is none any more.
    pub fn next(&self, done: T) -> Option<O> {
        self.say(done);
        self.1.recv().ok()
    }

    /// Says what was done, and goes on. It is not heard when nothing listens any more.
    pub fn say(&self, done: T) {
        let _ = self.0.send(done);
    }
}

impl<T: Send + 'static, O: Send + 'static> Helper<T, O> {
    /// Starts it, and waits until it has said something.
    ///
    /// # Errors
    /// A text with the reason and the remedy.
    pub fn start(
        name: &str,
        body: impl FnOnce(&Steps<T, O>) + Send + 'static,
    ) -> Result<(Self, T), String> {
        let helper = Self::spawn(Builder::new().name(name.into()), body).map_err(no_thread)?;
        let first = helper.wait()?;
        Ok((helper, first))
    }

    /// Starts it.
    ///
    /// # Errors
    /// What the system says when it refuses a thread.
    pub fn spawn(
        thread: Builder,
        body: impl FnOnce(&Steps<T, O>) + Send + 'static,
    ) -> std::io::Result<Self> {
        let ((orders, ordered), (say, said)) = (channel(), channel());
        Ok(Helper {
            orders,
            said,
            thread: thread.spawn(move || body(&Steps(say, ordered)))?,
        })
    }

    /// Has it do its next step.
    ///
    /// # Errors
    /// [`DIED`].
    pub fn go(&self, order: O) -> Result<(), String> {
        self.orders.send(order).map_err(|_| DIED.into())
    }

    /// Waits until it has; what it says.
    ///
    /// # Errors
    /// [`DIED`].
    pub fn wait(&self) -> Result<T, String> {
        self.said.recv().map_err(|_| DIED.into())
    }

    /// What it says within this time; `None` when it says nothing.
    ///
    /// # Errors
    /// [`DIED`].
    pub fn heard(&self, patience: Duration) -> Result<Option<T>, String> {
        match self.said.recv_timeout(patience) {
            Ok(said) => Ok(Some(said)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(DIED.into()),
        }
    }

    /// Has it end, and waits until it has.
    ///
    /// # Errors
    /// [`DIED`].
    pub fn end(self) -> Result<(), String> {
        drop(self.orders);
        self.thread.join().map_err(|_| DIED.into())
    }
}

/// What is said of a thread that the system refuses.
fn no_thread(why: std::io::Error) -> String {
    format!("cannot start a thread: {why}; raise the limit (ulimit -u, pids.max)")
}

/// Has `members` threads do `work`, each with what it had `prepare`d; the calling thread does `during` beside
/// them. Both get the member's number, from 0.
///
/// # Errors
/// A text with the reason and the remedy, when a thread cannot be had or died.
pub fn run<S, T: Send>(
    subject: &impl Member,
    members: usize,
    prepare: impl Fn(usize) -> S + Sync,
    work: impl Fn(usize, S) -> T + Sync,
    during: impl FnOnce(),
) -> Result<Ran<T>, String> {
    let (prepare, work) = (&prepare, &work);
    std::thread::scope(|scope| {
        let (ready, readies) = channel();
        let mut threads = Vec::new();
        for number in 0..members {
            let (go, orders) = channel::<()>();
            let ready = ready.clone();
            let member = move || {
                subject.attach();
                let state = prepare(number);
                let _ = ready.send(());
                // Without an order, another member could not be had.
                let result = orders.recv().ok().map(|()| work(number, state));
                subject.detach();
                result
            };
            let thread = Builder::new()
                .name(format!("member {number}"))
                .spawn_scoped(scope, member);
            let thread = thread.map_err(no_thread)?;
            threads.push((go, thread));
        }
        drop(ready);
        let died = || DIED.to_string();
        for _ in &threads {
            readies.recv().map_err(|_| died())?;
        }
        let (cpu, begin) = (clock::process_cpu_ns(), Instant::now());
        for (go, _) in &threads {
            go.send(()).map_err(|_| died())?;
        }
        during();
        let ended = threads.into_iter().map(|(_, thread)| thread.join());
        let results: Option<Vec<T>> = ended.map(|result| result.ok().flatten()).collect();
        let results = results.ok_or_else(died)?;
        subject.settle();
        Ok(Ran {
            results,
            cpu_ns: clock::process_cpu_ns() - cpu,
            wall_ns: begin.elapsed().as_nanos() as u64,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    struct Nothing;

    impl Member for Nothing {
        fn attach(&self) {}
        fn detach(&self) {}
        fn settle(&self) {}
    }

    #[test]
    fn all_work_at_once_and_in_order() {
        let here = AtomicUsize::new(0);
        let all = |number: usize, state: usize| {
            here.fetch_add(1, Relaxed);
            while here.load(Relaxed) < 3 {
                std::thread::yield_now();
            }
            number + state
        };
        let ran = run(&Nothing, 3, |number| 10 * number, all, || ()).unwrap();
        assert_eq!(ran.results, [0, 11, 22]);
        assert!(ran.wall_ns > 0);
    }

    #[test]
    fn a_helper_does_a_step_at_a_time() {
        let (helper, first) = Helper::start("helper", |steps| {
            let mut done = 0;
            while let Some(more) = steps.next(done) {
                done += more;
            }
        })
        .unwrap();
        helper.go(7).unwrap();
        assert_eq!((first, helper.wait()), (0, Ok(7)));
        helper.end().unwrap();
        let dead = Helper::<(), ()>::start("dead", |_| ()).unwrap_err();
        assert!(dead.contains("died"), "{dead}");
    }

    #[test]
    fn a_member_that_dies_is_an_error() {
        let dies = |number: usize, ()| assert_eq!(number, 0, "on purpose");
        let error = run(&Nothing, 2, |_| (), dies, || ()).unwrap_err();
        assert!(error.contains("died"), "{error}");
    }
}
