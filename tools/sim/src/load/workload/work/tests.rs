use super::*;
use crate::input::op::Queued;
use crate::load::workload::Workload;

/// The steps of a task that this section describes, with two callbacks of functions 7 and 8.
fn steps(section: &str) -> Steps {
    let text = format!(
        "about = \"x\"\nassumes = [\"x\"]\n[parameters]\nrest = {{ value = \"70ns\", about = \"x\" }}\n\
         [[task]]\nname = \"x\"\n{section}"
    );
    let plan = Workload::read("x", "x.toml", &text).unwrap_or_else(|why| panic!("{why}"));
    let plan = plan.plan(&[]).unwrap();
    let callbacks = [7, 8].map(Queued::of).into();
    plan.groups[0].work.steps.of(callbacks, Chance::new(3))
}

/// What it does from then on until it is over, at most so many steps; each takes its time.
fn done(mut work: Steps, mut now: u64, most: usize) -> Vec<Op> {
    let mut all = Vec::new();
    while all.len() < most {
        let op = work.next(now);
        match op {
            Op::Exit => break,
            Op::SleepUntil(at) => now = at,
            Op::Compute(ns) | Op::Kernel(ns) => now += ns,
            _ => {}
        }
        all.push(op);
    }
    all
}

const TWO: &str = "callbacks = [{ func = \"a\" }, { func = \"b\" }]";

#[test]
fn rounds_of_calls_with_pauses_and_rests() {
    let work = "work = \"rounds\"\nrounds = 2\ncalls = 2\npause = \"5ns\"\ncompute = \"3ns\"\nrest = \
                \"70ns\"";
    let round = |at: u64| {
        let call = [Op::Compute(3), Op::Synchronize, Op::SleepUntil(at + 8)];
        let last = [Op::Compute(3), Op::Synchronize, Op::SleepUntil(at + 81)];
        [call, last].concat()
    };
    assert_eq!(
        done(steps(work), 100, 99),
        [round(100), round(181)].concat()
    );
}

#[test]
fn callbacks_are_waited_for_after_the_calls_of_each_round() {
    let work = "work = \"rounds\"\nrounds = 2\nawaits = 2\ncallbacks = [{ func = \"a\" }]";
    let wait = Op::AwaitCallback(Queued::of(7));
    let round = [Op::Synchronize, wait.clone(), wait];
    assert_eq!(done(steps(work), 0, 99), [round.clone(), round].concat());
    assert!(done(steps("work = \"rounds\"\ncalls = 0"), 0, 9).is_empty());
}

#[test]
fn sections_follow_each_other_until_there_were_enough() {
    let work = "work = \"read\"\nsections = 2\ninside = \"5ns\"\noutside = \"70ns\"";
    let section = |at: u64| {
        [
            Op::Lock,
            Op::Compute(5),
            Op::Unlock,
            Op::SleepUntil(at + 75),
        ]
    };
    assert_eq!(
        done(steps(work), 100, 99),
        [section(100), section(175)].concat()
    );
}

#[test]
fn a_switch_ends_before_the_next_begins() {
    let one = "work = \"switch\"\ntimes = 2\ncompute = \"3ns\"\nrest = \"70ns\"\n\
               callbacks = [{ func = \"a\" }]";
    let switch = |at: u64| {
        [
            Op::Kernel(3),
            Op::AwaitCallback(Queued::of(7)),
            Op::SleepUntil(at + 73),
        ]
    };
    assert_eq!(
        done(steps(one), 100, 99),
        [switch(100), switch(173)].concat()
    );
}

#[test]
fn a_reclaimer_looks_again_and_again_or_never() {
    let work = "work = \"reclaim\"\nevery = \"5ns\"\nabove = 9\nlazy = 2";
    let reclaim = Op::Reclaim { above: 9, lazy: 2 };
    let twice = [
        Op::SleepUntil(5),
        reclaim.clone(),
        Op::SleepUntil(10),
        reclaim,
    ];
    assert_eq!(done(steps(work), 0, 4), twice);
    assert!(done(steps("work = \"reclaim\"\nevery = 0"), 10, 9).is_empty());
}

#[test]
fn each_cpu_goes_and_comes_back_before_the_next_one_goes() {
    let work = "work = \"plug\"\nwhich = \"3,5\"\nevery = \"10ns\"\naway = \"4ns\"";
    let cycle = |at: u64, cpu| {
        let (pause, away) = (Op::SleepUntil(at + 10), Op::SleepUntil(at + 14));
        [pause, Op::Offline(cpu), away, Op::Online(cpu)]
    };
    assert_eq!(
        done(steps(work), 100, 8),
        [cycle(100, 3), cycle(114, 5)].concat()
    );
    let work = format!("{work}\noffload = 1");
    assert_eq!(done(steps(&work), 0, 2)[1], Op::Deoffload(3));
}

