//! A look at a program's threads while they go on. The twin of the kernel's in `look.rs` above.

use super::core::Threads;
use crate::record::look::{InTheWay, Look, MOST, TaskLook, ended, functions};
use crate::record::stats::Totals;

impl Threads {
    /// What there is to be seen now. The delays of callbacks, grace periods and calls that are kept one by one are gone from the machine then.
    pub fn look(&mut self) -> Look {
        self.stats.calls.clear();
        let periods = std::mem::take(&mut self.stats.grace_periods);
        let threads = self.threads.iter().enumerate();
        let tasks = threads.map(|(number, it)| TaskLook {
            number,
            name: it.name.clone(),
            wakeups: it.wakeups,
            ran_ns: it.busy_ns,
        });
        Look {
            at: self.now(),
            tasks: tasks.collect(),
            grace_periods: ended(&periods),
            in_the_way: self.in_the_way(),
            totals: Totals::default(),
            counted: Some(self.counted()),
            functions: functions(&mut self.stats.funcs),
        }
    }

    fn in_the_way(&self) -> Vec<InTheWay> {
        let of_slot = |slot| {
            let thread = self.threads.iter().position(|it| it.slot == Some(slot))?;
            let it = &self.threads[thread];
            let open = u32::from(it.section.is_some());
            Some(InTheWay::Thread(thread, it.name.clone(), open))
        };
        let slots = self.global.holdouts().map(|slot| slot as usize);
        slots.filter_map(of_slot).take(MOST).collect()
    }
}
