//! All state of a domain's engine as one value, and the calls on it.
//!
//! A host keeps the parts of a [`World`] separately, each behind its own lock. Here they are a value, which
//! can be compared.

use std::collections::BTreeMap;

use super::{BarrierInput, CpuInput, ExpInput, Input, Output};
use quiescent_kernel::Global;
use quiescent_kernel::barrier::Barrier;
use quiescent_kernel::blocked::Tasks;
use quiescent_kernel::cpu::Cpu;
use quiescent_kernel::host::{CpuId, Host};
use quiescent_kernel::offload::{Group, GroupId};

/// The engine's state of a domain: the shared state, every CPU's, and the barrier's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    /// Grace periods.
    pub global: Global,
    /// Callbacks. A CPU that has had none is not in the map; the first call for it adds it.
    pub cpus: BTreeMap<CpuId, Cpu>,
    /// The barrier.
    pub barrier: Barrier,
    /// Offload groups.
    pub groups: BTreeMap<GroupId, Group>,
}

impl World {
    /// A world in which no CPU has had a callback and no barrier has been made.
    pub fn new(global: Global) -> World {
        World {
            global,
            cpus: BTreeMap::new(),
            barrier: Barrier::new(),
            groups: BTreeMap::new(),
        }
    }

    /// Makes the call that `input` stands for: of the grace periods, of a CPU, of an offload group or of the barrier.
    pub fn apply(&mut self, input: Input, host: &impl Host) -> Output {
        match input {
            Input::Cpu(id, CpuInput::Adopt { gone }) => self.adopt(id, gone, host),
            Input::Cpu(id, input) => self.apply_to_cpu(id, input, host),
            Input::Offload(input) => self.apply_offload(input, host),
            Input::Barrier(input) => apply_to_barrier(&mut self.barrier, input),
            input => apply(&mut self.global, input, host),
        }
    }

    fn apply_to_cpu(&mut self, id: CpuId, input: CpuInput, host: &impl Host) -> Output {
        let cpu = self.cpus.entry(id).or_insert_with(|| Cpu::new(id));
        let global = &mut self.global;
        match input {
            CpuInput::Call { bytes, ns } => Output::Called(cpu.call(global, bytes, ns, host)),
            CpuInput::NoteGpChanges => Output::Noticed(cpu.note_gp_changes(global, host)),
            CpuInput::Stamp => Output::Done(cpu.stamp(global, host)),
            CpuInput::StampUnlocked => Output::Done(cpu.stamp_unlocked(global, host)),
            CpuInput::CorePending => Output::Done(cpu.core_pending(global)),
            CpuInput::Core => Output::Noticed(cpu.core(global, host)),
            CpuInput::BeginBatch { context } => {
                let begun = cpu.begin_batch(global, context);
                Output::Batch(begun.map(|(range, batch)| (range.start, range.end, batch)))
            }
            CpuInput::EndBatch {
                start,
                end,
                invoked,
            } => Output::Done(cpu.end_batch(global, start..end, invoked)),
            CpuInput::Credited => {
                cpu.credited(global);
                Output::Done(true)
            }
            CpuInput::EntrainBarrier => Output::Visit(cpu.entrain_barrier(&mut self.barrier)),
            CpuInput::Adopt { .. } => Output::Elsewhere, // needs two CPUs: see `apply`
            input => apply_to_machine_cpu(cpu, global, input, host),
        }
    }

    /// CPU `id` takes over the callbacks of `gone`, which is another CPU.
    fn adopt(&mut self, id: CpuId, gone: CpuId, host: &impl Host) -> Output {
        let mut source = self.cpus.remove(&gone).unwrap_or_else(|| Cpu::new(gone));
        let cpu = self.cpus.entry(id).or_insert_with(|| Cpu::new(id));
        let adopted = cpu.adopt(&mut source, &mut self.barrier, &mut self.global, host);
        self.cpus.insert(gone, source);
        Output::Adopted(adopted)
    }
}

/// The calls of a kernel's CPU: ticks, context switches and idle.
fn apply_to_machine_cpu(
    cpu: &mut Cpu,
    global: &mut Global,
    input: CpuInput,
    host: &impl Host,
) -> Output {
    match input {
        CpuInput::Tick { at } => Output::Ticked(cpu.tick(global, at, host)),
        CpuInput::IrqEnter => Output::Done(cpu.irq_enter(global)),
        CpuInput::Online => {
            cpu.online(global, host);
            Output::Done(true)
        }
        CpuInput::NoteQs => Output::Done(cpu.note_qs(host)),
        CpuInput::CheckQs => Output::Reported(cpu.check_qs(global, host)),
        CpuInput::ReportQs => Output::Reported(cpu.report_qs(global, host)),
        CpuInput::ContextSwitch => Output::Answered(cpu.context_switch(global, host)),
        CpuInput::CondResched => Output::Answered(cpu.cond_resched(global, host)),
        CpuInput::SetOffloaded { offloaded } => {
            cpu.set_offloaded(offloaded);
            Output::Done(true)
        }
        CpuInput::QueuedLazy => {
            cpu.queued_lazy();
            Output::Done(true)
        }
        CpuInput::RanLazy { n } => {
            cpu.ran_lazy(n);
            Output::Done(true)
        }
        CpuInput::IdleNeeds { jiffies } => Output::IdleLook(cpu.idle_needs(global, jiffies, host)),
        CpuInput::PrepareForIdle { jiffies } => {
            Output::Done(cpu.prepare_for_idle(global, jiffies, host))
        }
        CpuInput::CleanupAfterIdle { jiffies } => {
            Output::IdleLook(cpu.cleanup_after_idle(global, jiffies, host))
        }
        _ => Output::Elsewhere, // all other inputs are matched before
    }
}

