use crate::analysis::proto::tests::{Field, Shared, decode};
use crate::analysis::tests::feed;
use crate::{Analysis, Filter};
use std::collections::BTreeMap;

/// A packet: time, and what it describes or shows.
#[derive(Debug, PartialEq, Eq)]
enum Packet {
    Track {
        uuid: u64,
        parent: Option<u64>,
        name: String,
        counter: bool,
    },
    Event {
        time: u64,
        track: u64,
        kind: u64,
        name: Option<String>,
        value: Option<u64>,
    },
}

fn packets(text: &str) -> Vec<Packet> {
    filtered(Filter::default(), text)
}

fn filtered(filter: Filter, text: &str) -> Vec<Packet> {
    let shared = Shared::default();
    let timeline = Analysis::timeline(filter, Box::new(shared.clone()));
    feed(timeline, text).expect("writes");
    let bytes = shared.0.lock().expect("not poisoned").clone();
    let all = decode(&bytes).expect("is a message");
    all.into_iter().map(packet).collect()
}

fn packet(field: Field) -> Packet {
    let Field::Bytes(1, bytes) = field else {
        panic!("{field:?}: only packets");
    };
    let fields = decode(&bytes).expect("is a packet");
    let number = |fields: &[Field], wanted| {
        fields.iter().find_map(|f| match f {
            Field::Number(n, value) if *n == wanted => Some(*value),
            _ => None,
        })
    };
    let bytes = |fields: &[Field], wanted| {
        fields.iter().find_map(|f| match f {
            Field::Bytes(n, value) if *n == wanted => Some(value.clone()),
            _ => None,
        })
    };
    let text = |fields: &[Field], wanted| {
        bytes(fields, wanted).map(|b| String::from_utf8(b).expect("is text"))
    };
    assert_eq!(number(&fields, 10), Some(1), "the sequence is mandatory");
    if let Some(track) = bytes(&fields, 60) {
        let track = decode(&track).expect("is a descriptor");
        return Packet::Track {
            uuid: number(&track, 1).expect("has an id"),
            parent: number(&track, 5),
            name: text(&track, 2).expect("has a name"),
            counter: bytes(&track, 8).is_some(),
        };
    }
    let event = decode(&bytes(&fields, 11).expect("an event")).expect("is an event");
    Packet::Event {
        time: number(&fields, 8).expect("has a time"),
        track: number(&event, 11).expect("has a track"),
        kind: number(&event, 9).expect("has a kind"),
        name: text(&event, 23),
        value: number(&event, 30),
    }
}

const TEXT: &str = "\
      a-5  [001] d..1. 1.000000: rcu_callback: rcu_preempt rhp=10 func=f 1
      a-5  [001] d..2. 1.000100: sched_switch: prev_comm=a prev_pid=5 prev_prio=120 prev_state=S ==> next_comm=b next_pid=6 next_prio=120
      b-6  [001] d..2. 1.000200: sched_switch: prev_comm=b prev_pid=6 prev_prio=120 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120
  <idle>-0 [001] d..1. 1.000300: cpu_idle: state=2 cpu_id=1
 rcu_preempt-15 [003] d..1. 1.000400: rcu_grace_period: rcu_preempt 13 start
 rcu_preempt-15 [003] ..... 1.000500: rcu_grace_period: rcu_preempt 13 fqsstart
 rcu_preempt-15 [003] ..... 1.000600: rcu_grace_period: rcu_preempt 13 fqsend
 rcu_preempt-15 [003] ..... 1.000700: rcu_grace_period: rcu_preempt 13 end
  <idle>-0 [001] d.s1. 1.000800: rcu_batch_start: rcu_preempt CBs=1 bl=10
  <idle>-0 [001] d.s1. 1.000810: rcu_invoke_callback: rcu_preempt rhp=10 func=f
  <idle>-0 [001] d.s1. 1.000820: rcu_batch_end: rcu_preempt CBs-invoked=1 idle=....
";

