//! Records of a running machine: which event credited which CPU and, on request, every trace event.
//!
//! The engine reports its events through the view that answers its questions, without a CPU or a time. Before
//! a CPU acts, the machine stores here which CPU it is and when, so that each line has both. Everything is in
//! cells, because the machine's parts are borrowed while the engine asks.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use quiescent_kernel::CpuId;
use quiescent_kernel::event::{Event, FqsEvent, GpEvent};

use crate::input::op::SysCallName;
use crate::record::points::{Point, point};
use crate::record::stats::Credits;

/// Where a line was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NotePlace {
    pub at: u64,
    pub cpu: CpuId,
    /// The task that runs there; none in the idle loop.
    pub task: Option<usize>,
    pub level: Level,
}

/// What the CPU is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Level {
    #[default]
    Task,
    Softirq,
    Irq,
}

/// The content of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Rcu(Event),
    /// A callback was queued; the function's number, and how many there are now.
    Queued {
        /// In the FIFO of this CPU.
        whose: CpuId,
        pos: u64,
        func: usize,
        n_cbs: u64,
    },
    Invoke {
        whose: CpuId,
        pos: u64,
        func: usize,
    },
    Wakeup {
        task: usize,
        target: CpuId,
    },
    Switch {
        prev: Option<usize>,
        state: char,
        next: Option<usize>,
    },
    /// An event of the machine, as a tracer prints it.
    Text(String),
    /// A task enters a system call, with this argument; and leaves it.
    SysEnter(SysCallName, u64),
    SysExit(SysCallName),
}

impl What {
    /// Does it say which system call a callback comes from?
    const fn is_of_calls(&self) -> bool {
        matches!(
            self,
            What::SysEnter(..) | What::SysExit(_) | What::Queued { .. } | What::Invoke { .. }
        )
    }
}

/// What stands for the address of a thing of this CPU: sixteen digits, as a kernel prints them.
pub(crate) fn address(cpu: CpuId, pos: u64) -> String {
    format!("{:016x}", 1 << 63 | u64::from(cpu) << 40 | (pos << 4))
}

/// The notes.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    place: Cell<NotePlace>,
    /// It is in the window of the statistics.
    counts: Cell<bool>,
    /// The grace-period thread is what runs.
    in_gp_thread: Cell<bool>,
    leaf_level: u8,
    /// Which scan it is, and by which one each CPU was credited last.
    scan: Cell<u32>,
    seen: RefCell<Vec<u32>>,
    credits: RefCell<Vec<Credits>>,
    /// Trace points that were reached, if they are counted.
    points: RefCell<Option<BTreeSet<Point>>>,
    tracing: Cell<bool>,
    /// Of all lines only those are kept that join callbacks to system calls.
    only_calls: Cell<bool>,
    lines: RefCell<Vec<(NotePlace, What)>>,
    /// The task that ran last on each CPU, while tracing.
    ran: RefCell<Vec<Option<usize>>>,
}

impl Notes {
    /// For a tree whose leaves are on this level.
    pub fn new(cpus: u32, leaf_level: u8) -> Notes {
        Notes {
            leaf_level,
            scan: Cell::new(1),
            seen: RefCell::new(vec![0; cpus as usize]),
            credits: RefCell::new(vec![Credits::default(); cpus as usize]),
            ..Notes::default()
        }
    }

    /// From now on every event is kept.
    pub fn trace(&self) {
        self.tracing.set(true);
        *self.ran.borrow_mut() = vec![None; self.credits.borrow().len()];
    }

    /// From now on system calls are kept, and callbacks that are queued and invoked; nothing else, so that a
    /// long run needs little memory.
    pub fn trace_calls(&self) {
        self.trace();
        self.only_calls.set(true);
    }

    /// From now on trace points are counted.
    pub fn count_points(&self) {
        *self.points.borrow_mut() = Some(BTreeSet::new());
    }

    /// Those that were reached.
    pub fn points(&self) -> BTreeSet<Point> {
        self.points.borrow().clone().unwrap_or_default()
    }

    /// What happens next happens here.
    pub fn go_to(&self, place: NotePlace, counts: bool) {
        self.place.set(place);
        self.counts.set(counts);
        self.in_gp_thread.set(false);
    }

    /// The CPU is in this now.
    pub fn level(&self, level: Level) {
        let place = self.place.get();
        self.place.set(NotePlace { level, ..place });
    }

    /// The grace-period thread runs here.
    pub fn gp_thread(&self) {
        self.in_gp_thread.set(true);
    }

    /// The machine did something that a kernel traces.
    #[inline]
    pub fn say(&self, what: What) {
        // Nearly always it does not: then nothing of it is made.
        if self.tracing.get() {
            self.keep(what);
        }
    }

    fn keep(&self, what: What) {
        if !self.only_calls.get() || what.is_of_calls() {
            self.lines.borrow_mut().push((self.place.get(), what));
        }
    }

    /// The same, with a text of its own.
    pub fn text(&self, text: impl FnOnce() -> String) {
        if self.tracing.get() && !self.only_calls.get() {
            self.keep(What::Text(text()));
        }
    }

    /// Another task runs on `cpu` now; the last one is left in this state.
    pub fn switched(&self, cpu: CpuId, next: Option<usize>, state: impl Fn(usize) -> char) {
        if !self.tracing.get() {
            return;
        }
        let prev = std::mem::replace(&mut self.ran.borrow_mut()[cpu as usize], next);
        if prev == next {
            return;
        }
        let place = self.place.get();
        self.place.set(NotePlace {
            task: prev,
            ..place
        });
        let state = prev.map_or('R', state);
        self.say(What::Switch { prev, state, next });
        self.place.set(NotePlace {
            task: next,
            ..place
        });
    }

    /// The engine tells an event.
    pub fn event(&self, event: &Event) {
        if let Some(points) = &mut *self.points.borrow_mut() {
            points.insert(point(event));
        }
        match *event {
            Event::GracePeriod {
                event: GpEvent::Fqsstart | GpEvent::Fqsend,
                ..
            } => self.scan.set(self.scan.get().wrapping_add(1)),
            Event::Fqs {
                event: FqsEvent::Dti,
                cpu,
                ..
            } => {
                self.seen.borrow_mut()[cpu as usize] = self.scan.get();
                self.credit(cpu, |it| &mut it.scan);
            }
            Event::QuiescentStateReport {
                mask, level, lo, ..
            } if level == self.leaf_level => self.reported(mask, lo),
            _ => {}
        }
        self.say(What::Rcu(*event));
    }

    fn reported(&self, mask: u64, lo: CpuId) {
        let mut rest = mask;
        while rest != 0 {
            let cpu = lo + rest.trailing_zeros();
            rest &= rest - 1;
            match self.in_gp_thread.get() {
                false => self.credit(cpu, |it| &mut it.own),
                true if self.seen.borrow()[cpu as usize] == self.scan.get() => {}
                true => self.credit(cpu, |it| &mut it.early),
            }
        }
    }

    fn credit(&self, cpu: CpuId, which: fn(&mut Credits) -> &mut u64) {
        if self.counts.get()
            && let Some(credits) = self.credits.borrow_mut().get_mut(cpu as usize)
        {
            *which(credits) += 1;
        }
    }

    /// Which event credited each CPU.
    pub fn credits(&self) -> Vec<Credits> {
        self.credits.borrow().clone()
    }

    /// All lines so far.
    pub fn lines(&self) -> std::cell::Ref<'_, Vec<(NotePlace, What)>> {
        self.lines.borrow()
    }
}
