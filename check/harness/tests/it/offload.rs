//! Offloaded and lazy callbacks, line by line of the tables: where a callback goes, who is woken for it and
//! when, what ends laziness, and what becomes of it all when CPUs change sides or go.

mod bench;
mod enqueue;
mod going;
mod lazy;
mod moving;
mod quiet;
mod rests;
mod traces;
mod wake;
