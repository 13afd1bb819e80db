//! Files made here, of both versions, both orders of bytes and both sizes of `long`, whole and damaged.
//!
//! That real files are read as trace-cmd reads them is the business of `tests/it/dat.rs`.

mod build;
mod hostile;

use crate::{Reader, Summary, from_seek};
use build::{Build, Packed};
use std::io::Cursor;

fn summary(bytes: Vec<u8>) -> Summary {
    let input = from_seek("made.dat", Cursor::new(bytes)).expect("opens");
    let mut reader = Reader::new("made.dat", input);
    while reader.next_record().expect("reads").is_some() {}
    reader.summary().clone()
}

/// What every record says, and the events of its fields.
fn said(reader: &mut Reader<'_>) -> Vec<String> {
    let mut all = Vec::new();
    while let Some(it) = reader.next_record().expect("reads") {
        let event = it.decode();
        all.push(format!(
            "{} {} {} {:?} {} {} {event:?}",
            it.task(),
            it.pid,
            it.cpu,
            it.flags(),
            it.time_ns,
            it.event()
        ));
    }
    all
}

const EXPECTED: [&str; 7] = [
    "<idle> 0 0 Flags(\"d.s\") 105 sched_switch \
     Ok(Switch { prev: \"swapper/0\", prev_pid: 0, state: \"R+\", next: \"rcu_preempt\", next_pid: 15 })",
    "rcu_preempt 15 1 Flags(\"...\") 107 softirq_entry Ok(Softirq { vec: 9 })",
    "rcu_preempt 15 0 Flags(\"...\") 109 softirq_entry Ok(Softirq { vec: 11 })",
    "<...> 77 0 Flags(\"...\") 134217840 workqueue_execute_start Ok(Work { function: \"do_it\" })",
    "<...> 77 0 Flags(\"...\") 134217841 kernel_stack Ok(Stack { frames: \"=> do_it\\n => 0x2e\" })",
    "<...> 77 0 Flags(\"...\") 134217842 unknown Ok(Other)",
    "<...> 77 1 Flags(\"...\") 268435456 tracing_mark_write Ok(Mark { text: \"hello there\" })",
];

#[test]
fn all_kinds_of_files_give_the_same_records() {
    for version in [6, 7] {
        for packed in [Packed::None, Packed::Zstd, Packed::Zlib] {
            if version == 6 && packed != Packed::None {
                continue;
            }
            for (big, long) in [(false, 8), (true, 8), (false, 4), (true, 4)] {
                let build = Build {
                    version,
                    packed,
                    big,
                    long,
                };
                let input = from_seek("made.dat", Cursor::new(build.file())).expect("opens");
                let said = said(&mut Reader::new("made.dat", input));
                assert_eq!(said, EXPECTED, "{build:?}");
            }
        }
    }
}

#[test]
fn buffers_losses_and_cpus_are_in_the_summary() {
    let summary = summary(Build::little(7).file());
    let names: Vec<_> = summary.buffers.iter().map(|b| b.name.as_str()).collect();
    assert_eq!(names, ["", "inst"]);
    assert_eq!(summary.buffers[1].clock, "mono");
    assert_eq!((summary.records, summary.malformed.count()), (7, 0));
    assert_eq!(summary.cpus(), 2);
    for version in [6, 7] {
        let summary = self::summary(Build::little(version).file());
        // Before two pages of CPU 1, what its statistics say beyond those, and what CPU 0's say.
        let lost = (3 + 6) + (4 + 3 + 5 - 9) + 2;
        assert_eq!((summary.lost, summary.lost_untold), (lost, 0), "{version}");
    }
}

#[test]
fn a_clock_without_a_unit_gives_order_only() {
    let mut bytes = Build::little(7).file();
    // The same length, so that nothing moves.
    for at in 0..bytes.len() - 5 {
        if &bytes[at..at + 5] == b"mono\0" {
            bytes[at..at + 4].copy_from_slice(b"tick");
        }
    }
    assert!(summary(bytes).unitless > 0);
}

#[test]
fn options_that_change_times_are_named() {
    let build = Build {
        version: 6,
        packed: Packed::None,
        big: false,
        long: 8,
    };
    assert_eq!(summary(build.file()).not_applied, ["TIME_SHIFT"]);
}
