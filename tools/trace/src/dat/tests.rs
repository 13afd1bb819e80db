//! Files made here, of both versions, both orders of bytes and both sizes of `long`, whole and damaged.
//!
//! That real files are read as trace-cmd reads them is the business of `tests/it/dat.rs`.

mod build;
mod hostile;

use crate::{Event, Reader, Summary, from_seek};
use build::{Build, Packed};
use std::io::Cursor;

/// Lines of a file, or the first error.
fn lines(bytes: Vec<u8>) -> Result<Vec<String>, String> {
    use std::io::BufRead;
    let input = from_seek("made.dat", Cursor::new(bytes)).map_err(|e| e.to_string())?;
    input
        .text()
        .lines()
        .collect::<Result<_, _>>()
        .map_err(|e| e.to_string())
}

fn summary(bytes: Vec<u8>) -> Summary {
    let input = from_seek("made.dat", Cursor::new(bytes)).expect("opens");
    let mut reader = Reader::new("made.dat", input);
    while reader.next_record().expect("reads").is_some() {}
    reader.summary().clone()
}

/// What every record says, and the events of its fields.
fn said(reader: &mut Reader<impl crate::Source>) -> Vec<String> {
    let mut all = Vec::new();
    while let Some(it) = reader.next_record().expect("reads") {
        let event = it.decode();
        all.push(format!(
            "{} {} {} {:?} {} {} {event:?}",
            it.task, it.pid, it.cpu, it.flags, it.time_ns, it.event
        ));
    }
    all
}

const EXPECTED: [&str; 8] = [
    "          <idle>-0       [000] d.s2. 0.000000105: sched_switch: prev_comm=swapper/0 prev_pid=0 ==> \
     next_comm=rcu_preempt next_pid=15",
    "inst:      rcu_preempt-15      [001] ..... 0.000000107: softirq_entry: vec=9 [action=RCU]",
    "     rcu_preempt-15      [000] ..... 0.000000109: softirq_entry: vec=11 [action=0xb]",
    "           <...>-77      [000] ..... 0.134217840: named: name=dentry fn=do_it+0x10 0xff",
    "           <...>-77      [000] ..... 0.134217841: odd: number=-3 list=[...]",
    "           <...>-77      [000] ..... 0.134217842: unknown: (no format in the file)",
    "CPU:1 [LOST 6 EVENTS]",
    "inst:            <...>-77      [001] ..... 0.268435456: tracing_mark: hello there",
];

#[test]
fn all_kinds_of_files_give_the_same_lines() {
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
                let about = format!("{build:?}");
                let lines = lines(build.file()).expect(&about);
                let events: Vec<_> = lines
                    .iter()
                    .filter(|l| !l.starts_with(['#', 'c']))
                    .collect();
                assert_eq!(events, EXPECTED, "{about}");
                let open = || from_seek("made.dat", Cursor::new(build.file())).expect("opens");
                let fields = said(&mut Reader::new("fields", open()));
                assert_eq!(
                    fields,
                    said(&mut Reader::new("text", open().text())),
                    "{about}"
                );
                assert!(
                    fields[1].ends_with("softirq_entry Ok(Softirq { vec: 9 })"),
                    "{fields:?}"
                );
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
    assert_eq!((summary.lost, summary.lost_untold), (6, 0));
    assert_eq!(summary.cpus(), 2);
}

#[test]
fn records_of_a_file_decode_like_those_of_its_text() {
    let input = from_seek("made.dat", Cursor::new(Build::little(6).file())).expect("opens");
    let mut reader = Reader::new("made.dat", input);
    let record = reader.next_record().expect("reads").expect("one");
    assert!(record.flags.irqs_off() && record.flags.softirq());
    let switch = Event::Switch {
        prev: "swapper/0",
        prev_pid: 0,
        state: "",
        next: "rcu_preempt",
        next_pid: 15,
    };
    assert_eq!(record.decode(), Ok(switch));
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
