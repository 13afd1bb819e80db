use super::*;
use crate::whatif::{BAD_FIT, doings, feed, read, report, text};

fn trace() -> Trace {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../data/traces/b-nocb-file100-cut.txt.xz"
    );
    let input = quiescent_trace::open(path).unwrap();
    read(path, input, Default::default()).unwrap()
}

fn request(was: &[&str], set: &[&str]) -> Request {
    let all = |them: &[&str]| them.iter().map(|it| it.to_string()).collect();
    Request {
        file: "b".into(),
        was: all(was),
        set: all(set),
        ..Request::default()
    }
}

fn asked(was: &[&str], set: &[&str]) -> Result<Option<Answer>, Error> {
    ask(&trace(), &request(was, set), Control::none())
}

#[test]
fn three_columns_and_where_each_setting_is_from() {
    let answer = asked(
        &[],
        &["jiffies_till_first_fqs=8", "jiffies_till_next_fqs=8"],
    );
    let answer = answer.unwrap().unwrap();
    assert_eq!(answer.misfits().count(), 0);
    let keys: Vec<&str> = answer.differences().iter().map(|it| it.0).collect();
    assert_eq!(keys, ["jiffies_till_first_fqs", "jiffies_till_next_fqs"]);
    let from = |key: &str| {
        let all = answer.settings();
        all.iter().find(|it| it.0 == key).map(|it| it.2)
    };
    assert_eq!(from("idle_loop"), Some("trace"));
    assert_eq!(from("jiffies_till_first_fqs"), Some("trace"));
    assert_eq!(from("rcu_normal_wake_from_gp"), Some("default"));
    let report = report(&answer, false);
    report.check().unwrap();
    let of = |who| report.find(who, "whatif", "grace_periods_per_s").unwrap();
    assert!((of("model").median / of("recorded").median - 1.0).abs() < BAD_FIT);
    let changed = of("changed").median;
    assert!(of("changed_least").median <= changed && changed <= of("changed_most").median);
    assert!(changed < of("model").median);
    let text = text(&answer, 118);
    for words in [
        "recorded  model as recorded",
        "idle_loop=retain (trace)",
        "(was 3)",
        "grace_periods_per_s (1/s)",
    ] {
        assert!(text.contains(words), "no `{words}` in {text}");
    }
}

#[test]
fn a_bad_fit_is_said_before_the_figures() {
    // It was recorded with 3, and all CPUs offloaded.
    let answer = asked(&["jiffies_till_first_fqs=60"], &["early_qs=init"]);
    let answer = answer.unwrap().unwrap();
    assert!(answer.misfits().count() > 0);
    assert!(answer.doubts[0].contains("does not fit") && answer.doubts[0].contains("--as"));
    let text = text(&answer, 118);
    assert!(
        text.find("warning: the model does not fit") < text.find("recorded  model as recorded")
    );
    assert!(text.contains(" !"), "{text}");
}

#[test]
fn settings_that_are_the_traces_are_refused_with_a_remedy() {
    for (set, remedy) in [
        ("cpus=4", "leave it out"),
        ("hz=250", "--hz"),
        ("seed=3", "--seed N"),
        ("early_qs=off", "was recorded under"),
        ("early_gs=init", "did you mean"),
    ] {
        let why = asked(&[], &[set]).unwrap_err();
        assert!(matches!(why, Error::Usage(_)), "{set}: {why}");
        assert!(why.to_string().contains(remedy), "{set}: {why}");
    }
    assert!(
        check(&request(&[], &["early_gs=init"])).is_err(),
        "before the trace is read"
    );
}

#[test]
fn who_is_stopped_answers_nothing() {
    let answer = ask(&trace(), &request(&[], &["rcu=lazy"]), Control::cancelled());
    assert!(answer.unwrap().is_none());
}

/// `c` calls `rcu_barrier`, and one callback is waited for.
const BARRIER: &str = "\
x-5 [000] d..2. 0.001000: sched_switch: prev_comm=x prev_pid=5 prev_prio=120 prev_state=S ==> next_comm=c \
next_pid=7 next_prio=120
c-7 [000] ..... 0.001010: rcu_barrier: rcu_preempt Begin cpu -1 remaining 0 # 4
c-7 [000] d..2. 0.001020: sched_switch: prev_comm=c prev_pid=7 prev_prio=120 prev_state=D ==> next_comm=swapper/0 next_pid=0 next_prio=120
<idle>-0 [000] ..s1. 0.006000: rcu_invoke_callback: rcu_preempt rhp=ff30 func=rcu_barrier_callback
<idle>-0 [000] d..2. 0.006005: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=c next_pid=7 next_prio=120
c-7 [000] ..... 0.006009: rcu_barrier: rcu_preempt Inc2 cpu -1 remaining 0 # 1
";

#[test]
fn a_barrier_is_fed_or_it_is_said_what_is_missing() {
    let missing = "record rcu_barrier too";
    for (seen, fed) in [(true, 1), (false, 0)] {
        let lines = BARRIER
            .lines()
            .filter(|it| seen || !it.contains(": rcu_barrier:"));
        let text: String = lines.map(|it| format!("{it}\n")).collect();
        let known = quiescent_trace::Options {
            hz: Some(1000),
            window: Some(quiescent_trace::Window {
                start_ns: 0,
                end_ns: 9_000_000,
            }),
        };
        let trace = read("text", text.as_bytes(), known).unwrap();
        let control = Control::none();
        let answer = ask(&trace, &request(&[], &["rcu_normal=1"]), control);
        let answer = answer.unwrap().unwrap();
        assert_eq!(answer.fed.barriers, fed);
        assert_eq!(answer.about().contains("1 calls of rcu_barrier"), seen);
        assert_eq!(answer.doubts.iter().any(|it| it.contains(missing)), !seen);
    }
}

#[test]
fn with_more_input_rcus_threads_move_on_as_the_other_threads_do() {
    let mut trace = trace();
    let start = trace.recorded.window.start_ns;
    trace.doings.driver = vec![(start + 1_000_000, 0), (start + 2_000_000, 1)];
    let places = |feed| {
        let fed = feed::machine(&trace.recorded, &trace.doings, trace.options(), feed);
        let tasks = fed.machine.sys.tasks.into_iter();
        tasks.map(|it| (it.name, it.places)).collect::<Vec<_>>()
    };
    let longer = places(Feed::of(1).longer(2.0));
    assert_eq!(longer, places(Feed::of(3)));
    let behind = trace.recorded.window.end_ns + doings::period(&trace.recorded);
    assert!(longer.iter().flat_map(|it| &it.1).any(|it| it.0 > behind));
}

#[test]
fn none_is_offloaded_in_either_order() {
    for [was, set] in [
        ["rcu_nocbs=none", "nohz_full=1"],
        ["nohz_full=1", "rcu_nocbs=none"],
    ] {
        let answer = asked(&[was], &[set]).unwrap().unwrap();
        assert!(answer.machines[1].none_offloaded, "{was} {set}");
    }
    let answer = asked(&["rcu_nocbs=none"], &["rcu=offload"])
        .unwrap()
        .unwrap();
    assert!(!answer.machines[1].none_offloaded);
}
