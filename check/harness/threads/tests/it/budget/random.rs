//! Random runs of several queues.

use super::*;

/// In every order of operations the total is the sum of the shares, and 0 when nothing is queued.
#[test]
fn the_total_is_the_sum_of_the_shares_at_all_times() {
    for seed in 1..=8u64 {
        let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut below = |n: u64| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % n
        };
        let mut rig = Rig::new(5, 200_000, 3000);
        for queued in &mut rig.queued {
            queued[PLAIN].freed_to = None; // set again where the owner pops
        }
        let mut levels = [0; 3];
        for _ in 0..4000 {
            let cpu = below(5) as usize;
            match below(10) {
                0..=2 => {
                    let (lane, count) = (below(2) as usize, below(40));
                    rig.push(cpu, lane, count, count * below(600));
                    let urgency = [Urgency::Lazy, Urgency::Hurry][below(2) as usize];
                    let _ = rig.refill(cpu, urgency);
                }
                3 => {
                    let count = below(20); // what the owner has not reported
                    rig.push(cpu, PLAIN, count, count * 32);
                    rig.taken(cpu, below(4) == 0);
                }
                4 => {
                    let bytes = below(1000);
                    let before = rig.global().held();
                    if rig.admit(cpu, bytes) {
                        let after = rig.global().held();
                        let fits = after.bytes <= 200_000 && after.count <= 3000;
                        assert!(fits || after.count == 1, "{before:?} {after:?}");
                        rig.push(cpu, PLAIN, 1, bytes);
                    }
                    let _ = rig.refill(cpu, Urgency::Lazy);
                }
                5 => rig.grace_period(),
                6 => {
                    // The owner pops.
                    let list = rig.cpus[cpu].list(Lane::Plain);
                    let to = list.head() + below(list.ready() + 1);
                    rig.queued[cpu][PLAIN].freed_to = Some(to);
                    let _ = rig.refill(cpu, Urgency::Lazy);
                    rig.queued[cpu][PLAIN].freed_to = None;
                }
                7 => drop(rig.machine.engine_mut().sweeps_all()),
                _ => drop(rig.run(cpu, [Lane::Plain, Lane::Code][below(2) as usize], below(90))),
            }
            rig.ns += below(SECOND);
            rig.check();
            levels[rig.global().level() as usize] += 1;
        }
        assert!(
            levels.iter().all(|&times| times > 100),
            "every level was reached: {levels:?}"
        );
        for cpu in 0..5 {
            rig.taken(cpu, false);
        }
        rig.grace_period();
        for cpu in 0..5 {
            rig.taken(cpu, false); // entries that had found no free segment
        }
        rig.grace_period();
        for cpu in 0..5 {
            for lane in [Lane::Plain, Lane::Code, Lane::Own] {
                while rig.run(cpu, lane, 7) != 0 {}
            }
        }
        rig.check();
        assert_eq!(rig.global().held(), Held::default());
        assert_eq!(rig.global().lent(), Held::default());
    }
}
