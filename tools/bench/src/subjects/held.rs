//! Loops in which a section outlives the function, or the thread, that began it: only where the library
//! allows it.

use super::loops::{Peer, shift, turn, used};
use crate::measure::{clock, threads};
use std::hint::black_box;
use std::pin::{Pin, pin};
use std::sync::mpsc::channel;
use std::task::{Context, Poll, Waker};

/// Sections that are handed over together.
pub const BATCH: u64 = 64;

/// So many batches: CPU time of both threads a section, in ns; fails with the reason and the remedy.
pub type Handed = fn(u64) -> Result<f64, String>;

/// What is subtracted: the same with a word in place of a section.
pub(super) struct Bare;

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

/// [`Handed`] without a library: what is subtracted.
pub(crate) const BARE_HANDED: Handed = handed::<Bare>;

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
pub(super) fn awaited<P: Peer, const COPY: usize>(n: u64) {
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

pub(super) fn handed<P: Peer>(batches: u64) -> Result<f64, String>
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_loop_ends() {
        assert!(BARE_HANDED(3).unwrap() >= 0.0);
        for subject in crate::subjects::all() {
            if let Some(handed) = subject.handed {
                assert!(handed(3).unwrap() >= 0.0, "{}", subject.name);
            }
        }
        // Those that another thread has ended are ended, or this would not return.
        let waiting = crate::subjects::named("quiescent-srcu").and_then(|it| it.waiting);
        (waiting.unwrap().sync)();
    }
}
