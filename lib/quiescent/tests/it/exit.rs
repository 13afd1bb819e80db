//! The end of threads with full queues or open sections, of the process with pending callbacks, and of shared
//! objects that contain the library.

mod objects;
mod processes;
mod threads;
