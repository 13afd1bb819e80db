//! A trace of Perfetto's gives the tables that the kernel's text of the same events gives.
//!
//! Recorded traces of a real kernel are written a second time as Perfetto stores them (`encode`): in all
//! three forms of events, compressed, with CPUs out of order, with losses; and damaged.

mod encode;
mod kernel;
mod wire;

use super::fields::{said, same_as_text};
use encode::{Encoder, Form, Line, as_text, recorded};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use quiescent_trace::{Analysis, Fault, Filter, Findings, Kind, Reader, Summary, from_read};
use std::io::{Cursor, Read, Write};
use wire::{bytes, number, text};

/// All tables, and what was met.
fn tables(name: &str, file: Vec<u8>) -> (Vec<Findings>, Summary) {
    let mut reader = Reader::new(name, from_read(name, Cursor::new(file)).expect("opens"));
    let mut analyses = Kind::ALL.map(|kind| Analysis::new(kind, Filter::default()));
    while let Some(record) = reader.next_record().expect("reads") {
        analyses
            .iter_mut()
            .for_each(|analysis| analysis.feed(&record));
    }
    let summary = reader.summary();
    let findings = analyses
        .into_iter()
        .map(|it| it.finish(summary).expect("has findings"));
    (findings.collect(), summary.clone())
}

/// What each record says.
fn events(file: Vec<u8>) -> (Vec<String>, Summary) {
    let input = from_read("perfetto", Cursor::new(file)).expect("opens");
    let mut reader = Reader::new("perfetto", input);
    (said(&mut reader), reader.summary().clone())
}

fn same(name: &str, lines: &[Line], form: Form, file: Vec<u8>) {
    let text = as_text(lines, form);
    let open = || from_read(name, Cursor::new(file.clone())).expect("opens");
    // The compact form has a name of the previous task only where it was seen before.
    if form != Form::Compact {
        same_as_text(name, open, &text);
    }
    let (expected, of_text) = tables(name, text.into_bytes());
    let (found, summary) = tables(name, file);
    assert_eq!(summary.malformed, of_text.malformed, "{name} {form:?}");
    assert_eq!(summary.records, of_text.records, "{name} {form:?}");
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found.tables, expected.tables, "{name} {form:?}");
        assert_eq!(found.notes, expected.notes, "{name} {form:?}");
        // Perfetto says which clock it was.
        assert_eq!(found.about.doubts, expected.about.doubts, "{name} {form:?}");
        assert_eq!(found.about.undecoded.count(), 0, "{name} {form:?}");
    }
}

const TICK: u64 = 50_000_000;

#[test]
fn every_form_has_the_tables_of_the_text() {
    for name in ["classic-b-nocb-file100", "s-sync-classic-8"] {
        let lines = recorded(name);
        for form in [Form::Named, Form::Described, Form::Compact] {
            same(
                name,
                &lines,
                form,
                Encoder::new(form).lines(&lines, TICK).file(),
            );
        }
    }
}

#[test]
fn all_traces_have_the_tables_of_the_text() {
    for name in [
        "classic-a-softirq-file100",
        "classic-c-lazy-file100",
        "classic-idle",
    ] {
        let lines = recorded(name);
        same(
            name,
            &lines,
            Form::Named,
            Encoder::new(Form::Named).lines(&lines, TICK).file(),
        );
    }
}

