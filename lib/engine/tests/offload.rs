//! Offloaded and lazy callbacks, line by line of the tables: where a callback goes, who is woken for it and
//! when, what ends laziness, and what becomes of it all when CPUs change sides or go.

#[path = "offload/bench.rs"]
mod bench;
#[path = "offload/enqueue.rs"]
mod enqueue;
#[path = "offload/going.rs"]
mod going;
#[path = "offload/lazy.rs"]
mod lazy;
#[path = "offload/moving.rs"]
mod moving;
#[path = "offload/quiet.rs"]
mod quiet;
#[path = "offload/rests.rs"]
mod rests;
#[path = "offload/traces.rs"]
mod traces;
#[path = "offload/wake.rs"]
mod wake;
