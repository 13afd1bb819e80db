//! A small executor: any of its threads polls a task, but only after the task was woken. A task with a lost
//! wake-up is never polled again, which is a finding.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use crate::book::finding::Finding;
use crate::book::kind::Kind;
use crate::book::lock;
use crate::book::world::World;

type Body = Pin<Box<dyn Future<Output = ()> + Send>>;

/// All tasks of the run.
pub struct Pool {
    woken: Mutex<VecDeque<Arc<Task>>>,
    all: Mutex<Vec<Arc<Task>>>,
    alive: AtomicUsize,
}

/// A task.
pub struct Task {
    pool: &'static Pool,
    /// `None` once it has ended, or was dropped.
    body: Mutex<Option<Body>>,
    /// It is in the queue of woken tasks.
    queued: AtomicBool,
    /// The time of its last poll, in the watchdog's ticks.
    polled: AtomicU32,
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        if !self.queued.swap(true, Ordering::AcqRel) {
            let woken = &self.pool.woken;
            lock(woken).push_back(Arc::clone(&self));
        }
    }
}

impl Pool {
    /// Without tasks.
    pub const fn new() -> Pool {
        Pool {
            woken: Mutex::new(VecDeque::new()),
            all: Mutex::new(Vec::new()),
            alive: AtomicUsize::new(0),
        }
    }

    /// The number of tasks that have not ended.
    pub fn alive(&self) -> usize {
        self.alive.load(Ordering::Acquire)
    }

    /// Adds a task.
    pub fn spawn(&'static self, now: u32, body: Body) {
        self.alive.fetch_add(1, Ordering::AcqRel);
        let task = Arc::new(Task {
            pool: self,
            body: Mutex::new(Some(body)),
            queued: AtomicBool::new(false),
            polled: AtomicU32::new(now),
        });
        lock(&self.all).push(Arc::clone(&task));
        task.wake();
    }

    /// A task that was woken.
    pub fn next(&self) -> Option<Arc<Task>> {
        lock(&self.woken).pop_front()
    }

    /// Searches for a task that has not been woken for too long.
    pub fn look(&self, world: &World) {
        let patience = (world.options.patience.as_millis() / 100) as u32;
        let now = world.now();
        let mut all = lock(&self.all);
        all.retain(|task| lock(&task.body).is_some());
        for task in all.iter() {
            let polled = task.polled.load(Ordering::Relaxed);
            if !task.queued.load(Ordering::Relaxed) && polled + patience < now {
                Finding::Late.note(Some(Kind::Future), u64::from(now - polled));
            }
        }
    }
}

impl Task {
    /// Polls the task; true if it has ended.
    pub fn poll(self: Arc<Self>, now: u32) -> bool {
        self.polled.store(now, Ordering::Relaxed);
        let waker = Waker::from(Arc::clone(&self));
        let mut body = lock(&self.body);
        self.queued.store(false, Ordering::Release); // a wake-up from here on queues it again
        let Some(future) = body.as_mut() else {
            return false;
        };
        let poll = future.as_mut().poll(&mut Context::from_waker(&waker));
        if poll == Poll::Pending {
            return false;
        }
        *body = None;
        self.pool.alive.fetch_sub(1, Ordering::AcqRel);
        true
    }

    /// Drops the task wherever it is; true if it had not ended.
    pub fn give_up(&self) -> bool {
        let body = lock(&self.body).take();
        let there = body.is_some();
        drop(body);
        if there {
            self.pool.alive.fetch_sub(1, Ordering::AcqRel);
        }
        there
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_polled_when_it_was_woken_and_not_else() {
        let pool: &'static Pool = Box::leak(Box::new(Pool::new()));
        let mut polls = 0;
        let body = std::future::poll_fn(move |context| {
            polls += 1;
            match polls {
                1 => context.waker().wake_by_ref(),
                2 => {}
                _ => return Poll::Ready(()),
            }
            Poll::Pending
        });
        pool.spawn(0, Box::pin(body));
        for _ in 0..2 {
            assert!(!pool.next().expect("woken").poll(0));
        }
        assert!(pool.next().is_none(), "no thread has woken it");
        let task = lock(&pool.all)[0].clone();
        Arc::clone(&task).wake();
        assert!(pool.next().expect("woken").poll(1));
        assert_eq!((pool.alive(), task.give_up()), (0, false));
    }
}
