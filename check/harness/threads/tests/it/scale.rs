//! The cost of a grace period with many present, departed or blocking threads. The tests count, and measure
//! no times.

use quiescent_engine::{Config, Counts, Interest, Next, Phase};
use quiescent_harness_threads::TestHost;

/// Steps that suffice for any grace period here.
const MANY: u32 = 10_000;

/// The cost of a grace period for which `cpu` waited, and which it drove.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
struct Cost {
    steps: u64,
    scans: u64,
    leaves_scanned: u64,
    /// Queries of the presence at a leaf.
    present: u64,
    /// Queries of a reader's word.
    words: u64,
}

fn cost(host: &mut TestHost, cpu: u32) -> Cost {
    let (before, (present, words)) = (host.engine().counts(), host.looks());
    let ticket = host.wait_for_gp(cpu);
    host.drive(cpu, ticket, MANY);
    assert!(host.satisfied(ticket));
    since(host, before, present, words)
}

fn since(host: &TestHost, before: Counts, present: u64, words: u64) -> Cost {
    let (after, looks) = (host.engine().counts(), host.looks());
    Cost {
        steps: after.steps - before.steps,
        scans: after.scans - before.scans,
        leaves_scanned: after.leaves_scanned - before.leaves_scanned,
        present: looks.0 - present,
        words: looks.1 - words,
    }
}

/// Threads `0..n`, of which only those for which `keep` is true stay, after the grace period that notices it.
fn left_of(n: u32, keep: impl Fn(u32) -> bool) -> (TestHost, u32) {
    let mut host = TestHost::threads(n);
    let driver = (0..n).find(|&cpu| keep(cpu)).expect("one thread stays");
    cost(&mut host, driver);
    for cpu in (0..n).filter(|&cpu| !keep(cpu)) {
        host.unregister(cpu);
    }
    cost(&mut host, driver);
    (host, driver)
}

#[test]
fn five_thousand_came_and_ten_stayed() {
    let (mut host, driver) = left_of(5_000, |cpu| (4_000..4_010).contains(&cpu));
    let found = cost(&mut host, driver);
    // The start, the fence, one leaf, the end.
    assert_eq!((found.scans, found.leaves_scanned, found.words), (1, 1, 10));
    assert!(found.present <= 3, "{found:?}");
    assert!(found.steps <= 4, "{found:?}");
    // The same costs as if the others had never been there.
    let mut small = TestHost::threads(10);
    cost(&mut small, 0);
    assert_eq!(found, cost(&mut small, 0));
}

#[test]
fn the_cost_is_linear_in_occupied_leaves() {
    // A thread at every 64th number: one in every leaf; and so on.
    let of = |leaves: u32| {
        let stays = |cpu: u32| cpu.is_multiple_of(64) && cpu / 64 < leaves;
        let (mut host, driver) = left_of(60 * 64, stays);
        cost(&mut host, driver)
    };
    let first = of(10);
    for leaves in [10, 20, 37, 60] {
        let found = of(leaves);
        let more = u64::from(leaves) - 10;
        assert_eq!(found.steps, first.steps + more, "{leaves} leaves");
        assert_eq!(found.leaves_scanned, u64::from(leaves));
        assert_eq!(found.words, u64::from(leaves));
        assert!(found.present <= 2 * u64::from(leaves) + 2, "{found:?}");
    }
}

#[test]
fn a_scan_for_one_holdout_looks_at_its_leaf_only() {
    let (leaves, holdout) = (70, 100);
    let mut host = TestHost::threads(leaves * 64);
    cost(&mut host, 0);
    host.enter(holdout);
    let (before, looks) = (host.engine().counts(), host.looks());
    let ticket = host.wait_for_gp(0);
    assert!(host.try_drive(0, Interest::Waiter(ticket)));
    while !matches!(host.step(), Next::Sleep(_)) {}
    let found = since(&host, before, looks.0, looks.1);
    assert!(found.scans > 10, "{found:?}");
    let again = found.scans - 1;
    assert_eq!(found.leaves_scanned, u64::from(leaves) + again);
    assert_eq!(found.words, u64::from(leaves) * 64 + again);
    host.exit(holdout);
    host.drive(0, ticket, MANY);
    assert!(host.satisfied(ticket));
}

#[test]
fn holdouts_in_two_leaves_far_apart() {
    let mut host = TestHost::threads(70 * 64);
    cost(&mut host, 0);
    let held = [64 * 3 + 5, 64 * 69 + 63];
    held.iter().for_each(|&cpu| host.enter(cpu));
    let before = host.engine().counts();
    let ticket = host.wait_for_gp(0);
    assert!(host.try_drive(0, Interest::Waiter(ticket)));
    while !matches!(host.step(), Next::Sleep(_)) {}
    let after = host.engine().counts();
    let scans = after.scans - before.scans;
    assert_eq!(
        after.leaves_scanned - before.leaves_scanned,
        70 + 2 * (scans - 1)
    );
    assert!(host.engine().holdouts().eq(held));
    held.iter().for_each(|&cpu| host.exit(cpu));
    host.drive(0, ticket, MANY);
    assert!(host.satisfied(ticket));
}

