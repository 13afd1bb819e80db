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

use crate::finding::Finding;
use crate::hand::Hand;
use crate::kind::Kind;
use crate::numbers::Numbers;
use crate::target::{Held, TARGETS};
use crate::world::{AGES, World};

/// Tasks for each thread that runs them.
const TASKS: usize = 8;

/// Runs tasks until the run is over and all tasks have ended.
pub fn run(mut hand: Hand) {
    let world = hand.world;
    let most = TASKS * world.of(hand.place.role).count();
    loop {
        let on = hand.goes_on();
        if on && world.pool.alive() < most {
            let numbers = Numbers::new(hand.numbers.next(), 1);
            world
                .pool
                .spawn(world.now(), Box::pin(life(world, numbers)));
        }
        match world.pool.next() {
            Some(task) if hand.numbers.once_in(200) => _ = task.give_up(),
            Some(task) => {
                if task.poll(world.now()) {
                    hand.acted();
                }
            }
            None if !on && world.pool.alive() == 0 => break,
            None => {
                world.pool.look(world);
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
        let index = numbers.below(TARGETS);
        match numbers.below(4) {
            0 => hold(world, index, &mut numbers).await,
            1 => wait(world, index).await,
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

fn end(world: &World, held: Option<Held<Srcu>>) {
    if let Some((kind, age)) = held.and_then(Held::end) {
        let ages = &world.tallies[kind as usize].ages;
        ages[(age as usize).min(AGES - 1)].fetch_add(1, Ordering::Relaxed);
    }
}

fn enter(world: &World, index: usize, numbers: &mut Numbers) -> Option<Held<Srcu>> {
    let target = world.srcus[index].target()?;
    Some(target.hold(numbers.next() as usize))
}

/// A section on several threads, one after the other.
async fn hold(world: &'static World, index: usize, numbers: &mut Numbers) {
    let held = enter(world, index, numbers);
    for _ in 0..numbers.below(12) {
        pass().await;
    }
    end(world, held);
}

/// A grace period; when it has passed, a cookie that was taken before is satisfied.
async fn wait(world: &'static World, index: usize) {
    let Some(target) = world.srcus[index].target() else {
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
    let Some(target) = world.srcus[index].target() else {
        return;
    };
    let held = target.hold(numbers.next() as usize);
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
    let held = enter(world, index, numbers);
    for later in index + 1..TARGETS {
        wait(world, later).await;
    }
    end(world, held);
}
