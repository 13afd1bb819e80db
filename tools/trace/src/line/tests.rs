use super::*;

/// What the reader of all layouts says of a line; that of plain lines says the same, or nothing.
fn parse(line: &str) -> Result<Line<'_>, Fault> {
    let said = any(line);
    if let Some(places) = plain(line.as_bytes()) {
        assert_eq!(said, Ok(Line::Record(pieces(&places, line))), "{line}");
    }
    said
}

/// The pieces of a line.
fn pieces<'a>(places: &Places, line: &'a str) -> Pieces<'a> {
    let piece = |(from, to): (u32, u32)| {
        let place = from as usize..to as usize;
        line.get(place).unwrap_or("")
    };
    Pieces {
        task: piece(places.task),
        pid: places.pid,
        cpu: places.cpu,
        flags: Flags(piece(places.flags)),
        time_ns: places.time_ns,
        unit: places.unit,
        event: piece(places.event),
        text: piece(places.text),
    }
}

/// The fast reader's answer to a line that follows others. What is behind the line changes nothing.
fn fast<'a>(line: &'a str, before: &mut Before) -> Option<Pieces<'a>> {
    let begun = start(line.as_bytes(), before);
    for behind in ["\n", "\n-7       [000] d.s2.     1.430013: a: b"] {
        let more = format!("{line}{behind}{}", "x".repeat(40));
        let known = start(more.as_bytes(), before);
        let end = more.find('\n').expect("was put there");
        assert!(known.as_ref().is_none_or(|it| it.known() <= end), "{line}");
        assert!(known.is_none() || known == begun, "{line}");
    }
    begun.map(|mut places| {
        places.until(line.as_bytes());
        pieces(&places, line)
    })
}

const VARIANTS: &str = include_str!("../../../../data/traces/format_variants.txt");

fn read(line: &str) -> Pieces<'_> {
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
fn the_list_of_kernelshark() {
    let tabs = "2\t10498.892424\trcuop/2\t33\td..1\trcu/rcu_batch_start\trcu_preempt CBs=32 bl=10";
    let blanks =
        "17  2  10498.892424  rcuop/2  33  d..1  rcu/rcu_batch_start  rcu_preempt CBs=32 bl=10";
    for line in [tabs, blanks] {
        let it = read(line);
        assert_eq!((it.task, it.pid, it.cpu), ("rcuop/2", 33, 2), "{line}");
        assert_eq!((it.flags.0, it.time_ns), ("d..1", 10_498_892_424_000));
        assert_eq!(
            (it.event, it.text),
            ("rcu_batch_start", "rcu_preempt CBs=32 bl=10")
        );
    }
    // Names with blanks and numbers, no flags, no text; and rows that are none.
    let odd = read("0 1.5 opt 7 d..1 x 21 - sched/sched_wakeup comm=a b/c=1");
    assert_eq!((odd.task, odd.pid, odd.flags.0), ("opt 7 d..1 x", 21, ""));
    assert_eq!((odd.event, odd.text), ("sched_wakeup", "comm=a b/c=1"));
    assert_eq!(read("0 1.5 a 1 d..1 x/y").text, "");
    for line in [
        "0 1.5 a 1 d..1 xy",
        "0 1.5 1 d..1 x/y",
        "a 1.5 b 1 d..1 x/y",
        "0 1 a 1 d..1 x/y",
    ] {
        assert!(parse(line).is_err(), "{line}");
    }
    assert_eq!(parse("99999999 1.5 a 1 d..1 x/y"), Err(Fault::Cpu));
    assert_eq!(
        parse("# CPU\tTime Stamp\tTask\tPID\tLatency\tEvent\tInfo"),
        Ok(Line::Nothing)
    );
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
    assert_eq!(parse("CPU:3 [LOST 17 EVENTS]"), Ok(Line::Lost(Some(17))));
    assert_eq!(parse("cpus=2"), Ok(Line::Cpus(2)));
    assert_eq!(
        parse("##### CPU 3 buffer started ####"),
        Ok(Line::Marked(3))
    );
}