#[test]
fn compressed_packets_and_files_are_the_same_trace() {
    let lines = recorded("classic-idle");
    let encoder = Encoder::new(Form::Named).lines(&lines, TICK);
    let deflate = |plain: &[u8]| {
        let mut out = ZlibEncoder::new(Vec::new(), Compression::fast());
        out.write_all(plain).expect("memory");
        out.finish().expect("memory")
    };
    let packed = |field: u32, pack: &dyn Fn(&[u8]) -> Vec<u8>| {
        let mut packed = Vec::new();
        for packets in encoder.packets.chunks(5) {
            let (mut plain, mut packet) = (Vec::new(), Vec::new());
            packets
                .iter()
                .for_each(|packet| bytes(&mut plain, 1, packet));
            bytes(&mut packet, field, &pack(&plain));
            bytes(&mut packed, 1, &packet);
        }
        packed
    };
    same("deflate", &lines, Form::Named, packed(50, &deflate));
    same("zstd", &lines, Form::Named, packed(133, &zstd));
    let mut file = Vec::new();
    let mut gzip = flate2::read::GzEncoder::new(Cursor::new(encoder.file()), Compression::fast());
    gzip.read_to_end(&mut file).expect("memory");
    same("gzip", &lines, Form::Named, file);
}

/// A zstd frame (RFC 8878) of blocks that are not compressed.
fn zstd(plain: &[u8]) -> Vec<u8> {
    let mut frame = b"\x28\xb5\x2f\xfd\xa0".to_vec();
    frame.extend((plain.len() as u32).to_le_bytes());
    let blocks = plain.chunks(60_000);
    let last = blocks.len() - 1;
    for (at, block) in blocks.enumerate() {
        let head = (block.len() as u32) << 3 | u32::from(at == last);
        frame.extend(&head.to_le_bytes()[..3]);
        frame.extend(block);
    }
    frame
}

#[test]
fn compressed_packets_that_are_damaged_are_counted_with_their_byte() {
    let plain = file_of(&[wakeups(0, 0, 10)]);
    let first = plain.len();
    for (field, packed, records) in [
        (133, zstd(&plain), 20),
        // Cut, of the other kind, and of no kind at all.
        (133, zstd(&plain)[..40].to_vec(), 10),
        (50, zstd(&plain), 10),
        (133, b"neither".to_vec(), 10),
    ] {
        let (mut file, mut packet) = (plain.clone(), Vec::new());
        bytes(&mut packet, field, &packed);
        bytes(&mut file, 1, &packet);
        let mut reader = Reader::new("x", from_read("x", Cursor::new(file)).expect("opens"));
        while reader.next_record().expect("reads").is_some() {}
        let summary = reader.summary();
        assert_eq!(summary.records, records, "{field} {packed:?}");
        let damaged = summary.malformed.first().first().map(|it| it.fault);
        let expected = Fault::Packet { byte: first as u64 };
        assert_eq!(damaged, (records == 10).then_some(expected));
    }
}

/// A bundle of wake-ups, ten microseconds apart.
fn wakeups(cpu: u64, from: u64, to: u64) -> Vec<u8> {
    let mut bundle = Vec::new();
    number(&mut bundle, 1, cpu);
    for at in from..to {
        let (mut event, mut wakeup) = (Vec::new(), Vec::new());
        text(&mut wakeup, 1, "a");
        [(2, 7), (3, 120), (5, cpu)]
            .iter()
            .for_each(|(field, it)| number(&mut wakeup, *field, *it));
        number(&mut event, 1, at * 10_000 + cpu);
        number(&mut event, 2, 3);
        bytes(&mut event, 17, &wakeup);
        bytes(&mut bundle, 2, &event);
    }
    bundle
}

fn file_of(bundles: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    for bundle in bundles {
        let mut packet = Vec::new();
        bytes(&mut packet, 1, bundle);
        bytes(&mut file, 1, &packet);
    }
    file
}

#[test]
fn cpus_one_after_the_other_come_out_by_time() {
    let bundles: Vec<_> = (0..4).rev().map(|cpu| wakeups(cpu, 0, 1000)).collect();
    let (found, summary) = tables("by time", file_of(&bundles));
    assert_eq!((summary.records, summary.backwards), (4000, 0));
    assert_eq!(found[1].tables[0].figure("a", "wakeups"), Some(4000.0));
}

