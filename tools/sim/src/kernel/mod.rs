//! The machine of a kernel: CPUs, interrupts, timers, the idle loop, the threads of RCU, and the host of the
//! engine. Its rules: `docs/kernel-behaviour.md`, "Machine: ticks and timers" and "Machine: threads".
//!
//! | file | is about |
//! |---|---|
//! | `machine` | what a machine is given, how time passes, and what it shows |
//! | `system` | CPUs, tasks, timers and time: what RCU's parts stand on |
//! | `event` | what happens at a time of its own |
//! | `wheel` | when timers fire, and on which CPU |
//! | `smp` | which CPU executes |
//! | `exec` | what a CPU does: interrupts, tasks |
//! | `task` | tasks |
//! | `kthreads` | what tasks do |
//! | `rcu` | the engine's host: its questions and what it asks for |
//! | `sections` | readers, preempted ones among them, and context switches |
//! | `state` | the data of all these: no part imports another one for it |
//! | `softirq` | callbacks that are queued, RCU's soft interrupt, batches, and `ksoftirqd` |
//! | `srcu` | a domain whose readers may sleep |
//! | `expedited`, `barrier` | expedited grace periods, `rcu_barrier` |
//! | `idle`, `idling` | the idle loop; idle states, what wakes CPUs out of them |
//! | `full` | CPUs that run without a tick (`nohz_full`) |
//! | `hotplug`, `toggle` | CPUs that go offline; CPUs that change between offloaded and not; the shrinker |
//! | `locks` | locks of offloaded callbacks, and cache lines that move |
//! | `syscalls` | which system call each callback comes from |
//! | `faults` | what goes wrong, if that is asked for |
//! | `tally`, `pending` | how much a run has tested; what is still to be done, in words |
//! | `look` | what a run shows while it goes on |
//!
//! Who may change what: a step belongs to the part that it changes. `System` is below: its steps are given
//! `&Rcu` where they note an event or ask about callbacks. Steps of `Rcu` (the engine's state, and its
//! threads) are given `&mut System`; those of a barrier, of expedited grace periods and of SRCU both. Only
//! steps that join more than these are `Machine`'s.

mod barrier;
pub(crate) mod cpu;
mod event;
mod exec;
mod expedited;
pub(crate) mod faults;
mod full;
mod hotplug;
mod idle;
mod idling;
mod kthreads;
mod locks;
mod look;
pub(crate) mod machine;
mod pending;
mod rcu;
mod sections;
pub(crate) mod smp;
mod softirq;
mod srcu;
pub(crate) mod state;
mod syscalls;
mod system;
mod tally;
mod task;
mod toggle;
mod wheel;
