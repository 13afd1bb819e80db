//! Why RCU's threads woke up: the cause of each wake-up, and the callback at the start of the chain that led
//! to it.
//!
//! ```text
//! callback queued ──► rcuog/N, or a soft interrupt, or a task ──► grace period ──► rcuog/N ──► rcuop/N
//!   (empty list)          asks for a grace period               rcu_preempt: request,
//!                                                               scans, last report
//! ```
//!
//! The cause follows from what the thread said before it slept, and by what was traced since; no time is
//! compared:
//!
//! | thread | it sleeps after | and since then | cause |
//! |---|---|---|---|
//! | `rcu_preempt` | `reqwait` | | `request` |
//! | | `fqswait` | the root was left without a bit, by another CPU | `last report` |
//! | | `fqswait` | not so | `scan due` |
//! | `rcuog/N` | `StartWait` | | `grace period over` |
//! | | `Sleep` | `rcu_nocb_wake … Timer` | `timer` |
//! | | `Sleep` | not so | `callback queued` |
//! | `rcuop/N` | | | `callbacks done` |
//! | RCU softirq | | a tick on its CPU, and nothing that ends it | `tick` |
//! | | | not so | `other` |
//!
//! Anything else is `unknown`: the trace began in between. The waker is the task of `sched_waking` where that
//! is traced, else that of `sched_wakeup`; in an interrupt no task is named. The origin is `origin.rs`'s:
//! that of the grace period that is requested, runs, or has ended.

use super::Seen;
use super::bounded::{NAMES_MOST, Waiting, row};
use super::findings::{Findings, Table, count};
use super::origin::{Origin, Origins, QueuedCallback, context};
use crate::base::map::Map;
use crate::base::names::{kind_of, numbered, short};
use crate::{CpuSet, Event, Record, Role, role};

/// RCU's soft interrupt.
pub(crate) const RCU_SOFTIRQ: u32 = 9;

/// Threads whose state is followed.
const THREADS_MOST: usize = 1 << 14;

/// Chains that have a row of their own.
const CHAINS_MOST: usize = 4096;

/// What a thread of RCU waits for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Sleeps {
    #[default]
    Unknown,
    ForRequest,
    ForScan,
    ForGracePeriod,
    ForCallbacks,
}

/// What led to wake-ups, in numbers.
#[derive(Debug, Default, Clone, Copy)]
struct Chain {
    gps: u64,
    gp_thread: u64,
    group: u64,
    invoker: u64,
}

/// Follows chains through a trace.
#[derive(Debug, Default)]
pub(crate) struct Chains {
    origins: Origins,
    gp_thread: Sleeps,
    /// The root has no bit left, and the grace-period thread did not do it itself.
    reported: bool,
    /// The root has no bit left.
    done: bool,
    groups: Waiting<u32, Sleeps, THREADS_MOST>,
    /// A timer of offloading expired, and no group's thread has been woken since.
    timer: bool,
    /// The callback for which a group's thread is to be woken.
    queued: Option<QueuedCallback>,
    ticked: CpuSet,
    wakers: Waiting<u32, String, THREADS_MOST>,
    /// By thread's kind, whether its threads have numbers, cause, waker; names by number.
    causes: Map<(u32, bool, &'static str, u32), u64>,
    chains: Map<Origin, Chain>,
    refused: u64,
}

impl Chains {
    pub(crate) fn reset(&mut self) {
        self.causes.clear();
        self.chains.clear();
        self.refused = 0;
    }

    #[inline(always)]
    pub(crate) fn see(&mut self, seen: &Seen<'_>) {
        let (record, event) = (seen.record, seen.event);
        self.origins.see(record, event);
        match *event {
            Event::GracePeriod { what, .. } => self.grace_period(seen, what),
            Event::Report {
                level: 0, left: 0, ..
            } => {
                self.done = true;
                self.reported |=
                    role(record.task()) != Role::GracePeriods || record.flags().softirq();
            }
            Event::FutureGp {
                what: "StartWait", ..
            } if role(record.task()) == Role::OffloadGroup => {
                self.groups.insert(record.pid, Sleeps::ForGracePeriod);
            }
            Event::NocbWake { cpu, what } => self.offload(record, cpu, what),
            Event::Waking { pid, .. } => {
                self.wakers.insert(pid, context(record).to_owned());
            }
            Event::Wakeup {
                task,
                pid,
                target,
                new: false,
            } => self.woken(seen, task, pid, target),
            Event::Tick { .. } => self.ticked.insert(record.cpu),
            Event::IdleEntry { cpu, .. } | Event::IdleExit { cpu } => self.ticked.remove(cpu),
            Event::Switch { .. } => self.ticked.remove(record.cpu),
            Event::Softirq { vec: RCU_SOFTIRQ } => {
                let cause = if self.ticked.contains(record.cpu) {
                    "tick"
                } else {
                    "other"
                };
                if seen.inside && seen.filter.cpu(record.cpu) && seen.filter.threads.is_empty() {
                    self.count("RCU softirq", cause, "interrupt");
                }
                self.ticked.remove(record.cpu);
            }
            _ => {}
        }
    }

