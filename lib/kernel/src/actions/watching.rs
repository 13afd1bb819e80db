//! The context-tracking word: does RCU watch this CPU, and did that change since the last scan?
//!
//! ```text
//!   bit 31                     2 1     0
//!   ┌───────────────────────┬───┬───────┐   p (value 4): parity, 1 = RCU watches
//!   │        counter        │ p │context│   counter part = all bits from p upwards
//!   └───────────────────────┴───┴───────┘   context: 0 kernel, 1 idle, 2 user, 3 guest
//! ```
//!
//! Every entry to and exit from an extended quiescent state (EQS) adds 4, so the counter part is odd exactly
//! while RCU watches. Only the owning CPU changes the word, with one fully ordered addition a transition;
//! here the transitions are plain values, and the host makes them atomic.
//!
//! # Correctness of two scans
//! Even at one scan after the grace period started: every section that began earlier has ended, and any later
//! one begins behind a full fence. Odd at one scan, then different: an EQS was in between. Odd and unchanged:
//! nothing is proven. The counter part has 30 bits; a wrap between two scans is ignored.
//!
//! # Interrupts use the parity
//! A handler may arrive between the change of the word (*flip*) and that of the nesting counts (*nest*). It
//! must not use the counts, which are stale then. If the parity is "not watching" it flips and adds 1 to
//! `nmi_nesting`, otherwise it adds 2. On exit the value 1 identifies the outermost handler that interrupted
//! an EQS: it alone flips back; every other one subtracts 2.
//!
//! Invariants, each at every half-step:
//! * `nmi_nesting` is 0 in an EQS, and [`Watching::TASK_NESTING`] while a task runs with no handler;
//! * code inside a handler runs watched;
//! * a handler that has ended leaves everything as it was, except the counter, which moved by two transitions
//!   if an EQS was interrupted.

use crate::periods::host::Seen;

/// A CPU's context, as far as RCU needs it: the low two bits of the word.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Context {
    /// In the kernel: watched.
    Kernel = 0,
    /// In the idle loop: quiescent.
    Idle = 1,
    /// In user space on a CPU whose user time is tracked: quiescent.
    User = 2,
    /// In a guest: quiescent.
    Guest = 3,
}

/// One CPU's context tracking.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Watching {
    word: u32,
    /// Task level: 1 in the kernel, 0 in an EQS.
    nesting: i64,
    nmi_nesting: i64,
}

/// The parity bit, and the unit of the counter part.
const UNIT: u32 = 4;
const CONTEXT_MASK: u32 = 3;

impl Watching {
    /// `nmi_nesting` of a CPU that runs a task: larger than any number of handlers, so that no handler counts
    /// as the one that interrupted an EQS.
    pub const TASK_NESTING: i64 = 1 << 62;

    /// A CPU at boot: watched, in the kernel.
    pub const fn new() -> Watching {
        Watching {
            word: UNIT,
            nesting: 1,
            nmi_nesting: Self::TASK_NESTING,
        }
    }

    /// The idle loop is entered.
    ///
    /// # Panics
    /// If this CPU is in an EQS already, or inside an interrupt handler.
    pub fn idle_enter(&mut self) {
        self.eqs_enter(Context::Idle);
    }

    /// The idle loop is left.
    ///
    /// # Panics
    /// If this CPU is not idle, or is inside an interrupt handler.
    pub fn idle_exit(&mut self) {
        self.eqs_exit(Context::Idle);
    }

    /// User space is entered. Panics as [`idle_enter`](Self::idle_enter) does.
    pub fn user_enter(&mut self) {
        self.eqs_enter(Context::User);
    }

    /// User space is left. Panics as [`idle_exit`](Self::idle_exit) does.
    pub fn user_exit(&mut self) {
        self.eqs_exit(Context::User);
    }

    /// A guest is entered. Panics as [`idle_enter`](Self::idle_enter) does.
    pub fn guest_enter(&mut self) {
        self.eqs_enter(Context::Guest);
    }

    /// A guest is left. Panics as [`idle_exit`](Self::idle_exit) does.
    pub fn guest_exit(&mut self) {
        self.eqs_exit(Context::Guest);
    }

    /// An interrupt or NMI handler begins.
    pub fn irq_enter(&mut self) {
        let step = self.irq_enter_flip();
        self.irq_enter_nest(step);
    }

