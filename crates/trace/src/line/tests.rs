use super::*;

const VARIANTS: &str = include_str!("../../../../data/traces/format_variants.txt");

fn read(line: &str) -> Record<'_> {
    match parse(line) {
        Ok(Line::Record(record)) => record,
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn every_line_of_the_variants_file_is_a_record_or_a_header() {
    let (mut records, mut units) = (0, [0; 2]);
    for line in VARIANTS.lines() {
        match parse(line) {
            Ok(Line::Record(record)) => {
                assert_eq!(record.event, "sched_wakeup", "{line}");
                assert!(record.text.starts_with("comm="), "{line}");
                assert!(record.cpu < 2, "{line}");
                records += 1;
                units[usize::from(record.unit == Unit::None)] += 1;
            }
            Ok(Line::Nothing) => assert!(line.contains('#'), "{line}"),
            other => panic!("{line}: {other:?}"),
        }
    }
    assert_eq!(records, VARIANTS.matches("sched_wakeup:").count());
    // uptime, x86-tsc and counter have no unit; two lines each.
    assert_eq!(units[1], 6);
}

#[test]
fn the_layouts_of_ftrace() {
    let plain = read("      opt cgu.08-21143   [001] dNs4.  1150.804017: sched_wakeup: comm=a");
    assert_eq!((plain.task, plain.pid, plain.cpu), ("opt cgu.08", 21143, 1));
    assert_eq!(plain.time_ns, 1_150_804_017_000);
    assert_eq!((plain.flags.0, plain.text), ("dNs4.", "comm=a"));
    let tgid = read("    xz-20765   (  20765) [000] d..4.  1150.044783: e: t");
    assert_eq!((tgid.task, tgid.pid), ("xz", 20765));
    let unknown = read("    <...>-7   (-------) [000] d..4.  1150.044783: e: t");
    assert_eq!((unknown.task, unknown.pid), ("<...>", 7));
    let bare = read("    xz-20765   [000]   1150.429624: e: t");
    assert_eq!((bare.flags.0, bare.time_ns), ("", 1_150_429_624_000));
    let ticks = read("    xz-20765   [001] dN.4. 2418343244876: e: t");
    assert_eq!((ticks.time_ns, ticks.unit), (2_418_343_244_876, Unit::None));
}

#[test]
fn the_latency_layout_with_and_without_a_mark() {
    for mark in ["", "#", "+", " "] {
        let line = format!("  gpu us:-x-21022   12dNs3. 1851305563us{mark}: sched_wakeup: comm=b");
        let record = read(&line);
        assert_eq!(
            (record.task, record.pid, record.cpu),
            ("gpu us:-x", 21022, 12)
        );
        assert_eq!(
            (record.flags.0, record.time_ns),
            ("dNs3.", 1_851_305_563_000)
        );
        assert_eq!((record.event, record.text), ("sched_wakeup", "comm=b"));
    }
}

#[test]
fn the_layouts_of_trace_cmd_and_perf() {
    let report = read(
        "          <idle>-0     [001] d..2.   12.000000123: sched_switch:         a:1 [120] S ==> b:2 [120]",
    );
    assert_eq!(
        (report.time_ns, report.event),
        (12_000_000_123, "sched_switch")
    );
    assert_eq!(report.text, "a:1 [120] S ==> b:2 [120]");
    let difference = read("  a-1     [001]   12.000000: (+5)   sched_switch:   x");
    assert_eq!((difference.event, difference.text), ("sched_switch", "x"));
    let instance = read("rcu:           <idle>-0     [001] d..2.   12.5: print: x");
    assert_eq!((instance.task, instance.cpu), ("<idle>", 1));
    let perf = read("swapper dash-5     0 [003]  1234.5: sched:sched_wakeup: comm=a");
    assert_eq!((perf.task, perf.pid, perf.cpu), ("swapper dash-5", 0, 3));
    assert_eq!(
        (perf.event, perf.time_ns),
        ("sched_wakeup", 1_234_500_000_000)
    );
    let function = read("  a-1 [001] d..2. 12.5: tick_nohz_handler <-call");
    assert_eq!(
        (function.event, function.text),
        ("tick_nohz_handler", "<-call")
    );
}

#[test]
fn names_may_have_brackets_and_dashes() {
    let record = read("   a [7] -b-12   [003] .....     1.000001: e: [004] x-1 [5] 2.0: f:");
    assert_eq!((record.task, record.pid, record.cpu), ("a [7] -b", 12, 3));
    assert_eq!((record.event, record.text), ("e", "[004] x-1 [5] 2.0: f:"));
}

#[test]
fn headers_say_how_many_events_were_lost() {
    assert_eq!(
        parse("# entries-in-buffer/entries-written: 90/100   #P:8"),
        Ok(Line::Entries {
            kept: 90,
            written: 100,
            cpus: Some(8)
        })
    );
    assert_eq!(parse("CPU:3 [LOST 17 EVENTS]"), Ok(Line::Lost(17)));
    assert_eq!(parse("cpus=2"), Ok(Line::Cpus(2)));
    assert_eq!(parse("##### CPU 3 buffer started ####"), Ok(Line::Nothing));
}

#[test]
fn what_cannot_be_read_says_why() {
    let faults = [
        ("32274 0 1851305563111 type: 374 1 2", Fault::Raw),
        ("sched_wakeup: comm=a pid=1", Fault::Shape),
        ("a-1 [001] .....", Fault::Shape),
        ("a-1 [70000] ..... 1.0: e: t", Fault::Cpu),
        ("a-1 [001] ..... 1.0000000001: e: t", Fault::Time),
        ("a-1 [001] ..... 99999999999.0: e: t", Fault::Time),
        ("a-1 [001] ..... 1.0: no event", Fault::Shape),
    ];
    for (line, fault) in faults {
        assert_eq!(parse(line), Err(fault), "{line}");
    }
}

#[test]
fn flags_of_every_width() {
    assert!(Flags("d.h5.").irqs_off() && Flags("d.h5.").hardirq());
    assert!(Flags("..s1").softirq() && !Flags("..s1").irqs_off());
    assert!(Flags("D..1.").irqs_off() && !Flags("b....").irqs_off());
    assert!(!Flags("").hardirq() && !Flags("d").softirq());
}
