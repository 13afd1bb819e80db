//! The record of what slots have to tell, kept outside of the model: for the scenarios in which slots change
//! hands.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Range;

use crate::rcu::check::{SlotView, observe_stalls, thread_id};
use crate::rcu::report::StallReport;

thread_local! {
    /// Events so far. Model threads are fibers on one OS thread.
    static EVENTS: Cell<u64> = const { Cell::new(0) };
    /// Each thread's sections: the events between which they may be open.
    static SECTIONS: RefCell<BTreeMap<u32, Vec<Range<u64>>>> = const { RefCell::new(BTreeMap::new()) };
    /// The event at which each thread's last report began.
    static REPORTS: RefCell<BTreeMap<u32, u64>> = const { RefCell::new(BTreeMap::new()) };
    /// Called when a report begins and ends.
    static WINDOW: Cell<fn(bool)> = const { Cell::new(|_| ()) };
    /// Readers that reports have named in this test, over all executions.
    static NAMED: Cell<u64> = const { Cell::new(0) };
}

fn event() -> u64 {
    EVENTS.set(EVENTS.get() + 1);
    EVENTS.get()
}

/// An execution begins: reports are checked. `window` is called with true when one begins, and with false
/// when it is made.
pub fn open(window: fn(bool)) {
    WINDOW.set(window);
    EVENTS.set(0);
    SECTIONS.take();
    REPORTS.take();
    observe_stalls(begins, made);
}

/// The number of readers that reports have named in this test.
pub fn named() -> u64 {
    NAMED.get()
}

/// The calling thread is about to open a section.
pub fn enters() {
    let section = event()..u64::MAX;
    SECTIONS.with_borrow_mut(|sections| sections.entry(thread_id()).or_default().push(section));
}

/// The end of its section is visible to all.
pub fn has_left() {
    let end = event();
    SECTIONS.with_borrow_mut(|sections| {
        if let Some(section) = sections
            .get_mut(&thread_id())
            .and_then(|all| all.last_mut())
        {
            section.end = end;
        }
    });
}

/// The calling thread begins a report.
fn begins() {
    let begun = event();
    REPORTS.with_borrow_mut(|reports| reports.insert(thread_id(), begun));
    WINDOW.get()(true);
}

/// A reader that is named blocked the grace period: its section was open when the report began.
fn made(stall: &StallReport) {
    WINDOW.get()(false);
    let begun = REPORTS.with_borrow(|reports| reports[&thread_id()]);
    for reader in &stall.readers {
        let thread = reader.holdout.thread_id;
        let sections = SECTIONS.with_borrow(|sections| sections.get(&thread).cloned());
        let sections = sections.unwrap_or_default();
        assert!(
            sections.iter().any(|section| section.contains(&begun)),
            "a report of {begun} names thread {thread}, whose sections were open in {sections:?}"
        );
        NAMED.set(NAMED.get() + 1);
    }
}

/// The life of a thread in a slot, as the thread has counted it.
#[derive(Debug)]
pub struct Tenancy {
    number: u32,
    /// The generations of the process's domain and of the records, before its first section.
    generation: u64,
    records: Vec<u64>,
    /// Its sections in the process's domain, and in the one domain of the scenario.
    pub sections: [u64; 2],
    /// Its own setting.
    pub offload: Option<bool>,
}

impl Tenancy {
    /// The calling thread has just got this slot.
    pub fn begin(view: &SlotView) -> Tenancy {
        Tenancy {
            number: view.number,
            generation: view.generation,
            records: view
                .records
                .iter()
                .map(|record| record.generation)
                .collect(),
            sections: [0; 2],
            offload: None,
        }
    }

    /// The slot tells of its owner, the calling thread, what is true: it has `open` sections now, in the
    /// process's domain and in the other.
    pub fn check(&self, view: &SlotView, open: [u64; 2]) {
        let expect = |is_so: bool, what: &str| {
            let thread = thread_id();
            assert!(
                is_so,
                "wrong {what}: thread {thread}, {self:?}, {open:?}, {view:?}"
            );
        };
        expect(view.number == self.number, "slot");
        expect(view.present, "presence: the slot is free");
        expect(view.thread == thread_id(), "thread");
        expect(view.sections == open[0], "sections");
        let generation = self.generation + self.sections[0];
        expect(view.generation == generation, "generation");
        for (place, record) in view.records.iter().enumerate() {
            let before = self.records.get(place).copied().unwrap_or(0);
            expect(record.slot == self.number, "slot of a record");
            expect(record.sections == open[1], "sections of a record");
            let generation = before + self.sections[1];
            expect(record.generation == generation, "generation of a record");
        }
        for queue in &view.queues {
            expect(queue.attached == queue.found, "owner of a queue");
            expect(!queue.running, "callback that runs");
        }
        let home = view.queues.iter().filter(|queue| queue.home);
        home.for_each(|queue| expect(queue.offload == self.offload, "offload"));
    }
}
