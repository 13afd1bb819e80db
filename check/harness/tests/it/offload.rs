//! Offloaded and lazy callbacks, line by line of the tables: where a callback goes, which thread is woken for
//! it and when, what ends laziness, and what happens when CPUs change sides or leave.

mod bench;
mod enqueue;
mod going;
mod lazy;
mod moving;
mod quiet;
mod rests;
mod traces;
mod wake;