    fn grace_period(&mut self, seen: &Seen<'_>, what: &str) {
        match what {
            "start" => {
                (self.done, self.reported) = (false, false);
                self.gp_thread = Sleeps::Unknown;
                let origin = self.origins.current;
                if seen.inside
                    && let Some(chain) = self.chain(origin)
                {
                    chain.gps += 1;
                }
            }
            "reqwait" => self.gp_thread = Sleeps::ForRequest,
            "fqswait" => self.gp_thread = Sleeps::ForScan,
            _ => {}
        }
    }

    fn offload(&mut self, record: &Record<'_>, cpu: u32, what: &str) {
        match what {
            "Sleep" if role(record.task()) == Role::OffloadGroup => {
                self.groups.insert(record.pid, Sleeps::ForCallbacks);
            }
            "Timer" => self.timer = true,
            "DoWake" | "DeferredWake" | "WakeEmptyIsDeferred" | "WakeOvfIsDeferred" => {
                self.queued = self.origins.last_queued(cpu);
            }
            _ => {}
        }
    }

    fn woken(&mut self, seen: &Seen<'_>, task: &str, pid: u32, target: u32) {
        let role = role(task);
        if !role.serves_callbacks() {
            return;
        }
        let (cause, origin) = match role {
            Role::GracePeriods => self.cause_of_gp_thread(),
            Role::OffloadGroup => self.cause_of_group(pid, task),
            _ => ("callbacks done", self.over()),
        };
        let waker = self.wakers.remove(&pid);
        if !seen.wants(target, task, pid) {
            return;
        }
        let waker = waker.unwrap_or_else(|| context(seen.record).to_owned());
        self.count(task, cause, &waker);
        if let Some(chain) = self.chain(origin) {
            match role {
                Role::GracePeriods => chain.gp_thread += 1,
                Role::OffloadGroup => chain.group += 1,
                _ => chain.invoker += 1,
            }
        }
    }

    fn cause_of_gp_thread(&mut self) -> (&'static str, Option<Origin>) {
        match std::mem::replace(&mut self.gp_thread, Sleeps::Unknown) {
            Sleeps::ForRequest => ("request", self.origins.pending),
            Sleeps::ForScan if self.reported => ("last report", self.origins.current),
            Sleeps::ForScan => ("scan due", self.origins.current),
            _ => ("unknown", None),
        }
    }

    fn cause_of_group(&mut self, pid: u32, task: &str) -> (&'static str, Option<Origin>) {
        let timer = std::mem::take(&mut self.timer);
        match self.groups.remove(&pid) {
            Some(Sleeps::ForGracePeriod) => ("grace period over", self.over()),
            Some(Sleeps::ForCallbacks) => {
                let requester = self.origins.names.number(task);
                let queued = |(function, task)| Origin([function, task, requester]);
                let origin = self.queued.map(queued);
                (if timer { "timer" } else { "callback queued" }, origin)
            }
            _ => ("unknown", None),
        }
    }

    /// The grace period that is as good as over, or has ended last.
    fn over(&self) -> Option<Origin> {
        self.origins
            .current
            .filter(|_| self.done)
            .or(self.origins.ended)
    }

    fn count(&mut self, thread: &str, cause: &'static str, waker: &str) {
        let (kind, has_number) = kind_of(short(thread));
        let names = &mut self.origins.names;
        let key = (names.number(kind), has_number, cause, names.number(waker));
        match row(&mut self.causes, NAMES_MOST, key) {
            Some(n) => *n += 1,
            None => self.refused += 1,
        }
    }

    fn chain(&mut self, origin: Option<Origin>) -> Option<&mut Chain> {
        let origin = origin.unwrap_or_else(|| self.origins.untold());
        let chain = row(&mut self.chains, CHAINS_MOST, origin);
        self.refused += u64::from(chain.is_none());
        chain
    }

    pub(crate) fn finish(self, findings: &mut Findings) {
        let title = "Why RCU's threads woke up, and who woke them";
        let mut causes = Table::new(title, "why ", &["thread", "cause", "woken by"]);
        for (&(kind, has_number, cause, waker), n) in &self.causes {
            let [kind, waker] = [kind, waker].map(|number| self.origins.names.name(number));
            let thread = numbered(kind, has_number);
            let wakeups = ("wakeups", "wakeups", "count", count(*n));
            causes.add(&[&thread, cause, waker], &[wakeups]);
        }
        causes.sort_by(0);
        let title = "From the callback that was queued to the threads that woke for it";
        let mut chains = Table::new(title, "chain ", &["callback", "queued by", "asked by"]);
        for (origin, c) in &self.chains {
            let all = c.gp_thread + c.group + c.invoker;
            let gp_thread = count(c.gp_thread);
            let figures = [
                ("gps", "grace_periods", "count", count(c.gps)),
                ("wakeups", "wakeups", "count", count(all)),
                ("gp thread", "wakeups_gp_thread", "count", gp_thread),
                ("rcuog", "wakeups_rcuog", "count", count(c.group)),
                ("rcuop", "wakeups_rcuop", "count", count(c.invoker)),
            ];
            chains.add(&self.origins.labels(*origin), &figures);
        }
        chains.sort_by(1);
        findings.show([causes, chains]);
        findings.about_names(self.origins.names.refused);
        let what = "wake-ups or grace periods had no room in the tables of causes and chains";
        findings.say(self.refused, what);
    }
}

#[cfg(test)]
mod tests;
