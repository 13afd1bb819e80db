//! Counters of a kernel's RCU, from events as they arrive: exact from RCU's own events, an estimate from
//! frees.
//!
//! **Own events**: `rcu_callback` and its kin are counted by function when they are queued and when they are
//! invoked; the address of the callback's head gives the time in between. A lazy callback, or one of a burst
//! on an offloaded CPU, has no event when it is queued: it is counted when it is invoked.
//!
//! **Frees**: an object freed inside RCU's soft interrupt (between `softirq_entry` and `softirq_exit` of
//! vector 9 on that CPU, outside of nested hard interrupts), or in a thread that invokes callbacks
//! (`rcuop/N`, `rcuc/N`), counts as one callback. So a callback that frees three objects counts three times,
//! and one that frees none is missed; the queueing time is not known.

use quiescent_trace::{CpuSet, Event, Reader, Record, Role, role};
use std::collections::{BTreeMap, HashMap};

/// RCU's soft interrupt.
const RCU: u32 = 9;

/// Waiting callbacks that are remembered, at most; the delays of others are not known, and they are counted.
const MOST_WAITING: usize = 1 << 17;

/// Names, at most; further ones are `(others)`.
const MOST_NAMES: usize = 1024;

/// Counts of a function.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FunctionCounters {
    /// Times it was queued.
    pub queued: u64,
    /// Times it was executed; by frees: objects.
    pub executed: u64,
    /// Of these, those with a known queueing time.
    pub timed: u64,
    /// Sum of the delays of these, ns.
    pub waited_ns: u64,
}

/// All counts since the beginning.
#[derive(Debug, Clone, Default)]
pub struct Counters {
    /// By function, or by what was freed where.
    pub functions: BTreeMap<String, FunctionCounters>,
    /// Grace periods that have ended.
    pub grace_periods: u64,
    /// Scans for idle CPUs.
    pub scans: u64,
    /// Lines that could not be read.
    pub unread: u64,
    /// By head: when it was queued.
    waiting: HashMap<u64, u64>,
    /// CPUs in RCU's soft interrupt.
    inside: CpuSet,
}

impl Counters {
    /// Counts the events in whole lines of ftrace text.
    ///
    /// ```
    /// let mut counters = quiescent_live::Counters::default();
    /// counters.feed(b"\
    ///     rm-7 [001] d..2. 1.000000: rcu_callback: rcu_preempt rhp=ff10 func=__d_free 3\n\
    ///     <idle>-0 [001] ..s1. 1.005000: rcu_invoke_callback: rcu_preempt rhp=ff10 func=__d_free\n");
    /// let function = counters.functions["__d_free"];
    /// assert_eq!((function.queued, function.executed, function.waited_ns), (1, 1, 5_000_000));
    /// ```
    pub fn feed(&mut self, text: &[u8]) {
        let mut reader = Reader::new("trace_pipe", text);
        // A slice never fails.
        while let Ok(Some(record)) = reader.next_record() {
            self.note(&record);
        }
        self.unread += reader.summary().malformed.count();
    }

    fn note(&mut self, record: &Record<'_>) {
        match record.event() {
            "kfree" | "kmem_cache_free" => return self.freed(record),
            _ => {}
        }
        let Ok(event) = record.decode() else {
            self.unread += 1;
            return;
        };
        match event {
            Event::Softirq { vec: RCU } => self.inside.insert(record.cpu),
            Event::SoftirqExit { vec: RCU } => self.inside.remove(record.cpu),
            Event::Callback { head, function } => self.queued(function, head, record.time_ns),
            Event::Kvfree { head } => self.queued(KVFREE, head, record.time_ns),
            Event::Invoke { head, function } => self.executed(function, head, record.time_ns),
            Event::InvokeKvfree { head } => self.executed(KVFREE, head, record.time_ns),
            Event::InvokeBulk { records } => self.function(KVFREE).executed += records,
            Event::GracePeriod { what: "end", .. } => self.grace_periods += 1,
            Event::GracePeriod {
                what: "fqsstart", ..
            } => self.scans += 1,
            _ => {}
        }
    }

    fn function(&mut self, name: &str) -> &mut FunctionCounters {
        let is_new = !self.functions.contains_key(name);
        let name = match is_new && self.functions.len() >= MOST_NAMES {
            true => "(others)",
            false => name,
        };
        self.functions.entry(name.to_owned()).or_default()
    }

