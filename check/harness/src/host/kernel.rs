//! A CPU of a kernel, as far as grace periods see it: its context-tracking word, its open sections, and the
//! quiescent state that it has noted but not reported.
//!
//! *Noting* is local: a tick that interrupts no section stores the number of the grace period for which it
//! noted. *Reporting* takes the leaf's lock and may come much later, even in another grace period; the engine
//! then has to refuse it.

use quiescent_kernel::host::{Published, Seen};
use quiescent_kernel::seq::Seq;
use quiescent_kernel::tick::Interrupted;
use quiescent_kernel::watching::Watching;

/// One modelled CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct KernelCpu {
    watching: Watching,
    depth: u32,
    noted: Option<Seq>,
}

impl KernelCpu {
    /// An idle CPU.
    pub fn idle() -> KernelCpu {
        let mut cpu = KernelCpu::default();
        cpu.sleep();
        cpu
    }

    /// Leaves the idle loop, if the CPU is in it.
    pub fn wake(&mut self) {
        if !self.watching.is_watching() {
            self.watching.idle_exit();
        }
    }

    /// Enters the idle loop, unless the CPU is in it or in a section. False if the CPU stays awake.
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

    /// A tick interrupts this CPU; returns the interrupted context. An idle CPU leaves the idle loop for the
    /// tick and enters it again, which a scan detects.
    pub fn tick(&mut self) -> Interrupted {
        let from = self.context();
        self.watching.irq_enter();
        self.watching.irq_exit();
        from
    }

    /// What an interrupt finds, outside of sections.
    pub fn context(&self) -> Interrupted {
        match self.is_awake() {
            true => Interrupted::Kernel,
            false => Interrupted::Idle,
        }
    }

    /// Stays awake from now on, or may idle.
    pub fn keep_awake(&mut self, awake: bool) {
        if awake {
            self.wake();
        } else {
            self.sleep();
        }
    }

    /// A momentary extended quiescent state of a CPU that is awake and outside every section.
    ///
    /// # Panics
    /// If the CPU is idle or in a section.
    pub fn momentary_eqs(&mut self) {
        assert_eq!(self.depth, 0, "a quiescent state inside a section");
        self.watching.momentary_eqs();
    }

    /// Switches the running task out, and returns the depth of its open sections.
    pub fn switch_out(&mut self) -> u32 {
        std::mem::take(&mut self.depth)
    }

    /// Switches in a task that was switched out with `depth` open sections.
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

    /// Comes online, awake: sets the parity of its word to that of an awake CPU, whatever it was.
    pub fn online(&mut self) {
        *self = KernelCpu {
            watching: self.watching,
            ..KernelCpu::default()
        };
        self.watching.online();
    }

    /// Notes a quiescent state for the grace period in flight. False if there is none, or if the CPU is in a
    /// section.
    pub fn note(&mut self, published: Published) -> bool {
        let counts = self.depth == 0 && published.global.state() != 0;
        if counts {
            self.noted = Some(published.global);
        }
        counts
    }

    /// Takes what the CPU has noted, to report it.
    pub fn take_noted(&mut self) -> Option<Seq> {
        self.noted.take()
    }

    /// Has the CPU noted a quiescent state?
    pub fn has_noted(&self) -> bool {
        self.noted.is_some()
    }

    /// The number of nested open sections.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// Is the CPU out of the idle loop?
    pub fn is_awake(&self) -> bool {
        self.watching.is_watching()
    }

    /// A scan's observation.
    pub fn seen(&self) -> Seen {
        self.watching.seen()
    }
}
