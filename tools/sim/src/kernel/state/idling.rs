//! The idle states of a machine's CPUs, cores and package.

use std::collections::VecDeque;
use std::sync::Arc;

use quiescent_kernel::CpuId;

use crate::idling::Table;
use crate::idling::governor::{Choice, Governor, Menu};
use crate::idling::package::{Cause, Package};
use crate::idling::shown::Histogram;

/// The idle states of a machine.
#[derive(Clone, Debug)]
pub(crate) struct Idling {
    pub(in crate::kernel) table: Arc<Table>,
    pub(in crate::kernel) governor: Governor,
    pub(in crate::kernel) limit: u64,
    pub(in crate::kernel) cpus: Vec<IdleCpu>,
    /// Only where a core may have several threads.
    pub(in crate::kernel) cores: Vec<IdleCore>,
    pub(in crate::kernel) package: Package,
    /// The task that an interrupt is about to be sent for.
    pub(in crate::kernel) sent_for: Option<usize>,
    /// By kind and slot.
    pub(in crate::kernel) cpu_books: Vec<Vec<Book>>,
    pub(in crate::kernel) core_books: Vec<Vec<Book>>,
    pub(in crate::kernel) periods: Histogram,
}

/// What is known of a CPU.
#[derive(Clone, Debug, Default)]
pub(in crate::kernel) struct IdleCpu {
    pub(in crate::kernel) kind: usize,
    pub(in crate::kernel) core: usize,
    /// 0 while it is awake; then its state, counted from 1.
    pub(in crate::kernel) slot: usize,
    /// Since when.
    pub(in crate::kernel) since: u64,
    pub(in crate::kernel) menu: Menu,
    /// The state chosen for the next halt.
    pub(in crate::kernel) choice: Choice,
    pub(in crate::kernel) ticks: Ticks,
    /// Why it is woken next.
    pub(in crate::kernel) because: Option<Cause>,
    /// Why each interrupt that is on its way to it was sent.
    pub(in crate::kernel) interrupts: VecDeque<Cause>,
    /// What it takes to wake up, in nanoseconds.
    pub(in crate::kernel) latency: u64,
}

/// A core of several threads.
#[derive(Clone, Debug, Default)]
pub(in crate::kernel) struct IdleCore {
    pub(in crate::kernel) threads: Vec<CpuId>,
    pub(in crate::kernel) slot: usize,
    pub(in crate::kernel) since: u64,
}

/// What is counted about a state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::kernel) struct Book {
    pub(in crate::kernel) time: u64,
    pub(in crate::kernel) entries: u64,
    pub(in crate::kernel) too_deep: u64,
    pub(in crate::kernel) too_shallow: u64,
}

/// Why a tick runs in idle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::kernel) enum Ticks {
    /// It does not.
    #[default]
    No,
    /// The CPU's callbacks need it.
    Callbacks,
    /// The governor wants it.
    Governor,
    /// A timer is due with it.
    Timer,
}
