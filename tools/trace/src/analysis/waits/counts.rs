//! Waits that are over, by task, by how they were recognised, by stack; and the longest ones.

use super::WAYS;
use super::stacks::STACKS_MOST;
use crate::Awaited;
use crate::analysis::bounded::{NAMES_MOST, row};
use crate::analysis::spread::{Room, Spread};
use crate::base::map::Map;
use crate::record::waits::By;

/// The longest ones that are shown.
const LONGEST: usize = 10;

/// Counts of the window.
#[derive(Debug, Default)]
pub(super) struct WaitCounts {
    /// By name and pid of the task.
    pub(super) tasks: Map<(u32, u32, Awaited), Tally>,
    pub(super) all: Map<Awaited, Tally>,
    pub(super) ways: [u64; WAYS.len()],
    pub(super) longest: Vec<Long>,
    pub(super) stacks: Map<u32, Spread>,
    room: Room,
    /// Waits whose end was lost.
    pub(super) lost: u64,
    /// Waits that have no row.
    pub(super) refused: u64,
}

/// Waits of a row.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) waits: Spread,
    /// Grace periods and scans that ended during them.
    pub(super) gps: u64,
    pub(super) scans: u64,
}

/// A wait that is over.
#[derive(Debug)]
pub(super) struct Long {
    /// From when until when.
    pub(super) span: (u64, u64),
    /// Name and pid.
    pub(super) task: (u32, u32),
    pub(super) by: By,
    pub(super) gps: u64,
    pub(super) scans: u64,
    pub(super) holdout: Option<String>,
    pub(super) stack: Option<u32>,
}

impl WaitCounts {
    pub(super) fn add(&mut self, wait: Long) {
        let (call, room) = (wait.by.what(), &mut self.room);
        self.ways[wait.by as usize] += 1;
        let all = self.all.entry(call).or_insert_with(|| Tally {
            waits: Spread::apart(),
            ..Tally::default()
        });
        all.add(&wait, room);
        match row(
            &mut self.tasks,
            NAMES_MOST,
            (wait.task.0, wait.task.1, call),
        ) {
            Some(task) => task.add(&wait, room),
            None => self.refused += 1,
        }
        if wait.span.1 < wait.span.0 {
            return;
        }
        // No more rows than there are stacks.
        let stack = wait.stack;
        if let Some(waits) = stack.and_then(|stack| row(&mut self.stacks, STACKS_MOST, stack)) {
            waits.tally(wait.duration());
        }
        let longer = |it: &Long| it.duration() >= wait.duration();
        let place = self.longest.partition_point(longer);
        if place < LONGEST {
            self.longest.insert(place, wait);
            self.longest.truncate(LONGEST);
        }
    }
}

impl Tally {
    fn add(&mut self, wait: &Long, room: &mut Room) {
        self.waits.between(wait.span.0, wait.span.1, room);
        self.gps += wait.gps;
        self.scans += wait.scans;
    }
}

impl Long {
    pub(super) fn duration(&self) -> u64 {
        self.span.1.saturating_sub(self.span.0)
    }
}
