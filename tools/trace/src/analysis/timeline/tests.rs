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
    let shared = Shared::default();
    feed(
        Analysis::timeline(Filter::default(), Box::new(shared.clone())),
        text,
    )
    .expect("writes");
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

#[test]
fn slices_are_on_their_tracks_and_all_are_closed() {
    let packets = packets(TEXT);
    let mut names = BTreeMap::new();
    let mut shown = Vec::new();
    let mut open: BTreeMap<u64, i64> = BTreeMap::new();
    for packet in &packets {
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
    assert_eq!(
        shown,
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
    assert!(open.values().all(|n| *n == 0), "{open:?}");
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