/// Every event with its time in microseconds and its track by name; tracks have to be described first.
fn shown(packets: &[Packet]) -> Vec<String> {
    let mut names = BTreeMap::new();
    let mut shown = Vec::new();
    let mut open: BTreeMap<u64, i64> = BTreeMap::new();
    for packet in packets {
        match packet {
            Packet::Track {
                uuid,
                parent,
                name,
                counter,
            } => {
                assert_eq!(*counter, name == "callbacks that wait");
                assert!(
                    parent.is_none_or(|p| names.contains_key(&p)),
                    "{name}: its parent comes first"
                );
                assert!(
                    names.insert(*uuid, name.clone()).is_none(),
                    "{name}: described once"
                );
            }
            Packet::Event {
                time,
                track,
                kind,
                name,
                value,
            } => {
                let track_name = names.get(track).expect("described before its first event");
                *open.entry(*track).or_insert(0) += [0, 1, -1, 0, 0][*kind as usize];
                let what = name
                    .clone()
                    .or(value.map(|v| v.to_string()))
                    .unwrap_or_else(|| "end".to_owned());
                shown.push(format!("{} {track_name}: {what}", time / 1000 - 1_000_000));
            }
        }
    }
    assert!(open.values().all(|n| *n == 0), "{open:?}");
    shown
}

#[test]
fn slices_are_on_their_tracks_and_all_are_closed() {
    assert_eq!(
        shown(&packets(TEXT)),
        [
            "0 callbacks that wait: 1",
            "100 CPU 1: b-6",
            "200 CPU 1: end",
            "300 CPU 1 idle: state 2",
            "400 grace periods: grace period 13",
            "500 grace periods: scan",
            "600 grace periods: end",
            "700 grace periods: end",
            "800 batches, softirq CPU 1: 1 ready",
            "810 callbacks that wait: 0",
            "820 batches, softirq CPU 1: end",
            "820 CPU 1 idle: end",
        ]
    );
}

#[test]
fn a_clock_without_a_unit_has_no_timeline() {
    let text = "a-1 [001] d..2. 17: rcu_grace_period: rcu_preempt 13 start\n";
    let analysis = Analysis::timeline(Filter::default(), Box::new(Shared::default()));
    let why = feed(analysis, text).expect_err("is refused").to_string();
    assert!(why.contains("clock with a unit"), "{why}");
}

#[test]
fn an_output_that_cannot_be_written_is_an_error() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let why = feed(Analysis::timeline(Filter::default(), Box::new(Full)), TEXT)
        .expect_err("fails")
        .to_string();
    assert!(why.starts_with("the timeline cannot be written"), "{why}");
}

#[test]
fn packets_are_counted_and_the_output_is_flushed() {
    /// Keeps what was flushed.
    #[derive(Default)]
    struct Late(Vec<u8>, Shared);
    impl std::io::Write for Late {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            self.1.write_all(&std::mem::take(&mut self.0))
        }
    }
    let shared = Shared::default();
    let late = Late(Vec::new(), shared.clone());
    let found = feed(Analysis::timeline(Filter::default(), Box::new(late)), TEXT).expect("writes");
    let written = decode(&shared.0.lock().expect("not poisoned")).expect("is a message");
    assert_eq!(written.len(), packets(TEXT).len());
    assert!(
        found.notes[0].starts_with(&format!("{} packets written", written.len())),
        "{:?}",
        found.notes
    );
    let slices: Vec<(&str, Option<f64>)> = found.tables[0]
        .rows
        .iter()
        .map(|row| (row.labels[0].as_str(), row.figures[0]))
        .collect();
    let expected = [
        ("batches", 1.0),
        ("grace periods", 1.0),
        ("idle", 1.0),
        ("scans", 1.0),
        ("tasks", 1.0),
    ];
    assert_eq!(slices, expected.map(|(what, n)| (what, Some(n))));
}