#[test]
fn more_disorder_than_is_held_is_an_error_and_no_table() {
    // Each CPU has more than 32 MiB in a row.
    let cpu = |cpu| (0..14).map(move |part| wakeups(cpu, part * 60_000, (part + 1) * 60_000));
    let file = file_of(&cpu(0).chain(cpu(1)).collect::<Vec<_>>());
    let mut reader = Reader::new(
        "apart",
        from_read("apart", Cursor::new(file)).expect("opens"),
    );
    while reader.next_record().expect("reads").is_some() {}
    assert_eq!(reader.summary().records, 2 * 14 * 60_000);
    assert!(reader.summary().backwards > 0);
}

#[test]
fn losses_cpus_and_clocks_are_known() {
    let mut bundle = wakeups(1, 0, 3);
    number(&mut bundle, 3, 1);
    number(&mut bundle, 5, 4);
    let mut file = file_of(&[bundle]);
    // CPU 0 lost 5 before the trace, and 12 and 3 by its end.
    for (phase, lost) in [(1, [5, 0]), (2, [12, 3])] {
        let (mut stats, mut packet) = (Vec::new(), Vec::new());
        number(&mut stats, 1, phase);
        for cpu in 0..4 {
            let mut of_cpu = Vec::new();
            number(&mut of_cpu, 1, cpu);
            number(&mut of_cpu, 3, if cpu == 0 { lost[0] } else { 0 });
            number(&mut of_cpu, 8, if cpu == 0 { lost[1] } else { 0 });
            bytes(&mut stats, 2, &of_cpu);
        }
        bytes(&mut packet, 34, &stats);
        bytes(&mut file, 1, &packet);
    }
    let (_, summary) = tables("losses", file);
    assert_eq!((summary.lost, summary.lost_untold), (10, 1));
    assert_eq!(
        (summary.cpus_stated, summary.cpu_highest),
        (Some(4), Some(1))
    );
    let clocks: Vec<_> = summary.buffers.iter().map(|it| it.clock.as_str()).collect();
    assert_eq!(clocks, ["mono_raw"]);
}

#[test]
fn names_of_functions_start_anew_with_their_sequence() {
    let timer = |time: u64, function: u64| {
        let (mut bundle, mut event, mut generic) = (Vec::new(), Vec::new(), Vec::new());
        text(&mut generic, 1, "timer_expire_entry");
        for (name, value) in [("function", function), ("now", 1)] {
            let mut field = Vec::new();
            text(&mut field, 1, name);
            number(&mut field, 5, value);
            bytes(&mut generic, 2, &field);
        }
        number(&mut event, 1, time);
        number(&mut event, 2, 0);
        bytes(&mut event, 327, &generic);
        bytes(&mut bundle, 2, &event);
        bundle
    };
    let mut file = Vec::new();
    for (time, cleared, name) in [
        (1, 1, Some("first")),
        (2, 0, None),
        (3, 1, Some("second")),
        (4, 1, None),
    ] {
        let mut packet = Vec::new();
        bytes(&mut packet, 1, &timer(time, 1));
        number(&mut packet, 10, 5);
        number(&mut packet, 13, cleared);
        if let Some(name) = name {
            let (mut symbol, mut symbols) = (Vec::new(), Vec::new());
            number(&mut symbol, 1, 1);
            text(&mut symbol, 2, name);
            bytes(&mut symbols, 26, &symbol);
            bytes(&mut packet, 12, &symbols);
        }
        bytes(&mut file, 1, &packet);
    }
    let (events, _) = events(file);
    let function = |it: &String| it.split('"').nth(1).map(str::to_owned);
    let functions: Vec<_> = events.iter().filter_map(function).collect();
    assert_eq!(functions, ["first", "first", "second", "0x1"]);
}