fn apply_to_barrier(barrier: &mut Barrier, input: BarrierInput) -> Output {
    match input {
        BarrierInput::Snap => Output::Seq(barrier.snap()),
        BarrierInput::Start { snap } => Output::Begin(barrier.start(snap)),
        BarrierInput::VisitedAll => Output::Done(barrier.visited_all()),
        BarrierInput::OneDone => Output::Done(barrier.one_done()),
        BarrierInput::End => {
            barrier.end();
            Output::Done(true)
        }
    }
}

/// Makes a call of a [`Global`]. A tree that cannot be built, or is refused, yields `Done(false)`.
fn apply(global: &mut Global, input: Input, host: &impl Host) -> Output {
    match input {
        Input::WaitForGp { leaf } => {
            let (ticket, effects) = global.wait_for_gp(leaf, host);
            Output::Ticket(ticket, effects)
        }
        Input::StartPoll { leaf } => {
            let (cookie, effects) = global.start_poll(leaf, host);
            Output::Cookie(cookie, effects)
        }
        Input::TryDrive { cpu } => Output::Done(global.try_drive(cpu)),
        Input::Step { now } => Output::Effects(global.step(now, host)),
        Input::Fenced => Output::Next(global.fenced()),
        Input::Leave => {
            global.leave();
            Output::Done(true)
        }
        Input::Grow { cpus } => Output::Done(match Global::new_tree(global.config(), cpus) {
            Ok(tree) => global.grow(tree).is_ok(),
            Err(_) => false,
        }),
        Input::ReportQs { cpu, noted } => Output::Effects(global.report_qs(cpu, noted, host)),
        Input::Departed { cpu } => Output::Effects(global.departed(cpu, host)),
        Input::GrowTasks { tasks } => Output::Done(match Tasks::new(tasks) {
            Ok(table) => global.grow_tasks(table).is_ok(),
            Err(_) => false,
        }),
        Input::ContextSwitch { cpu, preempted } => {
            Output::Effects(global.context_switch(cpu, preempted, host))
        }
        Input::ReadUnlock {
            cpu,
            task,
            disabled,
        } => Output::Unlocked(global.read_unlock(cpu, task, disabled, host)),
        Input::Exp(input) => apply_exp(global, input, host),
        Input::WaitersWoken { pos } => {
            global.waiters_woken(pos);
            Output::Done(true)
        }
        Input::SetFqsWaits { first, next } => {
            global.set_fqs_waits(first, next);
            Output::Done(true)
        }
        Input::ForceQs => Output::Effects(global.force_qs()),
        Input::SetStallTimeout { seconds } => Output::Done(global.set_stall_timeout(seconds)),
        Input::ResetStalls => {
            global.reset_stalls();
            Output::Done(true)
        }
        Input::IrqWorkRan { cpu } => {
            global.irq_work_ran(cpu);
            Output::Done(true)
        }
        Input::Cpu(..) | Input::Barrier(_) | Input::Offload(_) => Output::Elsewhere,
    }
}

fn apply_exp(global: &mut Global, input: ExpInput, host: &impl Host) -> Output {
    match input {
        ExpInput::Snap => Output::Seq(global.exp_snap(host)),
        ExpInput::Climb { leaf, cookie } => Output::Climb(global.exp_climb(leaf, cookie, host)),
        ExpInput::Lock => Output::Done(global.exp_lock()),
        ExpInput::Begin { cookie } => Output::ExpBegin(global.exp_begin(cookie, host)),
        ExpInput::Step { on, now } => Output::ExpEffects(global.exp_step(on, now, host)),
        ExpInput::Fenced => {
            global.exp_fenced(host);
            Output::Done(true)
        }
        ExpInput::Asked { refused } => Output::ExpEffects(global.exp_asked(refused, host)),
        ExpInput::Interrupt { cpu, at } => Output::Handled(global.exp_interrupt(cpu, at)),
        ExpInput::Wake => Output::ExpWake(global.exp_wake(host)),
        ExpInput::Release => {
            global.exp_release();
            Output::Done(true)
        }
        ExpInput::SetExpedite(policy) => {
            global.set_expedite(policy);
            Output::Done(true)
        }
        ExpInput::StartPoll { leaf } => Output::ExpPoll(global.start_poll_expedited(leaf)),
        ExpInput::PollWork { leaf } => Output::Done(global.exp_poll_work(leaf)),
    }
}
