//! The context-tracking word, interrupted at every point.

use super::*;

/// Half-steps of one CPU's life; the value carried between the halves of an interrupt is kept aside,
/// as it would be on the stack.
#[derive(Clone, Copy, Debug)]
enum Half {
    EnterNest,
    EnterFlip(Context),
    ExitFlip(Context),
    ExitNest,
    IrqEnterFlip,
    IrqEnterNest,
    IrqExitNest,
    IrqExitFlip,
    Momentary,
}
use Half::*;

fn apply(w: &mut Watching, half: Half, stack: &mut i64) {
    match half {
        EnterNest => w.eqs_enter_nest(),
        EnterFlip(to) => w.eqs_enter_flip(to),
        ExitFlip(from) => w.eqs_exit_flip(from),
        ExitNest => w.eqs_exit_nest(),
        IrqEnterFlip => *stack = w.irq_enter_flip(),
        IrqEnterNest => w.irq_enter_nest(*stack),
        IrqExitNest => *stack = i64::from(w.irq_exit_nest()),
        IrqExitFlip if *stack == 1 => w.irq_exit_flip(),
        IrqExitFlip => {}
        Momentary => w.momentary_eqs(),
    }
}

/// Idle with an interrupt in it, user with one, an interrupt of a task, a guest.
const LIFE: [Half; 24] = [
    EnterNest,
    EnterFlip(Context::Idle),
    IrqEnterFlip,
    IrqEnterNest,
    IrqExitNest,
    IrqExitFlip,
    ExitFlip(Context::Idle),
    ExitNest,
    IrqEnterFlip,
    IrqEnterNest,
    Momentary,
    IrqExitNest,
    IrqExitFlip,
    EnterNest,
    EnterFlip(Context::User),
    IrqEnterFlip,
    IrqEnterNest,
    IrqExitNest,
    IrqExitFlip,
    ExitFlip(Context::User),
    ExitNest,
    EnterNest,
    EnterFlip(Context::Guest),
    ExitFlip(Context::Guest),
];

/// An NMI; if `nested`, itself interrupted after each of its halves by a second one.
fn nmi(w: &mut Watching, nested: bool) {
    let before = *w;
    let inner = |w: &mut Watching| {
        if nested {
            let at = *w;
            w.irq_enter();
            assert!(w.is_watching());
            w.irq_exit();
            assert_netted_out(at, *w);
        }
    };
    let step = w.irq_enter_flip();
    assert!(w.is_watching());
    inner(w);
    w.irq_enter_nest(step);
    assert!(w.is_watching(), "a handler runs watched");
    inner(w);
    if w.irq_exit_nest() {
        inner(w);
        w.irq_exit_flip();
    }
    inner(w);
    assert_netted_out(before, *w);
}

fn assert_netted_out(before: Watching, after: Watching) {
    assert_eq!(
        (
            after.nesting,
            after.nmi_nesting,
            after.context(),
            after.is_watching()
        ),
        (
            before.nesting,
            before.nmi_nesting,
            before.context(),
            before.is_watching()
        )
    );
    let moved = after.counter().wrapping_sub(before.counter());
    assert_eq!(
        moved == 0,
        before.is_watching(),
        "an interrupted EQS shows in the counter"
    );
    assert_eq!(moved % 2, 0);
}

#[test]
fn an_nmi_at_any_point_nets_out() {
    for nested in [false, true] {
        let (mut plain, mut hit, mut s1, mut s2) = (Watching::new(), Watching::new(), 0, 0);
        for half in LIFE {
            nmi(&mut hit, nested);
            apply(&mut plain, half, &mut s1);
            apply(&mut hit, half, &mut s2);
            let strip = |w: Watching| (w.nesting, w.nmi_nesting, w.context(), w.is_watching());
            assert_eq!(strip(hit), strip(plain), "after {half:?}");
        }
    }
}

