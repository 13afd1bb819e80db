use super::*;
use crate::open;
use std::io::Read as _;

fn path(name: &str) -> String {
    let root = env!("CARGO_MANIFEST_DIR");
    format!("{root}/../../data/traces/{name}.txt.xz")
}

fn of(name: &str) -> Recorded {
    let path = path(name);
    let mut reader = Reader::new(&path, open(&path).expect("opens"));
    let (recorded, _) = recorded(&mut reader, Options::default()).expect("can be replayed");
    recorded
}

fn from(text: &str, options: Options) -> Result<Recorded, Error> {
    recorded(&mut Reader::new("test", text.as_bytes()), options).map(|it| it.0)
}

#[test]
fn a_lazy_trace_tells_lazy_callbacks_from_others() {
    let r = of("classic-c-lazy-file100");
    assert!(r.lazy && r.unseen == 0);
    let not: Vec<_> = r.in_window().filter(|a| a.lazy != Some(true)).collect();
    assert_eq!(not.len(), 1, "{not:?}");
    assert_eq!(
        (&*not[0].func, not[0].queued),
        ("rcu_work_rcufn", Queued::Main)
    );
    assert!(not[0].irqs_off && not[0].time_ns == 6_158_357_000);
    // Reference L1, L3: opened at 2.135437; flushed by the caller after ten seconds each.
    let at = |queued| {
        let found = r
            .arrivals
            .iter()
            .filter(move |a| a.queued == queued && a.cpu == 1);
        found.map(|a| a.time_ns / 1000).collect::<Vec<_>>()
    };
    assert_eq!(at(Queued::FlushedBypass), [12_138_836, 22_142_250]);
    assert_eq!(
        at(Queued::OpenedBypass),
        [2_135_437, 12_138_840, 22_142_254]
    );
    // The other group slept all the time, and no CPU invokes by itself.
    assert_eq!(
        r.offloaded.iter().collect::<Vec<_>>(),
        [0, 1, 2, 3, 4, 5, 6, 7]
    );
}

#[test]
fn an_interrupt_between_an_arrival_and_its_wakeup_does_not_part_them() {
    let text = "\
        a-1 [000] d..1. 1.0: rcu_nocb_wake: rcu_preempt 0 FirstQ\n\
        a-1 [000] d..1. 1.1: rcu_callback: rcu_preempt rhp=1 func=f 1\n\
        a-1 [000] d.h1. 1.2: hrtimer_expire_entry: hrtimer=1 function=x now=1\n\
        a-1 [000] d..1. 1.3: rcu_nocb_wake: rcu_preempt 0 WakeEmptyIsDeferred\n\
        a-1 [000] d..1. 1.4: rcu_callback: rcu_preempt rhp=2 func=f 2\n\
        a-1 [000] d..1. 1.5: sched_wakeup: comm=b pid=2 prio=1 target_cpu=000\n\
        a-1 [000] d..1. 1.6: rcu_nocb_wake: rcu_preempt 0 WakeNot\n\
        a-1 [000] d.h1. 1.7: rcu_callback: rcu_preempt rhp=3 func=f 3\n\
        b-2 [000] d..1. 1.8: rcu_nocb_wake: rcu_preempt 0 WakeNot\n";
    let given = Options {
        hz: Some(250),
        ..Options::default()
    };
    let r = from(text, given).expect("HZ is given");
    let seen = r.arrivals.iter().map(|a| (a.queued, a.irqs_off));
    let expected = [
        (Queued::Main, true),
        (Queued::Unknown, false),
        (Queued::Unknown, true),
    ];
    assert_eq!(seen.collect::<Vec<_>>(), expected);
}

