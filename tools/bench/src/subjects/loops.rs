//! The measured loops for Rust libraries: `shims/loops.h` over again, turn for turn.
//!
//! Each loop is a function of its own, monomorphised for one library, never inlined into its caller. Every
//! turn ends in [`turn`], which makes the counter and memory opaque to the compiler and emits nothing: no
//! turn is hoisted, unrolled or merged with the next, and the bare loop costs exactly the same turn.
//!
//! How fast a loop of a dozen instructions runs depends on where the linker happens to put it, by as much as
//! the differences that are to be measured (half as much again was seen). So each loop exists four times, 16
//! bytes apart in a 64-byte line, and each copy runs a quarter of the turns: a figure is the mean over the
//! four places.

use super::held::{awaited, handed};
use super::{
    Counters, Language, Loops, READS_PER_REPIN, ReadCase, ReaderControl, Subject, Waiting, nothing,
};
use std::sync::atomic::Ordering;

/// What is read: one word, as in `shims/loops.h`.
#[derive(Debug)]
pub(crate) struct Word(pub(crate) u64);

/// A library's read side.
pub(crate) trait Peer {
    /// A section that is being held; dropping it ends the section.
    type Held;
    /// The calling thread's way in (a collector, a cell); made once before a loop.
    fn new() -> Self;
    /// Enters a section.
    fn enter(&self) -> Self::Held;
    /// Reads the published value.
    fn read(&self, held: &mut Self::Held) -> u64;
    /// Says "I hold nothing now" and goes on in a section.
    #[inline(always)]
    fn repin(&self, held: Self::Held) -> Self::Held {
        drop(held);
        self.enter()
    }
}

/// Makes `i` and all of memory unknown to the compiler. No instruction.
#[inline(always)]
pub(crate) fn turn(i: &mut u64) {
    // SAFETY: the template is a comment: nothing is executed, no register but `i` is touched, and `i` keeps
    // its value.
    unsafe {
        core::arch::asm!(
            "/* {0} */",
            inout(reg) * i,
            options(nostack, preserves_flags)
        );
    }
}

/// Makes `value` count as used. No instruction.
#[inline(always)]
pub(crate) fn used(value: u64) {
    // SAFETY: the template is a comment: nothing is executed and nothing is written.
    unsafe {
        core::arch::asm!("/* {0} */", in(reg) value, options(nostack, preserves_flags, nomem));
    }
}

/// Moves what follows by so many times 16 bytes. A function is entered once a cell, so the no-operations do
/// not count.
#[inline(always)]
pub(crate) fn shift<const COPY: usize>() {
    // SAFETY: no-operations: nothing is read or written.
    unsafe {
        core::arch::asm!(
            ".rept {bytes}", "nop", ".endr",
            bytes = const 16 * COPY,
            options(nostack, preserves_flags, nomem),
        );
    }
}

/// Shares the turns out to the four copies of a loop.
macro_rules! share_out {
    ($loop:ident $(::<$($peer:ident),+>)?) => {
        |n| {
            let quarter = n / 4;
            $loop::<$($($peer,)+)? 0>(n - 3 * quarter);
            $loop::<$($($peer,)+)? 1>(quarter);
            $loop::<$($($peer,)+)? 2>(quarter);
            $loop::<$($($peer,)+)? 3>(quarter);
        }
    };
}

/// A library whose threads register by themselves, and that has no grace period to wait for.
pub(crate) const fn subject<P: Peer>(name: &'static str) -> Subject {
    Subject {
        name,
        language: Language::Rust,
        attach: nothing,
        detach: nothing,
        loops: Loops([
            Some(share_out!(empty::<P>)),
            Some(share_out!(nested::<P>)),
            Some(share_out!(load::<P>)),
            Some(share_out!(repin::<P>)),
            None,
        ]),
        waiting: None,
        handed: None,
    }
}

impl Subject {
    /// The same for threads that register like this.
    pub(crate) fn attached(self, attach: fn()) -> Self {
        Subject { attach, ..self }
    }

    /// The same with a grace period that ends when readers like this have left.
    pub(crate) fn waiting<P: Peer>(self, sync: fn(), counters: Option<fn() -> Counters>) -> Self {
        let waiting = Some(Waiting {
            online: nothing,
            offline: nothing,
            sync,
            reader: reader::<P>,
            counters,
        });
        Subject { waiting, ..self }
    }