#[test]
fn a_frame_is_drawn_and_each_buffer_has_a_call_of_its_own() {
    let work = "work = \"close\"\nrate = 62500\nbuffers = 2\ncompute = \"500ns\"\nclose = \"20ns\"\nstop = \
                \"40us\"";
    let call = |func| Op::Call(Queued::of(func));
    let close = |argument| {
        let name = crate::SysCallName::Close;
        let enter = Op::Enter { name, argument };
        [enter, Op::Kernel(20), call(7), call(8), Op::Leave]
    };
    let frame = |at| {
        let begins = vec![Op::SleepUntil(at), Op::Compute(500)];
        [begins, close(3).into(), close(4).into()].concat()
    };
    let all = done(steps(&format!("{work}\n{TWO}")), 1000, 99);
    assert_eq!(
        all,
        [frame(17_000), frame(33_000)].concat(),
        "and none at 49000"
    );
    assert!(done(steps("work = \"close\"\nrate = 1\nbuffers = 0"), 5, 9).is_empty());
}

/// Callbacks that it queues until then, and how often it sleeps.
fn counts(work: Steps, until: u64) -> (usize, usize) {
    let all = done(work, 0, 100_000);
    let end = all
        .iter()
        .position(|it| matches!(it, Op::SleepUntil(at) if *at >= until));
    let all = &all[..end.unwrap_or(all.len())];
    let count = |of: fn(&Op) -> bool| all.iter().filter(|it| of(it)).count();
    (
        count(|it| matches!(it, Op::Call(_))),
        count(|it| matches!(it, Op::SleepUntil(_))),
    )
}

#[test]
fn the_rate_is_the_one_that_was_asked_for_and_nothing_is_queued_after_the_stop() {
    let queue = |rest: &str| {
        steps(&format!(
            "work = \"queue\"\nrate = 1000\ncompute = \"20us\"\nbetween = \"500ns\"\n{TWO}\n{rest}"
        ))
    };
    let second = 1_000_000_000;
    let (calls, sleeps) = counts(queue("vary = 0\ntimes = 3"), second);
    assert!((5990..=6000).contains(&calls), "{calls}");
    assert!((999..=1000).contains(&sleeps), "{sleeps}");
    let (calls, _) = counts(queue("vary = 1"), 10 * second);
    assert!((19_400..20_600).contains(&calls), "{calls}");
    assert_eq!(
        counts(queue("vary = 0\nstop = \"3000001ns\""), second).0,
        4,
        "two arrivals of two"
    );
    // Work before the first callback, and between two.
    let once = done(queue("vary = 0\ntimes = 2"), 0, 9);
    let [call, other] = [7, 8].map(|it| Op::Call(Queued::of(it)));
    let between = Op::Kernel(500);
    let mut all = vec![
        Op::SleepUntil(1_000_001),
        Op::Kernel(20_000),
        call.clone(),
        between.clone(),
    ];
    all.extend([other.clone(), between.clone(), call, between, other]);
    assert_eq!(once, all);
}

#[test]
fn a_file_may_have_the_steps_themselves() {
    let work = format!(
        "work = \"steps\"\ntimes = 2\nsteps = [\"lock\", \"run 200us\", \"unlock\", \"call_rcu b\", \
         \"await\", \
         \"kernel 5ns\", \"synchronize_rcu\", \"sleep $rest\"]\n{TWO}"
    );
    let [a, b] = [7, 8].map(Queued::of);
    let once = |at: u64| {
        let reads = [
            Op::Lock,
            Op::Compute(200_000),
            Op::Unlock,
            Op::Call(b),
            Op::AwaitCallback(a),
        ];
        let waits = [Op::Kernel(5), Op::Synchronize, Op::SleepUntil(at + 200_075)];
        [&reads[..], &waits[..]].concat()
    };
    assert_eq!(done(steps(&work), 0, 99), [once(0), once(200_075)].concat());
    let drawn = done(steps("work = \"steps\"\nsteps = [\"run ~1ms\"]"), 0, 3);
    assert!(drawn.iter().all(|it| matches!(it, Op::Compute(_))) && drawn[0] != drawn[1]);
    for (list, said) in [
        ("\"jump\"", "`jump` is no step here; steps are run TIME"),
        ("\"run\"", "`run` is no step here"),
        (
            "\"run 5ms\", \"call_rcu x\"",
            "`call_rcu x` is no step here",
        ),
        ("\"run $rst\"", "no such parameter"),
        ("\"lock\", \"unlock\"", "one that takes time"),
    ] {
        let text = format!(
            "about = \"x\"\nassumes = [\"x\"]\n[[task]]\nname = \"x\"\nwork = \"steps\"\nsteps = [{list}]"
        );
        let why = Workload::read("x", "x.toml", &text)
            .unwrap_err()
            .to_string();
        assert!(
            why.contains(said) && why.starts_with("x.toml: line "),
            "{list}: {why}"
        );
    }
}
