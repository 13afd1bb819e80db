//! A CPU of a kernel, as far as grace periods see it: its context-tracking word, its open sections, and the
//! quiescent state it has noted but not reported.
//!
//! *Noting* is local: a tick that interrupts no section remembers the number under which it noted.
//! *Reporting* takes the leaf's lock and may come much later, even in another grace period; the engine has to
//! refuse it then.

use quiescent_engine::host::{Published, Seen};
use quiescent_engine::seq::Seq;
use quiescent_engine::tick::Interrupted;
use quiescent_engine::watching::Watching;

/// One modelled CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct KernelCpu {
    watching: Watching,
    depth: u32,
    noted: Option<Seq>,
}

impl KernelCpu {
    /// A CPU that idles.
    pub fn idle() -> KernelCpu {
        let mut cpu = KernelCpu::default();
        cpu.sleep();
        cpu
    }

    /// The idle loop is left, if the CPU is in it.
    pub fn wake(&mut self) {
        if !self.watching.is_watching() {
            self.watching.idle_exit();
        }
    }

    /// The idle loop is entered, unless the CPU is in it or in a section. False if it stayed awake.
    pub fn sleep(&mut self) -> bool {
        if self.depth == 0 && self.watching.is_watching() {
            self.watching.idle_enter();
        }
        self.depth == 0
    }

    /// Opens a section, or nests one; an idle CPU wakes up for it.
    pub fn enter(&mut self) {
        self.wake();
        self.depth += 1;
    }

    /// Closes the innermost section; the CPU stays awake. True if that was the last one.
    ///
    /// # Panics
    /// If none is open.
    pub fn exit(&mut self) -> bool {
        assert!(
            self.depth > 0,
            "a section was closed that was never opened: enter first"
        );
        self.depth -= 1;
        self.depth == 0
    }

    /// A tick interrupts this CPU; returns the interrupted context. The idle loop is left for it, and entered
    /// again, which a scan sees.
    pub fn tick(&mut self) -> Interrupted {
        let from = if self.is_awake() {
            Interrupted::Kernel
        } else {
            Interrupted::Idle
        };
        self.watching.irq_enter();
        self.watching.irq_exit();
        from
    }

    /// A momentary extended quiescent state, of a CPU that is awake and outside every section.
    ///
    /// # Panics
    /// If it is not.
    pub fn momentary_eqs(&mut self) {
        assert_eq!(self.depth, 0, "a quiescent state inside a section");
        self.watching.momentary_eqs();
    }

    /// The running task is switched out, with the sections it is in.
    pub fn switch_out(&mut self) -> u32 {
        std::mem::take(&mut self.depth)
    }

    /// A task that was switched out in `depth` sections continues here.
    ///
    /// # Panics
    /// If the CPU is in a section: switch that task out first.
    pub fn switch_in(&mut self, depth: u32) {
        assert_eq!(
            self.depth, 0,
            "a task is switched in over one that is in a section"
        );
        self.wake();
        self.depth = depth;
    }

    /// Comes online, awake, with whatever parity it died with set right.
    pub fn online(&mut self) {
        *self = KernelCpu {
            watching: self.watching,
            ..KernelCpu::default()
        };
        self.watching.online();
    }

    /// Notes a quiescent state under the grace period in flight. False if there is none, or if the
    /// CPU is in a section.
    pub fn note(&mut self, published: Published) -> bool {
        let counts = self.depth == 0 && published.global.state() != 0;
        if counts {
            self.noted = Some(published.global);
        }
        counts
    }

    /// What it noted, to be reported now.
    pub fn take_noted(&mut self) -> Option<Seq> {
        self.noted.take()
    }

    /// Has it noted something?
    pub fn has_noted(&self) -> bool {
        self.noted.is_some()
    }

    /// Open sections, one inside the other.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// Is it out of the idle loop?
    pub fn is_awake(&self) -> bool {
        self.watching.is_watching()
    }

    /// A scan's observation.
    pub fn seen(&self) -> Seen {
        self.watching.seen()
    }
}
