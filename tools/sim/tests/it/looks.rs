//! What is seen of a machine while it runs.

use quiescent_sim::chance::Chance;
use quiescent_sim::{Func, Hog, Machine, Options, Queued, Steps, Time, Workload};

const SECOND: u64 = 1_000_000_000;

fn queuer(machine: &mut Machine, name: &str, lazy: bool, every: u64) {
    let func = machine.func(name);
    let callback = Queued::of(func).lazy(lazy);
    let every = Time::of(every);
    let arrival = |it: Steps| it.due(every, u64::MAX, false).queue(1, 1, 1_000, 0);
    let work = Steps::default().repeat(None, arrival);
    let work = work.of(vec![callback], Chance::new(1));
    machine.spawn_endless(name, 1, machine.now(), work);
}

#[test]
fn looks_add_up_to_what_the_run_has_shown() {
    for workload in ["churn", "local-video"] {
        let plan = Workload::named(workload).unwrap().plan(&[]).unwrap();
        let [mut live, mut whole] = [(); 2].map(|()| {
            let mut machine = plan.machine();
            machine.window(0, u64::MAX);
            machine
        });
        let (mut periods, mut delays) = (0, Vec::new());
        for second in 1..=3 {
            live.run(second * SECOND);
            let look = live.look();
            periods += look.grace_periods.0;
            delays.resize(look.functions.len(), 0);
            for (sum, func) in delays.iter_mut().zip(&look.functions) {
                *sum += func.delays.iter().sum::<u64>();
            }
            whole.run(second * SECOND);
            let stats = whole.stats();
            assert_eq!(look.totals, stats.totals);
            let queued = |funcs: &[Func]| funcs.iter().map(|it| it.queued).collect::<Vec<_>>();
            assert_eq!(queued(&look.functions), queued(&stats.funcs));
            assert_eq!(periods, stats.grace_periods.len() as u64);
            let all = stats.funcs.iter().map(|it| it.delays.iter().sum());
            assert_eq!(delays, all.collect::<Vec<u64>>());
            let woken = stats.wakeups.iter().map(|it| it.1);
            assert!(woken.eq(look.tasks.iter().map(|it| it.wakeups)));
        }
        assert!(periods > 0, "{workload}");
    }
}

#[test]
fn who_computes_has_the_cpu_and_none_has_more_than_there_is() {
    let mut machine = Machine::new(Options::kernel_6_12(2, 1000));
    machine.spawn_endless("hog", 1, 0, Hog);
    machine.run(SECOND);
    let tasks = machine.look().tasks;
    let hog = tasks.iter().find(|it| it.name == "hog").unwrap();
    assert!(hog.ran_ns >= SECOND - 1_000_000, "{hog:?}");
    let all: u64 = tasks.iter().map(|it| it.ran_ns).sum();
    assert!(all <= 2 * SECOND, "{all}");
}

#[test]
fn the_function_that_is_not_lazy_breaks_the_laziness_of_the_others() {
    let options = Options {
        nocbs: vec![0, 1],
        lazy: true,
        ..Options::kernel_6_12(2, 1000)
    };
    let mut machine = Machine::new(options);
    queuer(&mut machine, "patient", true, 10_000_000);
    machine.run(5 * SECOND);
    let looked = machine.look().functions;
    assert_eq!((looked[0].lazily, looked[0].broke), (looked[0].queued, 0));
    assert!(looked[0].queued > 400, "{looked:?}");
    queuer(&mut machine, "prompt", false, 700_000_000);
    machine.run(10 * SECOND);
    let looked = machine.look().functions;
    assert_eq!((looked[1].lazily, looked[0].broke), (0, 0));
    // After a flush there is no sleeper to wake early.
    assert!(
        looked[1].broke > 5 && looked[1].broke <= looked[1].queued,
        "{looked:?}"
    );
}
