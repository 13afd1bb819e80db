//! The budget in the child of a fork.

use super::*;

#[test]
fn in_the_child_of_a_fork_the_total_is_the_childs() {
    let mut rig = Rig::new(2, 1000, 1000);
    let _ = rig.retire(0, 3, 300);
    rig.push(1, Lane::Code as usize, 5, 500);
    let _ = rig.refill(1, Urgency::Hurry);
    rig.push(0, PLAIN, 1, 100); // not in the total yet
    assert_eq!(
        rig.global().held(),
        Held {
            count: 8,
            bytes: 800
        }
    );
    for cpu in 0..2 {
        let now = rig.now();
        let global = rig.machine.engine_mut();
        let _ = rig.cpus[cpu].forked(global, &rig.queued[cpu], false, now);
        rig.clear_bytes(cpu);
    }
    rig.machine.engine_mut().forked();
    rig.check();
    assert_eq!(
        rig.global().held(),
        Held {
            count: 4,
            bytes: 400
        },
        "closures stay with the parent"
    );
    assert_eq!(rig.global().lent(), Held::default());
    assert_eq!(rig.global().level(), Level::Easy);
    assert!(
        !rig.machine.engine_mut().sweeps_all(),
        "no thread of this process was woken"
    );
}

#[test]
fn the_child_of_a_fork_has_everything_taken_over_anew() {
    let mut rig = Rig::new(1, 1000, 1000);
    assert!(rig.retire(0, 1, 900).kick, "near the budget");
    rig.taken(0, false);
    rig.grace_period();
    assert_eq!(rig.run(0, Lane::Plain, 9), 1);
    // The thread that was woken is in the parent.
    rig.machine.engine_mut().forked();
    assert!(
        rig.retire(0, 1, 900).kick,
        "the thread that was woken is not here"
    );
}