#[test]
fn what_cannot_be_read_says_why() {
    let faults = [
        ("32274 0 1851305563111 type: 374 1 2", Fault::Raw),
        ("sched_wakeup: comm=a pid=1", Fault::Context),
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
fn names_of_every_length_and_with_anything_behind_them() {
    let mut before = Before::default();
    for length in 1..40 {
        // What the fast reader reads itself, and what it leaves to the reader of all layouts.
        for (end, is_fast) in [
            (":", false),
            (": ", true),
            (": t", true),
            (":x ", false),
            ("", false),
            (" ", false),
            ("é: t", false),
            ("(: t", false),
            ("-: t", false),
            ("\u{7f}: t", true),
            (";: t", true),
            ("a:b: t", false),
        ] {
            let line = format!(
                "          <idle>-0       [005] d.s2.     1.430013: {}{end}",
                "e".repeat(length)
            );
            let record = fast(&line, &mut before);
            assert_eq!(record.is_some(), is_fast, "{line}");
            if let Some(record) = record {
                assert_eq!(parse(&line), Ok(Line::Record(record)), "{line}");
            }
        }
    }
}

#[test]
fn flags_of_every_width() {
    assert!(Flags("d.h5.").irqs_off() && Flags("d.h5.").hardirq());
    assert!(Flags("..s1").softirq() && !Flags("..s1").irqs_off());
    assert!(Flags("D..1.").irqs_off() && !Flags("b....").irqs_off());
    assert!(!Flags("").hardirq() && !Flags("d").softirq());
}

#[test]
fn the_layouts_of_trace_cmd_with_latency_raw_fields_and_instances() {
    let latency = read(
        "qtd_main:     bash-12669   1dN.1. 14991.202559: rcu_utilization:      Start context switch",
    );
    assert_eq!((latency.task, latency.pid, latency.cpu), ("bash", 12669, 1));
    assert_eq!(
        (latency.flags.0, latency.time_ns),
        ("dN.1.", 14_991_202_559_000)
    );
    assert_eq!(
        (latency.event, latency.text),
        ("rcu_utilization", "Start context switch")
    );
    let raw = read("     opt cgu.0-12059   1-0x25 14991.202559: softirq_entry:       vec=9");
    assert_eq!((raw.task, raw.cpu, raw.flags.0), ("opt cgu.0", 1, ""));
    // Brackets in the text of a line without `[cpu]`.
    let switch = read(
        "     bash-12669   1d..2. 14991.202563: sched_switch: a-5:1 [120] R ==> b-6 [3]:2 [120]",
    );
    assert_eq!((switch.task, switch.cpu), ("bash", 1));
    let first = read(
        "qtd:             xz-27422 [001] 13569.276510769:          sched_switch:         xz:1 [120] R ==> \
         b:2 [120]",
    );
    assert_eq!(
        (first.event, first.time_ns),
        ("sched_switch", 13_569_276_510_769)
    );
}

#[test]
fn threads_of_processes_system_calls_and_stacks() {
    let perf = read(
        "     lto cgu.01 13739/14145 [000] 15048.592603: timer:hrtimer_expire_entry: hrtimer=0xff",
    );
    assert_eq!(
        (perf.task, perf.pid, perf.event),
        ("lto cgu.01", 14145, "hrtimer_expire_entry")
    );
    let enter =
        read("   bash-3 [000] ..... 13828.921747: sys_openat(dfd: 0xffffff9c, flags: 0x241)");
    assert_eq!(
        (enter.event, enter.text),
        ("sys_openat", "(dfd: 0xffffff9c, flags: 0x241)")
    );
    let exit = read("   bash-3 [000] ..... 13828.921863: sys_openat -> 0x3");
    assert_eq!((exit.event, exit.text), ("sys_openat", "-> 0x3"));
    assert_eq!(
        read("  sleep-3 [000] ..... 1.5: sys_getpid()").event,
        "sys_getpid"
    );
    let stack = read("   bash-3 [000] ..... 13828.921863: <stack trace>");
    assert_eq!((stack.event, stack.text), ("<stack trace>", ""));
    assert_eq!(parse(" => do_syscall_64"), Ok(Line::Frame));
}

#[test]
fn lost_events_in_every_wording() {
    for (line, lost) in [
        ("CPU:0 [LOST 3 EVENTS]", Some(3)),
        ("CPU:12 [LOST EVENTS]", None),
        ("CPU:0 [7 EVENTS DROPPED]", Some(7)),
        ("qtd_lost: CPU:0 [EVENTS DROPPED]", None),
    ] {
        assert_eq!(parse(line), Ok(Line::Lost(lost)), "{line}");
    }
}

#[test]
fn what_the_options_took_away_is_said() {
    let faults = [
        ("00007fa2 00000000 00000c93cbf7e6ca type: 782", Fault::Raw),
        (
            "sched_switch: prev_comm=bash prev_pid=1 ==> next_comm=b",
            Fault::Context,
        ),
        ("sys_openat(dfd: 0xffffff9c)", Fault::Context),
        ("sys_openat -> 0x3", Fault::Context),
    ];
    for (line, fault) in faults {
        assert_eq!(parse(line), Err(fault), "{line}");
    }
}

#[test]
fn the_fast_reader_says_what_the_other_says() {
    let mut input = crate::open(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../data/traces/classic-idle.txt.xz"
    ))
    .expect("opens")
    .text();
    let mut text = String::new();
    std::io::Read::read_to_string(&mut input, &mut text).expect("reads");
    let (mut whole, mut damaged) = (0, 0);
    // Whatever a line is, the next one may be by the same task.
    let mut before = Before::default();
    for (n, line) in text.lines().chain(VARIANTS.lines()).enumerate() {
        if let Some(record) = fast(line, &mut before) {
            whole += 1;
            assert_eq!(parse(line), Ok(Line::Record(record)), "{line}");
        }
        // One byte less, or another one.
        let at = n * 7 % line.len().max(1);
        if line.is_ascii() && at < line.len() {
            for put in ["", " ", ":", "[", "7", "-", "(", "\t", "\n", "é"] {
                let line = format!("{}{put}{}", &line[..at], &line[at + 1..]);
                let _ = parse(&line);
                if let Some(record) = fast(&line, &mut before) {
                    damaged += 1;
                    assert_eq!(parse(&line), Ok(Line::Record(record)), "{line}");
                }
            }
        }
    }
    assert!(whole > 1500 && damaged > 5000, "{whole} {damaged}");
}

#[test]
fn a_name_that_looks_like_columns_is_a_name() {
    // Fifteen bytes, as the kernel pads them.
    for (name, group) in [
        ("x-1 [0] 0: a:", ""),
        ("y-2 [9] 9.9: b:", "(-------) "),
        ("<...>-7 [1] 2:", ""),
    ] {
        let line =
            format!("{name:>16}-1234    {group}[003] d..1.  5.000001: sched_waking: comm=b pid=9");
        let record = read(&line);
        assert_eq!(
            (record.task, record.pid, record.cpu),
            (name, 1234, 3),
            "{line}"
        );
        assert_eq!(
            (record.time_ns, record.event),
            (5_000_001_000, "sched_waking")
        );
    }
}
