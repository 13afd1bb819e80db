//! CPUs that go offline, and come back.
//!
//! A CPU goes offline between two pieces of work, after its interrupts and soft interrupts. The nearest
//! online CPU below it is its heir; below CPU 0 comes the last one. What happens, in this order:
//!
//! * its tasks move to the heir, kernel threads included; a task in a section is queued in the engine's tree
//!   first;
//! * a wake-up of an offload thread that the CPU has put off is delivered;
//! * the CPU is reported quiescent to both kinds of grace period, and *then* counts as absent;
//! * its callbacks move to the heir, unless they are offloaded: then its threads run elsewhere;
//! * its timers and clocks move, and sleeps that end there.
//!
//! The heir of callbacks is interrupted, because it may idle without a tick and would not see them.
//!
//! A CPU that comes back knows the state of its leaf, owes nothing, and takes a tick before it idles. The
//! last online CPU does not go.

use quiescent_kernel::CpuId;
use quiescent_kernel::offload::Todo;

use crate::idling::package::Who;
use crate::kernel::cpu::Core;
use crate::kernel::event::Event;
use crate::kernel::state::{Act, Machine, Rcu, System};

impl Machine {
    /// `cpu` goes offline at `at` nanoseconds, or as soon after it as it can; or comes back. Nothing happens
    /// if it is so already.
    ///
    /// # Panics
    /// If there is no such CPU.
    pub fn plug(&mut self, at: u64, cpu: CpuId, online: bool) {
        let cpus = self.sys.options.cpus;
        assert!(
            cpu < cpus,
            "CPU {cpu} of a machine of {cpus}: the last one is {}",
            cpus - 1
        );
        let at = at.max(self.sys.now);
        self.sys.queue.put(at, Event::Plug { cpu, online });
    }

    /// Is it online?
    pub fn is_online(&self, cpu: CpuId) -> bool {
        self.sys.cores[cpu as usize].online
    }

    /// Takes `cpu` offline; it has no work that cannot wait.
    pub(crate) fn dies(&mut self, cpu: CpuId) -> Act {
        let core = &mut self.sys.cores[cpu as usize];
        core.dying = false;
        core.online = false;
        if self.sys.cores.iter().all(|it| !it.online) {
            self.sys.cores[cpu as usize].online = true; // the last one
            return Act::Again;
        }
        self.sys.tally.departures += 1;
        let heir = self.sys.heir(cpu);
        if !self.rcu.watch[cpu as usize].is_watching() {
            self.rcu.watch[cpu as usize].idle_exit();
        }
        self.rcu.tasks_move(&mut self.sys, cpu, heir);
        self.rcu.deliver_wake(&mut self.sys, cpu);
        let (global, _, _, view) = self.rcu.parts();
        let effects = global.departed(cpu, &view);
        self.rcu.leave(cpu);
        self.rcu.effects(&mut self.sys, cpu, &effects);
        self.callbacks_move(cpu, heir);
        self.sys.wheel.migrate(cpu, heir);
        self.sys.expect_jiffy();
        let core = &mut self.sys.cores[cpu as usize];
        (core.idle, core.exp_asked) = (true, false);
        Act::Halt
    }

    fn callbacks_move(&mut self, cpu: CpuId, heir: CpuId) {
        let tick = self.sys.jiffies();
        let barrier = &mut self.barrier.engine;
        let (global, cpus, groups, view) = self.rcu.parts();
        let [gone, it] = cpus
            .get_disjoint_mut([cpu as usize, heir as usize])
            .expect("two CPUs");
        if gone.is_offloaded() {
            return;
        }
        let group = it.member().group();
        let (adopted, todo) = match group {
            Some(group) => {
                let group = groups[group as usize].as_mut().expect("it has members");
                let taken = it.take_over(gone, tick, barrier, group, global, &view);
                let taken = taken.expect("it was not offloaded");
                (taken.adopted, taken.todo)
            }
            None => (it.adopt(gone, barrier, global, &view), Todo::default()),
        };
        if adopted.entrained {
            self.barrier.push(&mut self.sys, cpu);
        }
        let mut done = std::mem::take(&mut self.sys.cores[cpu as usize].fifo);
        let pending = done.split_off(adopted.merged.done as usize);
        assert_eq!(pending.len() as u64, adopted.merged.pending, "all of them");
        let fifo = &mut self.sys.cores[heir as usize].fifo;
        done.append(fifo);
        *fifo = done;
        fifo.extend(pending);
        self.rcu.wake_gp(&mut self.sys, adopted.wake_gp, cpu);
        self.rcu.carry_out(&mut self.sys, cpu, group, todo);
        self.sys.send_ipi(&self.rcu, heir, cpu);
    }
}

impl Rcu {
    pub fn plugged(&mut self, sys: &mut System, cpu: CpuId, online: bool) {
        let core = &mut sys.cores[cpu as usize];
        core.dying = !online && core.online && sys.timekeeper != Some(cpu);
        if online && !core.online {
            self.comes(sys, cpu);
        }
        if sys.cores[cpu as usize].online {
            sys.blames(self, cpu, Who::Hotplug);
            sys.poke(cpu);
        }
    }

    fn comes(&mut self, sys: &mut System, cpu: CpuId) {
        let core = &mut sys.cores[cpu as usize];
        *core = Core {
            work: core.work,
            ksoftirqd: core.ksoftirqd,
            fifo: std::mem::take(&mut core.fifo), // offloaded ones are where they were
            ..Core::new()
        };
        self.arrive(cpu);
        sys.wheel.start_tick(cpu);
        sys.expect_jiffy();
    }

    fn tasks_move(&mut self, sys: &mut System, cpu: CpuId, heir: CpuId) {
        let core = &mut sys.cores[cpu as usize];
        let left = std::mem::take(&mut core.left);
        if let Some(task) = sys.turn_ends(cpu) {
            sys.cores[cpu as usize].ready.push_front(task);
            sys.tasks[task].left = left;
            self.note_switch(sys, cpu, Some(task));
        }
        for task in std::mem::take(&mut sys.cores[cpu as usize].ready) {
            sys.make_ready(self, task, heir, cpu);
        }
    }
}