#[test]
fn damage_is_counted_with_its_byte_and_the_rest_is_read() {
    let bundles: Vec<_> = (0..3)
        .map(|part| wakeups(0, part * 10, part * 10 + 10))
        .collect();
    let whole = file_of(&bundles);
    let second = file_of(&bundles[..1]).len();
    let met = |file: Vec<u8>| {
        let mut reader = Reader::new("x", from_read("x", Cursor::new(file)).expect("opens"));
        while reader.next_record().expect("reads").is_some() {}
        let summary = reader.summary();
        let first = summary.malformed.first().first().map(|it| it.fault);
        (summary.records, summary.malformed.count(), first)
    };
    assert_eq!(met(whole.clone()), (30, 0, None));
    // Cut in the third packet, and one that is no packet: what follows is not read.
    let third = file_of(&bundles[..2]).len();
    let cut = whole[..whole.len() - 1].to_vec();
    assert_eq!(met(cut), (20, 1, Some(Fault::Rest { byte: third as u64 })));
    let mut foreign = whole.clone();
    foreign[second] = b'x';
    assert_eq!(
        met(foreign),
        (
            10,
            1,
            Some(Fault::Rest {
                byte: second as u64
            })
        )
    );
    // An event without a time, one without a task, and one whose message is torn, in the second packet.
    let mut bundle = wakeups(0, 10, 20);
    let mut event = Vec::new();
    number(&mut event, 2, 3);
    bytes(&mut event, 17, &[]);
    bytes(&mut bundle, 2, &event);
    let mut event = Vec::new();
    number(&mut event, 1, 195_000);
    bytes(&mut event, 17, &[]);
    bytes(&mut bundle, 2, &event);
    number(&mut event, 2, 3);
    bytes(&mut event, 17, &[0x0a, 9]);
    bytes(&mut bundle, 2, &event);
    let damaged = file_of(&[bundles[0].clone(), bundle, bundles[2].clone()]);
    assert_eq!(
        met(damaged),
        (
            30,
            3,
            Some(Fault::Packet {
                byte: second as u64
            })
        )
    );
}

#[test]
fn rows_of_the_compact_form_that_do_not_fit_are_damage() {
    let (mut compact, mut bundle) = (Vec::new(), Vec::new());
    text(&mut compact, 5, "a");
    // Three times and tasks; a name for each that is not there, for the last one.
    for (row, values) in [
        (1, [10, 10, 10]),
        (2, [0; 3]),
        (3, [7; 3]),
        (4, [120; 3]),
        (6, [0, 0, 1]),
    ] {
        bytes(&mut compact, row, &values);
    }
    bytes(&mut bundle, 4, &compact);
    let (events, summary) = events(file_of(&[bundle]));
    assert_eq!(events[0], "0 [0] 10 Seconds sched_switch_to Ok(Other)");
    let switch = "7 [0] 20 Seconds sched_switch Ok(Switch { \
                  prev: \"a\", prev_pid: 7, state: \"R\", next: \"a\", \
                  next_pid: 7 })";
    assert_eq!(events[1], switch);
    assert_eq!((events.len(), summary.malformed.count()), (2, 1));
}

#[test]
fn a_trace_cut_or_altered_anywhere_is_read_to_some_end() {
    let lines = recorded("classic-idle");
    let whole = Encoder::new(Form::Compact)
        .lines(&lines[..400], TICK)
        .file();
    for length in (1..whole.len()).step_by(97) {
        let Ok(input) = from_read("cut", Cursor::new(whole[..length].to_vec())) else {
            continue;
        };
        let mut reader = Reader::new("cut", input);
        while let Ok(Some(_)) = reader.next_record() {}
    }
    for place in (64..whole.len()).step_by(31) {
        let mut altered = whole.clone();
        altered[place] ^= 0x55;
        let Ok(input) = from_read("altered", Cursor::new(altered)) else {
            continue;
        };
        let mut reader = Reader::new("altered", input);
        while let Ok(Some(record)) = reader.next_record() {
            let _any = record.decode();
        }
        let summary = reader.summary();
        assert!(summary.records + summary.malformed.count() <= summary.lines);
    }
}
