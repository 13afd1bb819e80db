//! What a running program may change about the process's domain.

use super::process::Process;
use crate::inner::prim::{self, Ordering};

impl Process {
    /// Do owners run their callbacks themselves?
    pub(crate) fn runs_inline(&self) -> bool {
        self.inline.load(Ordering::Relaxed) != 0
    }

    /// Owners run their callbacks themselves from now on, or do not.
    pub(crate) fn set_inline(&self, inline: bool) {
        self.inline.store(u32::from(inline), Ordering::Relaxed);
    }

    /// Do others reclaim what owners retire?
    pub(crate) fn offloads(&self) -> bool {
        self.offload.load(Ordering::Relaxed) != 0
    }

    /// Others reclaim what owners retire from now on, or do not. Owners find out at their next push.
    pub(crate) fn set_offload(&'static self, offload: bool) {
        self.offload.store(u32::from(offload), Ordering::Relaxed);
        for queue in self.queues() {
            let _core = queue.lock();
            queue.ask_soon();
        }
    }

    /// Does the program run its code itself?
    pub(crate) fn is_drained(&self) -> bool {
        self.drained.load(Ordering::Relaxed) != 0
    }

    /// The program runs its code itself from now on, or does not.
    pub(crate) fn set_drained(&'static self, drained: bool) {
        self.drained.store(u32::from(drained), Ordering::Relaxed);
        self.lock().set_drained(drained);
        self.retime_all();
    }

    pub(crate) fn set_flush_times(&'static self, lazy_ns: u64, prompt_ns: u64) {
        self.lock().set_flush_times(lazy_ns, prompt_ns);
        self.retime_all();
    }

    /// What decides about deadlines has changed.
    pub(crate) fn retime_all(&'static self) {
        let mut earliest: Option<u64> = None;
        for queue in self.queues() {
            let mut core = queue.lock();
            let now = prim::now_ns();
            let arm = self.lock().retime(&mut core.cpu, now);
            earliest = arm.or(earliest); // each is earlier than those before
        }
        if let Some(deadline) = earliest {
            self.arm_alarm(deadline);
        }
    }

    pub(crate) fn offload_thread(&'static self, offload: Option<bool>) {
        let own = self
            .own_slot_or_register()
            .and_then(|slot| slot.queue_or_new());
        if let Some(queue) = own {
            let mut core = queue.lock();
            core.offload = offload;
            queue.ask_soon(); // its next push finds out
        }
    }
}
