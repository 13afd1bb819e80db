//! Ends: of threads that leave full queues or open sections behind, of the process while callbacks are
//! pending, and of shared objects that contain the library.

mod objects;
mod processes;
mod threads;
