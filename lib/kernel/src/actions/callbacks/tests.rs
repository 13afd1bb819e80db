use super::*;
use crate::periods::gp::tests::after_one;
use crate::periods::host::asked_by_the_driver_only;
use quiescent_engine::seq::Word;

/// Counts the requests that are traced.
#[derive(Default)]
struct Counting(core::cell::Cell<u32>);

impl Host for Counting {
    asked_by_the_driver_only!();

    fn trace(&self, event: &Event) {
        if let Event::GracePeriod { .. } = event {
            self.0.set(self.0.get() + 1);
        }
    }
}

#[test]
fn a_grace_period_known_to_be_asked_for_is_not_asked_for_again() {
    let (mut engine, host) = (after_one(), Counting::default());
    let mut cpu = Cpu::new(1);
    let _ = cpu.note_gp_changes(&mut engine, &host);
    host.0.set(0);
    cpu.gp_seq_needed = engine.published().global.snap();
    let _ = cpu.call(&mut engine, 0, 0, &host);
    assert!(!cpu.stamp_unlocked(&mut engine, &host));
    assert!(host.0.get() == 0 && !engine.busy());
    let stamp = cpu.list().next_gp();
    assert_eq!(stamp, Some(cpu.gp_seq_needed), "it is stamped all the same");
    // Not if what this CPU knows is worth nothing.
    cpu.gpwrap = true;
    assert!(cpu.stamp_unlocked(&mut engine, &host));
    assert!(engine.busy());
}

#[test]
fn a_cpu_that_slept_through_half_the_numbers_compares_nothing() {
    let (mut engine, host) = (after_one(), Counting::default());
    let leaf = engine.published().root.raw();
    for (behind, flagged) in [(Word::MAX / 4 - 8, false), (Word::MAX / 4 + 8, true)] {
        let mut cpu = Cpu::new(1);
        cpu.gp_seq = Seq::from_raw(leaf.wrapping_sub(behind) & !3);
        cpu.gp_seq_needed = Seq::from_raw(leaf.wrapping_add(400));
        cpu.credited(&engine);
        assert_eq!((cpu.gpwrap, cpu.core_pending(&engine)), (flagged, true));
        // Later still: only the flag tells.
        cpu.gp_seq = Seq::from_raw(leaf);
        assert_eq!(cpu.core_pending(&engine), flagged);
        let noticed = cpu.note_gp_changes(&mut engine, &host);
        assert_eq!((noticed.ended, noticed.began), (flagged, flagged));
        let stale = cpu.gp_seq_needed.raw() != leaf;
        assert_eq!((cpu.gpwrap, stale), (false, !flagged));
    }
}

#[test]
fn a_kernel_before_5_9_also_asks_where_nothing_is_new() {
    for (only_new, stamps, asks) in [
        (true, 1, false),
        (false, 1, true),
        (true, 2, false),
        (false, 2, false), // no slot is free
    ] {
        let (mut engine, host) = (after_one(), Counting::default());
        engine.config.accelerate_only_new = only_new;
        let mut cpu = Cpu::new(1);
        let reached = engine.published().global;
        for behind in (1..=stamps).rev() {
            let stamp = Seq::from_raw(reached.raw().wrapping_sub(4 * behind));
            cpu.list.enqueue_to(cpu.list.end() + 1, 0, 0);
            assert!(cpu.list.accelerate(stamp));
        }
        assert_eq!(cpu.stamp(&mut engine, &host), asks, "{only_new}, {stamps}");
    }
}
