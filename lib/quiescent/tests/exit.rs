//! Ends: of threads that leave full queues or open sections behind, of the process while callbacks are
//! pending, and of shared objects that contain the library.

mod common;

#[path = "exit/objects.rs"]
mod objects;
#[path = "exit/processes.rs"]
mod processes;
#[path = "exit/threads.rs"]
mod threads;
