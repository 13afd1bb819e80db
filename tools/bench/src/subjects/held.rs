//! Loops in which a section outlives the function, or the thread, that began it: only where the library
//! allows it.

use super::loops::{Peer, share_out, shift, turn, used};
use super::{SRCU, SRCU_OWNED, Subject};
use crate::measure::{clock, threads};
use quiescent_report::OURS;
use std::hint::black_box;
use std::pin::{Pin, pin};
use std::sync::mpsc::channel;
use std::task::{Context, Poll, Waker};

/// Sections that are handed over together.
pub const BATCH: u64 = 64;

/// See [`Holding::handed`]; fails with the reason and the remedy.
pub type Handed = fn(u64) -> Result<f64, String>;

/// What a subject of `bench srcu` can do beside its read loops.
#[derive(Debug, Clone, Copy)]
pub struct Holding {
    /// The name in reports; [`BARE`] for what is subtracted.
    pub name: &'static str,
    /// Turns of a task that begins a section, waits once, reads, and ends it.
    pub awaited: fn(u64),
    /// Batches of [`BATCH`] sections that one thread begins and another ends: CPU time of both a section, in
    /// ns. `None` where a section has to end where it began.
    pub handed: Option<Handed>,
}

/// The name of the loops without a library.
pub const BARE: &str = "bare";

/// What is subtracted: the same with a word in place of a section.
struct Bare;

impl Peer for Bare {
    type Held = u64;

    fn new() -> Self {
        Bare
    }

    #[inline(always)]
    fn enter(&self) -> u64 {
        black_box(1)
    }

    #[inline(always)]
    fn read(&self, held: &mut u64) -> u64 {
        *held
    }

    #[inline(always)]
    fn repin(&self, held: u64) -> u64 {
        held
    }
}

/// The bare loops, then every subject of `bench srcu`.
pub fn holding() -> Vec<Holding> {
    vec![
        anywhere::<Bare>(BARE),
        here::<super::quiescent::Quiescent>(OURS),
        anywhere::<super::srcu::Sent>(SRCU),
        anywhere::<super::srcu::SentOwned>(SRCU_OWNED),
        here::<super::std_locks::Std>(super::std_locks::rwlock().name),
        #[cfg(feature = "peers")]
        anywhere::<super::arc_swap::Swap>(super::arc_swap::subject().name),
        #[cfg(feature = "peers")]
        anywhere::<super::arc_swap::Full>(super::arc_swap::full().name),
    ]
}

fn here<P: Peer>(name: &'static str) -> Holding {
    Holding {
        name,
        awaited: share_out!(awaited::<P>),
        handed: None,
    }
}

fn anywhere<P: Peer>(name: &'static str) -> Holding
where
    P::Held: Send + 'static,
{
    Holding {
        handed: Some(handed::<P>),
        ..here::<P>(name)
    }
}

/// Pending once: what waiting for something is, without the something.
struct Once(bool);

impl Future for Once {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        match std::mem::replace(&mut self.0, true) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}

async fn task<P: Peer>(peer: &P) {
    let mut held = peer.enter();
    Once(false).await;
    used(peer.read(&mut held));
    drop(held);
}

#[inline(never)]
fn awaited<P: Peer, const COPY: usize>(n: u64) {
    shift::<COPY>();
    let peer = P::new();
    let mut context = Context::from_waker(Waker::noop());
    let mut i = n;
    while i != 0 {
        let mut task = pin!(task(&peer));
        // Where the task lies is no secret: it is in memory between two polls, as that of an executor is.
        while black_box(task.as_mut()).poll(&mut context).is_pending() {}
        turn(&mut i);
        i -= 1;
    }
}

fn handed<P: Peer>(batches: u64) -> Result<f64, String>
where
    P::Held: Send + 'static,
{
    let (send, batch) = channel::<Vec<P::Held>>();
    let (back, emptied) = channel();
    let ender = threads::spawn("ender", move || {
        // So that the library knows this thread.
        drop(P::new().enter());
        for mut batch in batch {
            let begin = clock::thread_cpu_ns();
            batch.clear();
            let took = clock::thread_cpu_ns() - begin;
            if back.send((batch, took)).is_err() {
                break;
            }
        }
    })?;
    let peer = P::new();
    drop(peer.enter());
    let mut room = Vec::with_capacity(BATCH as usize);
    let mut ns = 0;
    for _ in 0..batches {
        let begin = clock::thread_cpu_ns();
        for _ in 0..BATCH {
            room.push(black_box(peer.enter()));
        }
        ns += clock::thread_cpu_ns() - begin;
        send.send(room).map_err(|_| threads::DIED)?;
        let (empty, took) = emptied.recv().map_err(|_| threads::DIED)?;
        (room, ns) = (empty, ns + took);
    }
    drop(send);
    ender.join().map_err(|_| threads::DIED)?;
    Ok(ns as f64 / (batches * BATCH) as f64)
}

/// The subjects of `bench srcu`, ours alone or all: our sections of threads, those that may sleep, then
/// others.
pub fn of_srcu(compare: bool) -> Vec<Subject> {
    let mut names: Vec<&str> = holding().iter().map(|holding| holding.name).collect();
    names.retain(|name| compare || [OURS, SRCU, SRCU_OWNED].contains(name));
    names.into_iter().filter_map(super::named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_loop_ends() {
        let names = of_srcu(true);
        assert_eq!(names.len() + 1, holding().len(), "each is a subject");
        for holding in holding() {
            (holding.awaited)(16);
            if let Some(handed) = holding.handed {
                assert!(handed(3).unwrap() >= 0.0, "{}", holding.name);
            }
        }
        // Those that another thread has ended are ended, or this would not return.
        let waiting = super::super::named(SRCU).and_then(|subject| subject.waiting);
        (waiting.unwrap().sync)();
    }

    #[test]
    fn only_ours_without_compare() {
        let names: Vec<&str> = of_srcu(false).iter().map(|subject| subject.name).collect();
        assert_eq!(names, [OURS, SRCU, SRCU_OWNED]);
    }
}
