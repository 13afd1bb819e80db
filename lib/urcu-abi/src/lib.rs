//! The shared libraries of liburcu 0.13 with our engine: `liburcu.so.8`, `-memb`, `-mb`, `-signal`, `-bp` and
//! `-qsbr`, with the symbols, sizes and thread-locals that a program linked to the original expects.
//!
//! | file | content |
//! |---|---|
//! | `c/flavour.c` | what the linker sees of a flavour: its data, thread-locals, readers' functions, names |
//! | `words` | where readers' words are, and how a driver waits for them |
//! | `calls` | the functions behind the names |
//! | `workers` | `struct call_rcu_data`: handles without a thread |
//! | `environment` | settings from environment variables, and what they print |
//!
//! `lib/urcu-abi/build` makes one static library of this crate and links each flavour from it and from
//! `c/flavour.c`. Every shared object has a runtime of its own, so a program may load several flavours.
//!
//! # How readers are seen
//! A program has the readers' functions inlined. They copy `gp.ctr` to the thread's `ctr` where an outermost
//! section begins (`qsbr`: where the thread announces a quiescent state), count nested sections in its low
//! half, and wake the thread that sleeps on `gp.futex` where one ends. So the high half of `gp.ctr` is a
//! generation, which the driver increments: a word that is inside and has another generation than at the
//! first scan is in another section.

// The functions are called by C code only, whose declarations are those of liburcu.
#![allow(clippy::missing_safety_doc)]

mod calls;
mod environment;
mod words;
mod workers;
