//! The end of an entry, after its grace period: it is completed, counted, and its block is freed. What a
//! callback does then is the run's ([`World::follow`](super::world::World)).
//!
//! This runs on a thread that the library chooses: the worker, a draining or a waiting thread.

use std::ptr::NonNull;

use quiescent::intrusive::Head;

use super::element::Element;
use super::entry::Entry;
use super::events::What;
use super::options::Broken;
use super::periods::Own;
use super::world;

/// An [`Element`] whose destructor completes its entry.
#[derive(Debug)]
#[repr(transparent)]
pub struct Dropping(pub Element);

impl Drop for Dropping {
    fn drop(&mut self) {
        if self.0.check() {
            ran(self.0.entry, self.0.word(), Own::None);
        }
    }
}

/// A block that a callback owns.
#[derive(Debug)]
pub struct Block(pub NonNull<Element>);

// SAFETY: elements move between threads; the holder of the block is its only owner.
unsafe impl Send for Block {}

impl Block {
    /// A grace period has passed for the block: completes its entry and frees it. A second run finds the
    /// entry completed and leaves the block as it is. The callback may have kept the grace periods under
    /// which it was queued.
    pub fn end(self, entry: &'static Entry, word: u64, own: Own) {
        if completed(entry, word) {
            // SAFETY: made by `Box::into_raw`; the first and only completion with this word owns it.
            let element = unsafe { Box::from_raw(self.0.as_ptr()) };
            element.check();
            drop(element);
            follow(entry, own);
        }
    }
}

/// As [`Block::end`], for a head inside an element.
///
/// # Safety
/// The head of an [`Element`] that was queued with its word noted in it, with the right to the whole element.
pub unsafe fn head_of_element(head: NonNull<Head>) {
    let block = head.cast::<Element>();
    // SAFETY: the caller's promise.
    let element = unsafe { block.as_ref() };
    if element.check() {
        let (entry, word) = (element.entry, element.word());
        Block(block).end(entry, word, Own::None);
    }
}

/// For a head inside an entry, which is queued again without a block.
///
/// # Safety
/// The head of an [`Entry`] that lives for ever.
pub unsafe fn head_of_entry(head: NonNull<Head>) {
    // SAFETY: the caller's promise.
    let entry: &'static Entry = unsafe { head.cast::<Entry>().as_ref() };
    ran(entry, entry.word(), Own::None);
}

/// The destructor of an object ran after a grace period, or a callback without a block did.
pub fn ran(entry: &'static Entry, word: u64, own: Own) {
    if completed(entry, word) {
        follow(entry, own);
    }
}

/// A plain block is being freed. The allocator calls this: no allocation, no lock, no panic.
pub fn freed(entry: &'static Entry, word: u64) {
    if completed(entry, word) {
        entry.release();
    }
}

/// Completes the entry. False if it was completed before.
fn completed(entry: &'static Entry, word: u64) -> bool {
    let completed = entry.complete(word);
    if let Some(world) = world::current().filter(|_| completed) {
        world.count_done(entry.kind());
        world.elsewhere.record(What::Ran, Some(entry.kind()), word);
        if world.is_broken(Broken::RunTwice) && word % 64 < 4 {
            entry.complete(word);
        }
    }
    completed
}

fn follow(entry: &'static Entry, own: Own) {
    match world::current() {
        Some(world) => (world.follow)(world, entry, own),
        None => entry.release(),
    }
}
