//! Programs at random on a machine of threads: nothing may come too early, and nothing may be left behind.
//!
//! The oracle is the machine's own. Costs are by chance as well, from nothing to longer than any thread's
//! patience: they decide which thread comes between two steps of another. `QUIESCENT_SEARCH=deep` tries more
//! programs.

use quiescent_sim::chance::Chance;
use quiescent_sim::{Op, Options, Threads, Verb, Work};

const MS: u64 = 1_000_000;

/// A thread that does so many things.
struct Anything {
    chance: Chance,
    left: u64,
    depth: u64,
    burst: (u64, usize),
    long: u64,
}

impl Anything {
    fn new(seed: u64, deeds: u64) -> Anything {
        let mut chance = Chance::new(seed);
        let long = [50_000, 2 * MS, 200 * MS][chance.below(3) as usize];
        Anything {
            chance,
            left: deeds,
            depth: 0,
            burst: (0, 0),
            long,
        }
    }

    fn call(func: usize) -> Op {
        Op::Call {
            func,
            lazy: false,
            can_wake: true,
        }
    }
}

impl Work for Anything {
    fn next(&mut self, now: u64) -> Op {
        if self.burst.0 > 0 {
            self.burst.0 -= 1;
            return Anything::call(self.burst.1);
        }
        if self.left == 0 {
            return match self.depth.checked_sub(1) {
                Some(depth) if self.chance.below(2) == 0 => {
                    self.depth = depth;
                    Op::Unlock
                }
                _ => Op::Exit, // and so end its sections
            };
        }
        self.left -= 1;
        let inside = self.depth > 0;
        match self.chance.below(16) {
            0 => Op::SleepUntil(now + self.chance.below(self.long)),
            1 => Op::Compute(self.chance.below(self.long / 10)),
            2 | 3 if !inside => Op::Synchronize,
            4 if !inside => Op::SynchronizeExpedited,
            5 if !inside && self.chance.below(3) == 0 => Op::Barrier,
            6 | 7 => {
                self.depth += 1;
                Op::Lock
            }
            8..=10 if inside => {
                self.depth -= 1;
                Op::Unlock
            }
            11 => {
                let func = self.chance.below(FUNCS) as usize;
                self.burst = (self.chance.below(700), func);
                Anything::call(func)
            }
            _ => Anything::call(self.chance.below(FUNCS) as usize),
        }
    }
}

const FUNCS: u64 = 6;

fn options(chance: &mut Chance) -> Options {
    let mut it = Options::threads([100, 250, 1000][chance.below(3) as usize]);
    let one_of = |chance: &mut Chance, n| chance.below(n) == 0;
    it.stepwise = one_of(chance, 2);
    it.seed = chance.next();
    it.lazy_flush_ms = [20, 1500, 10_000][chance.below(3) as usize];
    let policy = &mut it.threads;
    policy.prompt_ns = [0, MS, 50 * MS][chance.below(3) as usize];
    policy.offload = one_of(chance, 5);
    // Off: a wake-up that is lost is then lost for ever.
    policy.stall_ns = [0, 3 * MS, 1000 * MS][chance.below(3) as usize];
    if one_of(chance, 2) {
        policy.batch = 1 + chance.below(100);
        policy.batch_bytes = 1 + chance.below(20_000);
    }
    if one_of(chance, 3) {
        policy.budget_callbacks = 1 + chance.below(2000);
    }
    let prices = &mut policy.prices;
    // A driver's patience is 100 ms: wake-ups and fences may take longer.
    let price = |chance: &mut Chance| [0, 100, 10_000, 300 * MS][chance.below(4) as usize];
    let short = |chance: &mut Chance| [0, 50, 5000][chance.below(3) as usize];
    (prices.fence, prices.wake, prices.start) = (price(chance), price(chance), price(chance));
    (prices.step, prices.push, prices.help) = (short(chance), short(chance), short(chance));
    prices.spin = 1 + short(chance);
    prices.ask = short(chance);
    it
}

/// What was come across, over all seeds.
#[derive(Debug, Default)]
struct Seen {
    calls: u64,
    callbacks: u64,
    grace_periods: u64,
    sole: u64,
    take_overs: u64,
    sleeps: u64,
    reader_wakeups: u64,
    hand_overs: u64,
    takeovers: u64,
    stalls: u64,
    helped: u64,
    barriers: u64,
    over_budget: u64,
}

fn run(seed: u64) -> (quiescent_sim::Stats, Threads) {
    let mut chance = Chance::new(seed);
    let options = options(&mut chance);
    let mut machine = Threads::new(options.clone());
    for (name, verb) in [
        ("retire", Verb::Retire),
        ("large", Verb::Retire),
        ("hands off", Verb::RetireOnWorker),
        ("call", Verb::Call),
        ("lazy", Verb::CallLazy),
        ("hurry", Verb::CallHurry),
    ] {
        machine.func(name, if name == "large" { 4096 } else { 96 }, verb);
    }
    for thread in 0..1 + chance.below(8) {
        let work = Anything::new(chance.next(), 30 + chance.below(100));
        let (start, registered) = (chance.below(50 * MS), chance.below(2) == 0);
        machine.spawn(&format!("thread/{thread}"), start, registered, work);
    }
    let hour = 3_600_000 * MS;
    assert!(
        machine.run_tasks(hour),
        "seed {seed}: a task waits for ever: {options:?}"
    );
    let over = machine.now() + 60_000 * MS;
    assert!(
        machine.run_out(over),
        "seed {seed}: {} are left: {options:?}",
        machine.owed()
    );
    machine.run(over + 60_000 * MS);
    assert_eq!(machine.too_early(), 0, "seed {seed}: {options:?}");
    assert!(
        machine.is_quiet(),
        "seed {seed}: work that no task needs: {options:?}"
    );
    (machine.stats(), machine)
}

#[test]
fn nothing_comes_too_early_and_nothing_is_left_behind() {
    let mut all = Seen::default();
    let deep = std::env::var("QUIESCENT_SEARCH").is_ok_and(|it| it == "deep");
    for seed in 0..if deep { 20_000 } else { 800 } {
        let (stats, machine) = run(seed);
        let counted = machine.counted();
        all.calls += stats.calls.len() as u64;
        all.callbacks += stats.funcs.iter().map(|func| func.invoked).sum::<u64>();
        all.grace_periods += counted.grace_periods;
        all.sole += counted.sole;
        all.take_overs += counted.fences_take;
        all.sleeps += counted.sleeps;
        all.reader_wakeups += counted.reader_wakeups;
        all.hand_overs += counted.hand_overs;
        all.takeovers += counted.takeovers;
        all.stalls += counted.stalls;
        all.helped += counted.helped;
        all.barriers += counted.barriers;
        all.over_budget += counted.over_budget;
    }
    println!("{all:?}");
    assert!(all.callbacks > 100_000 && all.calls > 5_000, "{all:?}");
    assert!(all.grace_periods > 5_000 && all.sole > 500, "{all:?}");
    assert!(all.take_overs > 500 && all.barriers > 200, "{all:?}");
    assert!(all.sleeps > 100 && all.reader_wakeups > 100, "{all:?}");
    assert!(all.hand_overs > 200 && all.takeovers > 20, "{all:?}");
    assert!(
        all.stalls > 20 && all.helped > 500 && all.over_budget > 50,
        "{all:?}"
    );
}

#[test]
fn a_run_is_the_same_again() {
    for seed in [3, 17] {
        assert_eq!(run(seed).0, run(seed).0);
    }
}