    fn queued(&mut self, name: &str, head: u64, at_ns: u64) {
        self.function(name).queued += 1;
        if self.waiting.len() < MOST_WAITING {
            self.waiting.insert(head, at_ns);
        }
    }

    fn executed(&mut self, name: &str, head: u64, at_ns: u64) {
        let queued = self.waiting.remove(&head);
        let function = self.function(name);
        function.executed += 1;
        if let Some(queued) = queued {
            function.timed += 1;
            function.waited_ns += at_ns.saturating_sub(queued);
        }
    }

    /// `call_site=SYMBOL+0x1/0x2 ptr=… name=CACHE`.
    fn freed(&mut self, record: &Record<'_>) {
        let by_thread =
            role(record.task()) == Role::OffloadInvoker || record.task().starts_with("rcuc/");
        let in_softirq = record.flags().softirq() && self.inside.contains(record.cpu);
        if record.flags().hardirq() || !(by_thread || in_softirq) {
            return;
        }
        let site = record.text().split_once("call_site=").map(|it| it.1);
        let site = site.and_then(|it| it.split([' ', '+']).next());
        let Some(site) = site.filter(|it| !it.is_empty()) else {
            self.unread += 1;
            return;
        };
        let name = match record.text().split_once(" name=") {
            Some((_, cache)) => format!("{} by {site}", cache.trim_end()),
            None => format!("kfree by {site}"),
        };
        self.function(&name).executed += 1;
    }
}

/// Blocks that are freed without a function of their own.
const KVFREE: &str = "kvfree_rcu";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frees_are_counted_inside_of_rcu_only() {
        let mut counters = Counters::default();
        counters.feed(b"\
            a-1 [000] ..s1. 1.000000: kfree: call_site=before+0x1/0x2 ptr=1\n\
            a-1 [000] ..s1. 1.000001: softirq_entry: vec=9 [action=RCU]\n\
            a-1 [000] ..s1. 1.000002: kmem_cache_free: call_site=i_callback+0x1/0x2 ptr=1 name=inode_cache\n\
            a-1 [000] ..s1. 1.000003: kfree: call_site=free_it+0x1/0x2 [mod] ptr=1\n\
            a-1 [000] d.h1. 1.000004: kfree: call_site=in_irq+0x1/0x2 ptr=1\n\
            a-1 [001] ..s1. 1.000005: kfree: call_site=elsewhere+0x1/0x2 ptr=1\n\
            a-1 [000] ..s1. 1.000006: softirq_exit: vec=9 [action=RCU]\n\
            a-1 [000] ..s1. 1.000007: kfree: call_site=after+0x1/0x2 ptr=1\n\
            rcuop/1-9 [001] ..... 1.000008: kfree: call_site=offloaded+0x1/0x2 ptr=1\n");
        let names: Vec<&str> = counters.functions.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                "inode_cache by i_callback",
                "kfree by free_it",
                "kfree by offloaded"
            ]
        );
        assert_eq!(counters.unread, 0);
    }

    #[test]
    fn grace_periods_and_callbacks_that_were_not_seen_to_be_queued() {
        let mut counters = Counters::default();
        counters.feed(b"\
            rcu_preempt-15 [000] ..... 1.0: rcu_grace_period: rcu_preempt 5 fqsstart\n\
            rcu_preempt-15 [000] ..... 1.1: rcu_grace_period: rcu_preempt 5 end\n\
            a-1 [000] ..s1. 1.2: rcu_invoke_callback: rcu_preempt rhp=10 func=lazy_one\n\
            a-1 [000] ..s1. 1.3: rcu_invoke_kfree_bulk_callback: rcu_preempt bulk=0x1 nr_records=5\n\
            what is this?\n");
        assert_eq!(
            (counters.grace_periods, counters.scans, counters.unread),
            (1, 1, 1)
        );
        let lazy = counters.functions["lazy_one"];
        assert_eq!((lazy.queued, lazy.executed, lazy.timed), (0, 1, 0));
        assert_eq!(counters.functions[KVFREE].executed, 5);
    }

    #[test]
    fn names_do_not_grow_without_bound() {
        let mut counters = Counters::default();
        for n in 0..2 * MOST_NAMES {
            counters.function(&n.to_string()).executed += 1;
        }
        assert_eq!(counters.functions.len(), MOST_NAMES + 1);
        assert_eq!(counters.functions["(others)"].executed, MOST_NAMES as u64);
    }
}
