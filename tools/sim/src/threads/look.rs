//! A view of a program's running threads.

use super::machine::Threads;
use crate::record::look::{InTheWay, Look, MOST, TaskLook, ended, functions};
use crate::record::stats::Totals;

impl Threads {
    /// What there is to be seen now. The delays of callbacks, grace periods and calls that are kept one by
    /// one are gone from the machine then.
    pub fn look(&mut self) -> Look {
        let counted = self.counted();
        let in_the_way = self.in_the_way();
        let known = &mut *self.world.known.borrow_mut();
        known.stats.calls.clear();
        let periods = std::mem::take(&mut known.stats.grace_periods);
        let threads = known.threads.iter().enumerate();
        let tasks = threads.map(|(number, it)| TaskLook {
            number,
            name: it.name.clone(),
            wakeups: it.wakeups,
            ran_ns: self.machine.busy_ns(number),
        });
        Look {
            at: self.machine.now(),
            tasks: tasks.collect(),
            grace_periods: ended(&periods),
            in_the_way,
            totals: Totals::default(),
            counted: Some(counted),
            functions: functions(&mut known.stats.funcs),
        }
    }

    fn in_the_way(&self) -> Vec<InTheWay> {
        let holdouts = self.machine.enter(|| self.world.process.holdouts());
        let known = self.world.known.borrow();
        let of_slot = |slot| {
            let thread = known.threads.iter().position(|it| it.slot == Some(slot))?;
            let it = &known.threads[thread];
            let open = u32::from(!it.sections.is_empty());
            Some(InTheWay::Thread(thread, it.name.clone(), open))
        };
        holdouts
            .into_iter()
            .filter_map(of_slot)
            .take(MOST)
            .collect()
    }
}