    /// An interrupt or NMI handler ends.
    ///
    /// # Panics
    /// If none is running.
    pub fn irq_exit(&mut self) {
        if self.irq_exit_nest() {
            self.irq_exit_flip();
        }
    }

    /// A zero-length EQS: two transitions at once, so the parity stays and the stamp changes. A CPU that
    /// stays in the kernel answers a scan's request for a heavy quiescent state with it.
    ///
    /// # Panics
    /// If RCU is not watching: the CPU is in an EQS already.
    pub fn momentary_eqs(&mut self) {
        assert!(
            self.is_watching(),
            "a momentary quiescent state in an extended one: {self:?}"
        );
        self.word = self.word.wrapping_add(2 * UNIT);
    }

    /// The CPU comes online, in the kernel. The parity is set if it is not: a CPU that went offline kept its
    /// parity, usually that of the idle loop in which it died.
    pub fn online(&mut self) {
        if !self.is_watching() {
            self.word = self.word.wrapping_add(UNIT);
        }
        self.word &= !CONTEXT_MASK;
        self.nesting = 1;
        self.nmi_nesting = Self::TASK_NESTING;
    }

    /// Is RCU watching this CPU?
    pub const fn is_watching(&self) -> bool {
        self.word & UNIT != 0
    }

    /// The context bits. In a handler: of the interrupted context.
    pub const fn context(&self) -> Context {
        match self.word & CONTEXT_MASK {
            0 => Context::Kernel,
            1 => Context::Idle,
            2 => Context::User,
            _ => Context::Guest,
        }
    }

    /// The counter part: transitions so far, odd while watching. Wraps at 2^30.
    pub const fn counter(&self) -> u32 {
        self.word / UNIT
    }

    /// A scan's observation, in one acquire load.
    pub const fn seen(&self) -> Seen {
        Seen {
            outside: !self.is_watching(),
            stamp: self.counter() as u64,
        }
    }

    // The transitions, in halves: a handler may come in between.

    fn eqs_enter(&mut self, to: Context) {
        self.eqs_enter_nest();
        self.eqs_enter_flip(to);
    }

    fn eqs_exit(&mut self, from: Context) {
        self.eqs_exit_flip(from);
        self.eqs_exit_nest();
    }

    fn eqs_enter_nest(&mut self) {
        let at_task_level = self.nesting == 1 && self.nmi_nesting == Self::TASK_NESTING;
        assert!(
            at_task_level && self.is_watching(),
            "an extended quiescent state entered from within one or from a handler: {self:?}"
        );
        self.nesting = 0;
        self.nmi_nesting = 0;
    }

    fn eqs_enter_flip(&mut self, to: Context) {
        self.word = self.word.wrapping_add(UNIT + to as u32);
    }

    fn eqs_exit_flip(&mut self, from: Context) {
        assert!(
            self.nesting == 0 && !self.is_watching() && self.context() == from,
            "the CPU leaves {from:?} without being there: {self:?}"
        );
        self.word = self.word.wrapping_add(UNIT - from as u32);
    }

    fn eqs_exit_nest(&mut self) {
        self.nesting = 1;
        self.nmi_nesting = Self::TASK_NESTING;
    }

    /// Returns the increment of `nmi_nesting`.
    fn irq_enter_flip(&mut self) -> i64 {
        if self.is_watching() {
            return 2;
        }
        self.word = self.word.wrapping_add(UNIT);
        1
    }

    fn irq_enter_nest(&mut self, step: i64) {
        self.nmi_nesting += step;
    }

    /// Returns true if the caller must flip.
    fn irq_exit_nest(&mut self) -> bool {
        // Between the halves of an EQS exit the counts of a task are not set yet, so a handler is recognised
        // by 2 as well as by TASK_NESTING + 2.
        let running = self.nmi_nesting > 0 && self.nmi_nesting != Self::TASK_NESTING;
        assert!(
            running && self.is_watching(),
            "a handler ended that never began: {self:?}"
        );
        let outermost = self.nmi_nesting == 1;
        self.nmi_nesting -= if outermost { 1 } else { 2 };
        outermost
    }

    fn irq_exit_flip(&mut self) {
        self.word = self.word.wrapping_add(UNIT);
    }
}

impl Default for Watching {
    fn default() -> Watching {
        Watching::new()
    }
}

#[cfg(test)]
mod tests;
