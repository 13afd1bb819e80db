//! Each rule of `menu`, on inputs made by hand.

use super::*;
use crate::idling::Table;

const US: u64 = 1000;
const MS: u64 = 1_000_000;

fn states() -> Vec<IdleState> {
    Table::named("alder-lake").unwrap().kinds[0].states.clone()
}

fn ask(timer: u64) -> Ask {
    Ask {
        timer,
        tick: MS / 2,
        stopped: false,
        needs_tick: false,
        period: MS,
        limit: u64::MAX,
    }
}

fn name(choice: Choice) -> String {
    states()[choice.state].name.clone()
}

/// One that has been idle for these times, always with a timer that far.
fn after(times: [u64; 8]) -> Menu {
    let mut menu = Menu::default();
    for time in times {
        menu.asked = None;
        menu.woke(time, false, MS);
    }
    menu
}

#[test]
fn who_knows_nothing_believes_the_timer() {
    for (timer, state) in [
        (10 * MS, "C10"),
        (2 * MS, "C10"),
        (2 * MS - 1, "C8"),
        (1100 * US, "C8"),
    ] {
        let choice = Menu::default().choose(&ask(timer), &states());
        assert_eq!((name(choice), choice.keeps_tick), (state.into(), false));
    }
}

#[test]
fn a_guess_below_a_tick_keeps_the_tick_and_the_state_is_worth_it_until_then() {
    // 700 us to the timer: C6 would do, but the tick comes in 500.
    let choice = Menu::default().choose(&ask(700 * US), &states());
    assert_eq!((name(choice), choice.keeps_tick), ("C1E".into(), true));
    let early = Ask {
        tick: 650 * US,
        ..ask(700 * US)
    };
    let choice = Menu::default().choose(&early, &states());
    assert_eq!((name(choice), choice.keeps_tick), ("C6".into(), true));
}

#[test]
fn times_that_hardly_vary_are_typical() {
    let menu = after([300, 310, 290, 305, 300, 295, 300, 300].map(|it| it * US));
    assert_eq!(menu.typical(), Some(300 * US));
    // Large, and within a sixth.
    let menu = after([5000, 5300, 4800, 5100, 5000, 4900, 5200, 5000].map(|it| it * US));
    assert_eq!(menu.typical(), Some(5037 * US));
}

#[test]
fn up_to_two_that_are_long_are_left_out() {
    let menu = after([300, 9000, 300, 300, 80_000, 300, 300, 300].map(|it| it * US));
    assert_eq!(menu.typical(), Some(300 * US));
    let menu = after([300, 9000, 300, 300, 80_000, 300, 300, 4000].map(|it| it * US));
    assert_eq!(menu.typical(), None, "three are a pattern of their own");
}

#[test]
fn fewer_than_eight_times_are_no_pattern() {
    let mut menu = Menu::default();
    for _ in 0..7 {
        menu.woke(300 * US, false, MS);
    }
    assert_eq!(menu.typical(), None);
    menu.woke(300 * US, false, MS);
    assert_eq!(menu.typical(), Some(300 * US));
}

#[test]
fn what_is_typical_counts_against_a_timer_that_is_far() {
    let mut menu = after([700 * US; 8]);
    let far = ask(100 * MS);
    let choice = menu.choose(&far, &states());
    assert!(choice.keeps_tick, "below a tick");
    let mut menu = after([1500 * US; 8]);
    assert_eq!(name(menu.choose(&far, &states())), "C8");
}

#[test]
fn a_short_pattern_needs_no_look_at_the_timer() {
    let mut menu = after([10 * US; 8]);
    menu.choose(&ask(100 * MS), &states());
    assert_eq!(menu.asked, None);
    menu.choose(
        &Ask {
            stopped: true,
            ..ask(100 * MS)
        },
        &states(),
    );
    assert_eq!(menu.asked, Some(100 * MS), "but with the tick stopped");
}

#[test]
fn with_the_tick_stopped_a_guess_below_a_tick_is_not_believed() {
    let mut menu = after([300 * US; 8]);
    let stopped = Ask {
        stopped: true,
        ..ask(50 * MS)
    };
    let choice = menu.choose(&stopped, &states());
    assert_eq!((name(choice), choice.keeps_tick), ("C10".into(), false));
    let near = Ask {
        timer: 650 * US,
        ..stopped
    };
    assert_eq!(name(menu.choose(&near, &states())), "C6");
}

#[test]
fn timers_that_are_never_reached_are_corrected_in_their_magnitude() {
    let mut menu = Menu::default();
    for round in 0..40 {
        menu.choose(&ask(20 * MS), &states());
        // Between 2 and 6 ms: no pattern.
        menu.woke((2 + round % 5) * MS, false, MS);
    }
    let guess = menu.corrected(20 * MS);
    assert!((3 * MS..5 * MS).contains(&guess), "{guess}");
    assert_eq!(menu.corrected(5 * MS), 5 * MS, "another magnitude");
    // And timers that are reached make it whole again.
    for _ in 0..60 {
        menu.choose(&ask(20 * MS), &states());
        menu.woke(20 * MS, false, MS);
    }
    assert!(menu.corrected(20 * MS) > 19 * MS);
}

#[test]
fn the_kept_tick_is_no_evidence_of_short_times() {
    let before_the_tick = MS - 20 * US; // it had run for a moment when the last one had passed
    for short in [600 * US, before_the_tick] {
        let mut menu = after([short; 8]);
        // Idle for a second now, but for the tick that the governor keeps.
        let mut ticks = 0;
        while menu.choose(&ask(1000 * MS), &states()).keeps_tick {
            menu.woke(before_the_tick, true, MS);
            ticks += 1;
            assert!(ticks < 20, "it ticks for ever");
        }
        assert!(ticks > 0);
    }
}

#[test]
fn the_latency_limit_holds_and_if_nothing_is_within_it_the_tick_goes_on() {
    let limited = Ask {
        limit: 250 * US,
        ..ask(100 * MS)
    };
    assert_eq!(name(Menu::default().choose(&limited, &states())), "C6");
    let none = Ask {
        limit: 0,
        ..ask(100 * MS)
    };
    let choice = Menu::default().choose(&none, &states());
    assert_eq!((name(choice), choice.keeps_tick), ("C1".into(), true));
}

#[test]
fn a_tick_that_has_to_go_on_is_a_timer() {
    let needed = Ask {
        needs_tick: true,
        tick: 900 * US,
        ..ask(100 * MS)
    };
    let choice = Menu::default().choose(&needed, &states());
    assert_eq!((name(choice), choice.keeps_tick), ("C8".into(), false));
}

#[test]
fn no_timer_at_all_is_no_trouble() {
    let mut menu = Menu::default();
    for _ in 0..50 {
        let choice = menu.choose(&ask(u64::MAX), &states());
        assert_eq!(name(choice), "C10");
        menu.woke(30 * MS, false, MS);
    }
}

#[test]
fn the_simple_ones_always_choose_the_same() {
    let menu = &mut Menu::default();
    let near = ask(US);
    let deep = Governor::Deepest.choose(menu, &near, &states());
    assert_eq!((name(deep), deep.keeps_tick), ("C10".into(), false));
    let shallow = Governor::Shallowest.choose(menu, &ask(100 * MS), &states());
    assert_eq!((name(shallow), shallow.keeps_tick), ("C1".into(), false));
}