#[test]
fn tracks_of_cpus_and_invokers_are_apart() {
    let switch = |cpu: u32, from: &str, to: &str| {
        format!(
            "x-9 [{cpu:03}] d..2. 1.0: sched_switch: prev_comm={from} prev_pid=5 prev_prio=120 \
             prev_state=S ==> \
             next_comm={to} next_pid=6 next_prio=120\n"
        )
    };
    let idle = |cpu: u32, state: u32| {
        format!("x-9 [000] d..1. 1.0: cpu_idle: state={state} cpu_id={cpu}\n")
    };
    let batch =
        |by: &str, what: &str| format!("{by} [003] ..s1. 1.0: rcu_batch_{what} idle=....\n");
    let exit = u32::MAX;
    let text = switch(0, "a", "b")
        + &switch(1, "a", "c")
        + &switch(2, "a", "d")
        + &idle(7, exit)
        + &idle(0, 1)
        + &idle(1, 2)
        + &idle(0, exit)
        + &batch("rcuop/1-27", "start: rcu_preempt CBs=4 bl=10")
        + &batch("rcuop/2-28", "start: rcu_preempt CBs=5 bl=10")
        + &batch("rcuop/1-27", "end: rcu_preempt CBs-invoked=4");
    let packets = packets(&text);
    let events = shown(&packets);
    let expected = [
        "0 CPU 0: b-6",
        "0 CPU 1: c-6",
        "0 CPU 2: d-6",
        "0 CPU 0 idle: state 1",
        "0 CPU 1 idle: state 2",
        "0 CPU 0 idle: end",
        "0 batches, rcuop/1: 4 ready",
        "0 batches, rcuop/2: 5 ready",
        "0 batches, rcuop/1: end",
    ];
    assert_eq!(events[..expected.len()], expected);
    assert_eq!(
        events.len(),
        expected.len() + 5,
        "what is open is closed: {events:?}"
    );
    let below = |name: &str| {
        packets.iter().find_map(|packet| match packet {
            Packet::Track {
                uuid,
                parent,
                name: of,
                ..
            } if of == name => Some((*uuid, *parent)),
            _ => None,
        })
    };
    let [cpus, rcu] = ["CPUs", "RCU"].map(|name| below(name).expect("is described").0);
    assert_eq!(below("CPU 1 idle").expect("is described").1, Some(cpus));
    assert_eq!(
        below("batches, rcuop/2").expect("is described").1,
        Some(rcu)
    );
    assert_eq!(
        below("CPU 7 idle"),
        None,
        "its idle time began before the trace"
    );
}

#[test]
fn what_has_no_beginning_is_not_drawn_and_what_is_queued_twice_waits_once() {
    let gp = |what: &str| {
        format!("rcu_preempt-15 [003] d..1. 1.0: rcu_grace_period: rcu_preempt 13 {what}\n")
    };
    let expedited =
        |what: &str| format!("b-6 [002] ..... 1.0: rcu_exp_grace_period: rcu_preempt 4 {what}\n");
    let callback =
        |head: u32| format!("a-5 [001] d..1. 1.0: rcu_callback: rcu_preempt rhp={head} func=f 1\n");
    let invoked = |head: u32| {
        format!("a-5 [001] ..s1. 1.0: rcu_invoke_callback: rcu_preempt rhp={head} func=f\n")
    };
    let text = [
        "fqsstart", "fqsend", "end", "start", "fqsend", "fqsstart", "fqsend", "end",
    ]
    .map(gp)
    .concat()
        + &["start", "end"].map(expedited).concat()
        + &[10, 10, 20].map(callback).concat()
        + &[99, 10, 20].map(invoked).concat();
    let events = shown(&packets(&text));
    let expected = [
        "0 grace periods: grace period 13",
        "0 grace periods: scan",
        "0 grace periods: end",
        "0 grace periods: end",
        "0 expedited: expedited grace period",
        "0 expedited: end",
        "0 callbacks that wait: 1",
        "0 callbacks that wait: 1",
        "0 callbacks that wait: 2",
        "0 callbacks that wait: 1",
        "0 callbacks that wait: 0",
    ];
    assert_eq!(events, expected);
}

#[test]
fn a_filter_and_a_window_leave_out_the_rest() {
    let other = Filter {
        cpus: Some([5].into_iter().collect()),
        ..Filter::default()
    };
    let rcu = |event: &String| event.contains("grace periods");
    assert!(shown(&filtered(other, TEXT)).iter().all(rcu));
    let early = Filter {
        to_ns: Some(1_000_350_000),
        ..Filter::default()
    };
    let last = "300 CPU 1 idle: state 2".to_owned();
    let events = shown(&filtered(early, TEXT));
    assert_eq!(
        (&events[events.len() - 2], events.len()),
        (&last, 5),
        "{events:?}"
    );
}

#[test]
fn nothing_is_written_behind_a_failure_and_slices_are_counted() {
    /// Fails, and counts how often.
    struct Fails(std::sync::Arc<std::sync::atomic::AtomicU32>);
    impl std::io::Write for Fails {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let writes = std::sync::Arc::default();
    let timeline = Analysis::timeline(
        Filter::default(),
        Box::new(Fails(std::sync::Arc::clone(&writes))),
    );
    feed(timeline, TEXT).expect_err("fails");
    assert_eq!(writes.load(std::sync::atomic::Ordering::Relaxed), 1);
    let timeline = Analysis::timeline(Filter::default(), Box::new(Shared::default()));
    let idle = "x-9 [001] d..1. 2.0: cpu_idle: state=1 cpu_id=1\n".repeat(3);
    assert_eq!(
        feed(timeline, &idle).expect("writes").tables[0].figure("idle", "slices"),
        Some(3.0)
    );
}
