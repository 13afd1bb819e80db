//! Perfetto's trace, a stream of protobuf packets: given as records, as a `trace.dat` is.
//!
//! Perfetto stores the events of the kernel as messages, in bundles of one CPU; here they become records, in
//! the order of time. Numbers of fields are those of Perfetto's public `protos/perfetto/trace`.
//!
//! | module | job |
//! |---|---|
//! | `packets` | packets out of the stream, plain or deflated, with their place in the file |
//! | `bundle` | the events of a bundle, in order; the compact form of scheduler events |
//! | `merge` | bundles of all CPUs by time, in bounded memory |
//! | `formats` | an event's fields by number or by name, and the kernel's recipe for its text |
//! | `names` | names of tasks, and of functions by their number in a table |
//! | `lines` | the records |
//!
//! **Order.** Perfetto writes one CPU's events after another's, a few megabytes at a time. Bundles are held
//! until they take [`HELD_MOST`](merge::HELD_MOST) (32 MiB), or the trace ends; then the earliest event goes
//! out first. A trace with more disorder than that comes out with an earlier time after a later one, which
//! the reader refuses.
//!
//! **What Perfetto leaves out.** It stores no irq-info column but for wake-ups in the compact form, so what
//! happened in interrupts is not known. The compact form of `sched_switch` names no previous task: it is the
//! one that ran on the CPU before; at a CPU's first event it is not known, and that switch is given as an
//! event of no kind (`sched_switch_to`). Functions are numbers in a table that is there only with
//! `symbolize_ksyms`.
//!
//! **Damage.** A packet or an event that cannot be read is counted with the byte of its packet, and the
//! reading goes on behind it. What follows a byte at which no packet can start is not read.
//!
//! **Memory**: [`HELD_MOST`](merge::HELD_MOST); a packet of at most 4 MiB, twice where it is compressed;
//! tables of names of at most 16 MiB.

mod bundle;
mod formats;
mod lines;
mod merge;
mod names;
mod packets;

pub(crate) use lines::Perfetto;
pub(crate) use packets::is_perfetto;