#[test]
fn without_laziness_nothing_is_said_about_it_and_functions_tell() {
    let r = of("classic-b-nocb-file100");
    assert!(!r.lazy && !r.offloaded.is_empty());
    assert!(
        r.arrivals
            .iter()
            .all(|a| a.lazy.is_none() && a.queued == Queued::Main)
    );
    assert!(r.arrivals.iter().all(|a| a.may_be_lazy() && !a.irqs_off));
    let softirq = of("classic-a-softirq-file100");
    assert!(softirq.offloaded.is_empty());
    assert!(softirq.arrivals.iter().all(|a| a.queued == Queued::Unknown));
    let sync = of("s-sync-classic-8");
    let waits = sync.arrivals.iter().filter(|a| !a.may_be_lazy()).count();
    assert_eq!(waits, 100);
}

#[test]
fn hz_is_the_same_by_timers_and_by_ticks_alone() {
    for name in [
        "classic-a-softirq-file100",
        "classic-c-lazy-file100",
        "b-nocb-file100-cut",
        "s-sync-classic-8",
    ] {
        let r = of(name);
        assert_eq!((r.hz, r.cpus), (1000, 8), "{name}");
        let mut text = String::new();
        let mut input = open(path(name)).expect("opens").text();
        input.read_to_string(&mut text).expect("reads");
        let ticks = text.lines().filter(|l| !l.contains(" timer_expire_entry:"));
        let ticks: String = ticks.flat_map(|l| [l, "\n"]).collect();
        let by_ticks = from(&ticks, Options::default()).expect("can be replayed");
        assert_eq!(
            (by_ticks.hz, by_ticks.jiffies_at_zero),
            (1000, None),
            "{name}"
        );
    }
}

#[test]
fn jiffy_zero_is_the_one_that_the_reference_has() {
    // Rule W2, and it is the same in every boot of that virtual machine.
    for name in ["classic-c-lazy-file100", "classic-b-nocb-file100"] {
        assert_eq!(of(name).jiffies_at_zero, Some(4_294_667_250), "{name}");
    }
}

#[test]
fn threads_are_where_the_reference_saw_them() {
    let r = of("classic-a-softirq-file100");
    let placed_at = |r: &Recorded, time_ns: u64| {
        let places = r.placements["rcu_preempt"].iter();
        places
            .rev()
            .find(|it| it.time_ns <= time_ns)
            .map(|it| it.cpu)
    };
    assert_eq!(placed_at(&r, r.window.start_ns), Some(3));
    assert!(!r.placements.keys().any(|name| name.starts_with("rcuog")));
    // Reference P2: the kthread moves from 0 to 1 at 6.389.
    let early = of("classic-a-softirq-file100-early");
    assert_eq!(placed_at(&early, 6_388_000_000), Some(0));
    assert_eq!(placed_at(&early, 6_390_000_000), Some(1));
    let nocb = of("classic-b-nocb-file100");
    for thread in ["rcu_preempt", "rcuog/0", "rcuop/1"] {
        assert!(nocb.placements.contains_key(thread), "{thread}");
    }
}

#[test]
fn what_is_not_known_is_an_error_or_is_given() {
    let text = "a-1 [000] d..1. 1.0: rcu_callback: rcu_preempt rhp=1 func=f 1\n\
        a-1 [000] d..1. 2.0: rcu_invoke_callback: rcu_preempt rhp=2 func=f\n";
    let error = from(text, Options::default())
        .expect_err("no tick")
        .to_string();
    assert!(error.contains("HZ") && error.contains("2 lines") && error.contains("CONFIG_HZ"));
    let given = Options {
        hz: Some(250),
        ..Options::default()
    };
    let r = from(text, given).expect("HZ is given");
    assert_eq!((r.hz, r.jiffies_at_zero, r.unseen), (250, None, 1));
    let unitless = "a-1 [000] d..1. 17: e: t\na-1 [000] d..1. 18: e: t\n";
    let error = from(unitless, given).expect_err("no unit").to_string();
    assert!(error.contains("trace_clock"), "{error}");
    assert!(from("", given).is_err());
}