#[test]
fn every_subset_of_points_may_be_hit() {
    const FIRST: usize = 13;
    for subset in 0_u32..1 << FIRST {
        let (mut w, mut stack) = (Watching::new(), 0);
        for (i, half) in LIFE[..FIRST].iter().enumerate() {
            if subset >> i & 1 == 1 {
                nmi(&mut w, true);
            }
            apply(&mut w, *half, &mut stack);
        }
        assert_eq!((w.nesting, w.nmi_nesting), (1, Watching::TASK_NESTING));
        assert!(w.is_watching());
    }
}

#[test]
fn a_scan_tells_the_states_apart() {
    let mut w = Watching::new();
    let busy = w.seen();
    assert!(!busy.outside);
    assert_eq!(w.seen(), busy, "nothing happened, nothing is proven");
    w.idle_enter();
    assert!(w.seen().outside);
    w.irq_enter();
    assert!(!w.seen().outside, "the handler may read");
    w.irq_exit();
    assert!(w.seen().outside);
    w.idle_exit();
    assert!(!w.seen().outside && w.seen().stamp != busy.stamp);
}

#[test]
fn each_transition_counts_one_and_a_momentary_one_two() {
    let mut w = Watching::new();
    let base = w.counter();
    let moved = |w: &Watching| w.counter() - base;
    w.user_enter();
    assert_eq!((moved(&w), w.context()), (1, Context::User));
    w.user_exit();
    assert_eq!((moved(&w), w.context()), (2, Context::Kernel));
    w.irq_enter();
    assert_eq!(moved(&w), 2, "a task was interrupted, not an EQS");
    w.momentary_eqs();
    w.irq_exit();
    assert_eq!((moved(&w), w.is_watching()), (4, true));
    w.guest_enter();
    assert_eq!((moved(&w), w.context()), (5, Context::Guest));
    w.irq_enter();
    assert_eq!((moved(&w), w.context()), (6, Context::Guest));
    w.irq_enter();
    w.irq_exit();
    w.irq_exit();
    w.guest_exit();
    assert_eq!((moved(&w), w.context()), (8, Context::Kernel));
}

#[test]
fn coming_online_watches_again() {
    let mut died_idle = Watching::new();
    died_idle.idle_enter();
    let before = died_idle.counter();
    died_idle.online();
    assert_eq!(died_idle.counter(), before + 1);
    let mut died_watched = Watching::new();
    died_watched.online();
    assert_eq!(died_watched, Watching::new(), "parity was set already");
    died_idle.idle_enter();
    died_idle.idle_exit();
    assert!(died_idle.is_watching() && died_idle.context() == Context::Kernel);
}

#[test]
fn the_word_wraps_without_touching_the_context() {
    let mut w = Watching {
        word: !CONTEXT_MASK,
        ..Watching::new()
    };
    w.idle_enter();
    assert_eq!(
        (w.counter(), w.context(), w.is_watching()),
        (0, Context::Idle, false)
    );
    w.idle_exit();
    assert_eq!((w.counter(), w.context()), (1, Context::Kernel));
}

#[test]
#[should_panic(expected = "without being there")]
fn leaving_the_wrong_context_is_refused() {
    let mut w = Watching::new();
    w.idle_enter();
    w.user_exit();
}

#[test]
#[should_panic(expected = "from a handler")]
fn a_handler_does_not_go_idle() {
    let mut w = Watching::new();
    w.irq_enter();
    w.idle_enter();
}

#[test]
#[should_panic(expected = "never began")]
fn an_unbalanced_handler_exit_is_refused() {
    Watching::new().irq_exit();
}

#[test]
#[should_panic(expected = "never began")]
fn nor_between_the_halves_of_an_exit_from_idle() {
    let mut w = Watching::new();
    w.idle_enter();
    w.eqs_exit_flip(Context::Idle);
    w.irq_exit();
}

/// Half of what the counter holds, to either side: no number of handlers gets there.
#[test]
fn a_tasks_nesting_is_out_of_every_handlers_reach() {
    assert_eq!(Watching::TASK_NESTING, 1 << 62);
}
