//! A callback's arrival, and what the trace tells about how it was queued.
//!
//! On an offloaded CPU `rcu_nocb_wake` events stand around `rcu_callback`, on the same CPU and from the same
//! task. Read in the shared traces of Linux 6.12 (`data/traces`):
//!
//! | before | after | what happened | example |
//! |---|---|---|---|
//! | `FirstQ` | `DoWake` `WakeEmpty` | not lazy, first of an empty list | `b-nocb` 5.020396 |
//! | `FirstQ` | `WakeEmptyIsDeferred` | the same with interrupts off: the wake-up waits | `c-lazy` 6.158356 |
//! | | `WakeNot` | not lazy, the list was not empty | `b-nocb` |
//! | | `FirstBQ` `FirstBQwake` or `FirstBQnoWake` | lazy, opens a bypass list | `c-lazy` 2.135438 |
//! | | nothing | lazy, joins a bypass list | `c-lazy` 2.135441 |
//! | | `DoWake` `WakeEmpty` alone | lazy, flushes an overdue list and itself | `c-lazy` 12.138836 |
//!
//! `b-nocb` and `c-lazy` are `classic-b-nocb-file100` and `classic-c-lazy-file100`.
//!
//! **Laziness** is known only where it was on: the trace has `WakeLazy`, `WakeLazyIsDeferred` or `Lazy`.
//! Elsewhere (no offloading, or offloading without laziness) [`Arrival::lazy`] is `None`, and what *would* be
//! lazy follows from the function: callbacks of plain `call_rcu` would be, those of `call_rcu_hurry` would
//! not, and the latter's callers are few (`HURRIED`). One case is not recognized: a lazy callback that
//! flushes an overdue list while the CPU's main list has callbacks is followed by `WakeNot`, and counts as
//! not lazy.
//!
//! **Interrupts off.** `rcu_callback` is written inside a section that has them off, so its own flags say
//! nothing. It is seen by a put-off wake-up (`WakeEmptyIsDeferred`, `WakeOvfIsDeferred`) or by the
//! hard-interrupt letter of the flags. Where the list was not empty, or the CPU is not offloaded, no
//! behaviour depends on it and it is not seen: then it says false.
//!
//! **Silence.** A kernel without the extra trace call of the shared traces writes no `rcu_callback` for what
//! goes to a bypass list: [`Recorded::unseen`](crate::Recorded::unseen) counts what was invoked without
//! having been seen queued.

use crate::Record;
use crate::base::map::Map;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Functions that are queued so that they are never lazy: a waiter or a work item stands behind them.
///
/// `rcu_work_rcufn` is seen in the shared traces, as is `wakeme_after_rcu`; the others are callers of
/// `call_rcu_hurry` by its public documentation and commit messages.
const HURRIED: [&str; 9] = [
    "rcu_work_rcufn",
    "wakeme_after_rcu",
    "rcu_barrier_callback",
    "rcu_sync_func",
    "percpu_ref_switch_to_atomic_rcu",
    "rxrpc_rcu_free_call",
    "dst_destroy_rcu",
    "scsi_eh_inc_host_failed",
    "rcu_torture_cb",
];

/// Where a callback went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Queued {
    /// The trace does not say: the CPU is not offloaded.
    Unknown,
    /// The CPU's main list.
    Main,
    /// An empty bypass list, which it opened.
    OpenedBypass,
    /// A bypass list that was not empty.
    Bypass,
    /// The main list, together with the overdue bypass list that it found.
    FlushedBypass,
}

/// A callback is queued.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Arrival {
    /// When, ns.
    pub time_ns: u64,
    /// On which CPU.
    pub cpu: u32,
    /// Its function; `kvfree` for a block that is only freed.
    pub func: Arc<str>,
    /// Interrupts were off, as far as the trace shows it.
    pub irqs_off: bool,
    /// Where it went.
    pub queued: Queued,
    /// Whether it was queued lazily; `None` where laziness was off.
    pub lazy: Option<bool>,
}