    /// The same with sections that outlive the function that began them.
    pub(crate) fn awaited<P: Peer>(mut self) -> Self {
        self.loops.0[ReadCase::Awaited as usize] = Some(share_out!(awaited::<P>));
        self
    }

    /// The same with sections that another thread may end.
    pub(crate) fn handed<P: Peer>(self) -> Self
    where
        P::Held: Send + 'static,
    {
        Subject {
            handed: Some(handed::<P>),
            ..self.awaited::<P>()
        }
    }
}

/// A library whose two ways in are used by turns; a turn is one section.
pub(crate) const fn by_turns<O: Peer, P: Peer>(name: &'static str) -> Subject {
    Subject {
        loops: Loops([
            Some(share_out!(empty_by_turns::<O, P>)),
            Some(share_out!(nested_by_turns::<O, P>)),
            Some(share_out!(load_by_turns::<O, P>)),
            None,
            None,
        ]),
        ..subject::<O>(name)
    }
}

#[inline(never)]
fn empty<P: Peer, const COPY: usize>(n: u64) {
    shift::<COPY>();
    let peer = P::new();
    let mut i = n;
    while i != 0 {
        drop(peer.enter());
        turn(&mut i);
        i -= 1;
    }
}

#[inline(never)]
fn nested<P: Peer, const COPY: usize>(n: u64) {
    shift::<COPY>();
    let peer = P::new();
    let outer = peer.enter();
    let mut i = n;
    while i != 0 {
        drop(peer.enter());
        turn(&mut i);
        i -= 1;
    }
    drop(outer);
}

#[inline(never)]
fn load<P: Peer, const COPY: usize>(n: u64) {
    shift::<COPY>();
    let peer = P::new();
    let mut i = n;
    while i != 0 {
        load_once(&peer);
        turn(&mut i);
        i -= 1;
    }
}

#[inline(never)]
fn repin<P: Peer, const COPY: usize>(n: u64) {
    shift::<COPY>();
    let peer = P::new();
    let mut held = peer.enter();
    let mut i = n / READS_PER_REPIN;
    while i != 0 {
        let mut j = READS_PER_REPIN;
        turn(&mut j);
        while j != 0 {
            used(peer.read(&mut held));
            turn(&mut j);
            j -= 1;
        }
        held = peer.repin(held);
        turn(&mut i);
        i -= 1;
    }
}

/// Does the one, then the other, each a turn, until `n` turns are done.
#[inline(always)]
fn each_in_turn(n: u64, one: impl Fn(), other: impl Fn()) {
    let mut i = n;
    while i != 0 {
        one();
        turn(&mut i);
        i -= 1;
        if i == 0 {
            break;
        }
        other();
        turn(&mut i);
        i -= 1;
    }
}

#[inline(never)]
fn empty_by_turns<O: Peer, P: Peer, const COPY: usize>(n: u64) {
    shift::<COPY>();
    let (one, other) = (O::new(), P::new());
    each_in_turn(n, || drop(one.enter()), || drop(other.enter()));
}

#[inline(never)]
fn nested_by_turns<O: Peer, P: Peer, const COPY: usize>(n: u64) {
    shift::<COPY>();
    let (one, other) = (O::new(), P::new());
    let outer = (one.enter(), other.enter());
    each_in_turn(n, || drop(one.enter()), || drop(other.enter()));
    drop(outer);
}

#[inline(never)]
fn load_by_turns<O: Peer, P: Peer, const COPY: usize>(n: u64) {
    shift::<COPY>();
    let (one, other) = (O::new(), P::new());
    each_in_turn(n, || load_once(&one), || load_once(&other));
}

#[inline(always)]
fn load_once<P: Peer>(peer: &P) {
    let mut held = peer.enter();
    used(peer.read(&mut held));
    drop(held);
}

/// A reader that reads until the control stops it and says, after each section, that it is on a CPU.
#[inline(never)]
pub(crate) fn reader<P: Peer>(control: &ReaderControl) {
    let peer = P::new();
    while control.stop.0.load(Ordering::Relaxed) == 0 {
        load_once(&peer);
        control
            .heartbeat
            .0
            .store(crate::measure::clock::stamp(), Ordering::Relaxed);
    }
}
