//! Tasks: they hold guards while they wait, move between threads with them, await grace periods, and are
//! dropped before their end.
//!
//! A task that holds a section of one slot awaits grace periods of later slots only, which prevents circular
//! waiting.

use std::pin::pin;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::thread;
use std::time::Duration;

use quiescent::Srcu;

use super::pool::Pool;
use crate::book::finding::Finding;
use crate::book::hand::Hand;
use crate::book::kind::Kind;
use crate::book::numbers::Numbers;
use crate::book::periods::STATICS;
use crate::book::target::{Sent, Shared, Targets};
use crate::book::world::{AGES, World};

/// Tasks for each thread that runs them.
const TASKS: usize = 8;

/// All tasks of the run.
static POOL: Pool = Pool::new();

/// Runs tasks until the run is over and all tasks have ended.
pub fn run(mut hand: Hand) {
    let world = hand.world;
    let most = TASKS * world.of(hand.place.role).count();
    loop {
        let on = hand.goes_on();
        if on && POOL.alive() < most {
            let numbers = Numbers::new(hand.numbers.next(), 1);
            POOL.spawn(world.now(), Box::pin(life(world, numbers)));
        }
        match POOL.next() {
            Some(task) if hand.numbers.once_in(200) => _ = task.give_up(),
            Some(task) => {
                if task.poll(world.now()) {
                    hand.acted();
                }
            }
            None if !on && POOL.alive() == 0 => break,
            None => {
                POOL.look(world);
                thread::sleep(Duration::from_micros(200));
            }
        }
    }
}

async fn life(world: &'static World, mut numbers: Numbers) {
    for _ in 0..1 + numbers.below(6) {
        if world.stopped() {
            break;
        }
        let index = numbers.below(STATICS);
        match numbers.below(4) {
            0 => hold(world, index, &mut numbers).await,
            1 => wait(index).await,
            2 => inside(world, index, &mut numbers).await,
            _ => hold_and_wait(world, index, &mut numbers).await,
        }
    }
}

/// Lets others run, possibly on this thread; continues on the thread that polls it next.
async fn pass() {
    let mut passed = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut passed, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

fn end(world: &World, held: Option<Sent>) {
    if let Some((kind, age)) = held.and_then(Sent::end) {
        let ages = &world.tallies[kind as usize].ages;
        ages[(age as usize).min(AGES - 1)].fetch_add(1, Ordering::Relaxed);
    }
}

fn target(slot: usize) -> Option<Shared<Srcu>> {
    Srcu::slots()?.target(slot)
}

fn enter(index: usize, numbers: &mut Numbers) -> Option<Sent> {
    let target = target(index)?;
    Some(target.hold_sent(numbers.next() as usize))
}

/// A section on several threads, one after the other.
async fn hold(world: &'static World, index: usize, numbers: &mut Numbers) {
    let held = enter(index, numbers);
    for _ in 0..numbers.below(12) {
        pass().await;
    }
    end(world, held);
}

/// A grace period; when it has passed, a cookie that was taken before is satisfied.
async fn wait(index: usize) {
    let Some(target) = target(index) else {
        return;
    };
    let cookie = target.whose.start_grace_period();
    target.whose.grace_period().await;
    if !cookie.is_done() {
        Finding::Cookie.note(Some(Kind::Future), 1);
    }
}

/// A grace period cannot end inside its own section; it is dropped early, or awaited after the section.
async fn inside(world: &'static World, index: usize, numbers: &mut Numbers) {
    let Some(target) = target(index) else {
        return;
    };
    let held = target.hold_sent(numbers.next() as usize);
    let mut period = pin!(target.whose.grace_period());
    let over = std::future::poll_fn(|context| Poll::Ready(period.as_mut().poll(context))).await;
    if over == Poll::Ready(()) {
        Finding::Cookie.note(Some(Kind::Future), 0);
    }
    pass().await;
    end(world, Some(held));
    if numbers.once_in(2) && over == Poll::Pending {
        period.await;
    }
}

/// Holds one section, and waits for grace periods of other slots.
async fn hold_and_wait(world: &'static World, index: usize, numbers: &mut Numbers) {
    let held = enter(index, numbers);
    for later in index + 1..STATICS {
        wait(later).await;
    }
    end(world, held);
}