#[test]
fn who_asks_from_a_leaf_that_is_left_out_is_heard() {
    let (mut host, driver) = left_of(300, |cpu| cpu >= 64 && cpu % 64 == 43);
    // A thread that is not registered requests through leaf 0, at every point of a grace period.
    let mut met = 0;
    for steps in 0..40 {
        let first = host.wait_for_gp(driver);
        assert!(host.try_drive(driver, Interest::Waiter(first)));
        for _ in 0..steps {
            if matches!(host.asked(), Some(Next::Done | Next::HandOver)) {
                break;
            }
            let _ = host.step();
        }
        met += u32::from(host.engine().phase() != Phase::Idle);
        let late = host.wait_for_gp(0);
        let _ = host.leave();
        host.drive(driver, late, MANY);
        assert!(host.satisfied(late), "after {steps} steps");
    }
    assert!(
        met > 4,
        "only {met} requests came during a grace period: too few to be a test"
    );
}

#[test]
fn a_leaf_that_was_left_out_for_long_is_taken_in_again() {
    let (mut host, driver) = left_of(300, |cpu| cpu == 299);
    // More grace periods than 16-bit numbers (`quiescent_narrow_seq`) can tell apart.
    for rounds in [1, 127, 1023, 9_000, 12_000] {
        for _ in 0..rounds {
            let found = cost(&mut host, driver);
            assert_eq!(found.leaves_scanned, 1);
        }
        // A thread registers, reads, and blocks the next grace period; then it waits for a grace period
        // itself.
        let newcomer = host.register();
        assert_eq!(newcomer, 0, "the first free number");
        host.enter(newcomer);
        let ticket = host.wait_for_gp(driver);
        host.drive(driver, ticket, MANY);
        assert!(
            !host.satisfied(ticket),
            "{rounds} grace periods later it was not waited for"
        );
        host.exit(newcomer);
        host.drive(driver, ticket, MANY);
        assert!(host.satisfied(ticket));
        assert!(!host.engine().busy(), "another one was not requested");
        assert_eq!(cost(&mut host, newcomer).leaves_scanned, 2);
        host.unregister(newcomer);
        cost(&mut host, driver);
    }
}

/// Knuth's MMIX generator: the same numbers on every system.
struct Lcg(u64);

impl Lcg {
    fn below(&mut self, n: u32) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        ((self.0 >> 33) % u64::from(n)) as u32
    }
}

/// Threads that arrive, read, wait and leave at random, in leaves of four that are mostly empty. A
/// ticket must not be satisfied before the sections end that were open when it was taken; at the end all
/// tickets are satisfied.
#[test]
fn random_threads_in_a_sparse_tree() {
    const CPUS: u32 = 256;
    let config = Config {
        leaf: 4,
        ..Config::threads()
    };
    for seed in 1..=20 {
        let mut random = Lcg(seed);
        let mut host = TestHost::threads_with(CPUS, config);
        let (mut here, mut inside) = (vec![true; CPUS as usize], vec![0u64; CPUS as usize]);
        for cpu in 1..CPUS {
            if random.below(16) > 0 {
                host.unregister(cpu);
                here[cpu as usize] = false;
            }
        }
        let (mut sections, mut tickets) = (0, Vec::new());
        for _ in 0..4_000 {
            let cpu = random.below(CPUS) as usize;
            match random.below(6) {
                // Odd numbers: the section that this thread has open, so that the next one has another
                // number.
                0 if here[cpu] && inside[cpu] == 0 => {
                    sections += 1;
                    host.enter(cpu as u32);
                    inside[cpu] = sections;
                }
                1 | 2 if inside[cpu] != 0 => {
                    host.exit(cpu as u32);
                    inside[cpu] = 0;
                }
                3 if here[cpu] && inside[cpu] == 0 && cpu != 0 => {
                    host.unregister(cpu as u32);
                    here[cpu] = false;
                }
                4 if random.below(4) == 0 => here[host.register() as usize] = true,
                5 => {
                    let ticket = host.wait_for_gp(cpu as u32);
                    tickets.push((ticket, inside.clone()));
                    host.drive(0, ticket, random.below(60));
                }
                _ => {}
            }
            tickets.retain(|(ticket, open)| {
                let ended = open
                    .iter()
                    .zip(&inside)
                    .all(|(&old, &now)| old == 0 || old != now);
                assert!(ended || !host.satisfied(*ticket), "seed {seed}: too short");
                !host.satisfied(*ticket)
            });
        }
        (0..CPUS)
            .filter(|&cpu| inside[cpu as usize] != 0)
            .for_each(|cpu| host.exit(cpu));
        let last = host.wait_for_gp(0);
        host.drive(0, last, MANY);
        assert!(tickets.iter().all(|&(ticket, _)| host.satisfied(ticket)));
        assert!(
            host.satisfied(last),
            "seed {seed}: a waiter is never satisfied"
        );
    }
}