impl Arrival {
    /// Whether it may be lazy on a machine where laziness is on: as seen, or by its function.
    pub fn may_be_lazy(&self) -> bool {
        self.lazy.unwrap_or_else(|| !HURRIED.contains(&&*self.func))
    }
}

/// Which callback an offload event is about: the one that its task has queued last on that CPU, unless the
/// task has done something else since.
///
/// Callbacks are known by their heads. At most one a CPU is remembered.
#[derive(Debug, Default)]
pub(crate) struct Ways {
    open: Map<u32, Open>,
    /// By CPU, the task that opens its main list.
    first_q: BTreeMap<u32, u32>,
    /// Laziness is on.
    pub(crate) lazy: bool,
}

/// A callback that was queued last on its CPU.
#[derive(Debug)]
struct Open {
    pid: u32,
    head: u64,
    /// It is the first of the main list.
    first_q: bool,
}

impl Ways {
    /// A callback is queued.
    pub(crate) fn queued(&mut self, record: &Record<'_>, head: u64) {
        let open = Open {
            pid: record.pid,
            head,
            first_q: self.first_q.remove(&record.cpu) == Some(record.pid),
        };
        self.open.insert(record.cpu, open);
    }

    /// An offload event: the callback that it is about, and whether that is the first of the main list.
    pub(crate) fn offload(
        &mut self,
        record: &Record<'_>,
        cpu: u32,
        what: &str,
    ) -> Option<(u64, bool)> {
        self.lazy |= tells_laziness(what);
        if cpu != record.cpu {
            return None;
        }
        if what == "FirstQ" {
            self.first_q.insert(cpu, record.pid);
            self.open.remove(&cpu);
            return None;
        }
        let open = self.open.get(&cpu).filter(|open| open.pid == record.pid)?;
        Some((open.head, open.first_q))
    }

    /// Any other event of the same task ends what belongs to its last callback, unless it is an interrupt's.
    pub(crate) fn go_on(&mut self, record: &Record<'_>) {
        let open = self.open.get(&record.cpu);
        if !record.flags().interrupt() && open.is_some_and(|open| open.pid == record.pid) {
            self.open.remove(&record.cpu);
        }
    }
}

/// An offload event after an arrival: where the callback went. The first event that tells decides; what
/// follows belongs to a later call, which may be silent.
pub(crate) fn after(now: Queued, first_q: bool, what: &str) -> Queued {
    match what {
        _ if now != Queued::Unknown => now,
        "FirstBQ" | "FirstBQwake" | "FirstBQnoWake" => Queued::OpenedBypass,
        "WakeEmpty" | "WakeEmptyIsDeferred" if !first_q => Queued::FlushedBypass,
        _ if is_main(what) => Queued::Main,
        _ => now,
    }
}

/// The wake-up after an arrival waits because interrupts are off.
pub(crate) fn is_put_off(what: &str) -> bool {
    matches!(what, "WakeEmptyIsDeferred" | "WakeOvfIsDeferred")
}

fn is_main(what: &str) -> bool {
    what.starts_with("Wake") && !what.starts_with("WakeLazy")
}

/// Offload events that are written only where laziness is on.
fn tells_laziness(what: &str) -> bool {
    matches!(what, "Lazy" | "WakeLazy" | "WakeLazyIsDeferred")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_the_module_text() {
        let go = |first_q, reasons: &[&str]| {
            let all = reasons.iter();
            all.fold(Queued::Unknown, |now, what| after(now, first_q, what))
        };
        assert_eq!(go(true, &["DoWake", "WakeEmpty"]), Queued::Main);
        assert_eq!(go(true, &["WakeEmptyIsDeferred"]), Queued::Main);
        assert_eq!(go(false, &["WakeNot"]), Queued::Main);
        let opened = go(false, &["FirstBQ", "FirstBQwake", "WakeLazy"]);
        assert_eq!(opened, Queued::OpenedBypass);
        assert_eq!(go(false, &["DoWake", "WakeEmpty"]), Queued::FlushedBypass);
        assert_eq!(go(false, &[]), Queued::Unknown);
        // A silent call that follows: not this one's.
        assert_eq!(go(false, &["WakeNot", "FirstBQ"]), Queued::Main);
    }
}
