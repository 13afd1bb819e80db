use alloc::format;

use super::*;

#[test]
fn levels_rise_at_once_and_fall_with_a_gap() {
    use Level::{Easy, Near, Over};
    for by_bytes in [true, false] {
        let budget = if by_bytes {
            (1000, u64::MAX)
        } else {
            (u64::MAX, 1000)
        };
        let mut global = Global::new(crate::config::Config::threads());
        assert!(!global.set_budget(budget.0, budget.1));
        let rows = [
            (750, Easy),
            (751, Near),
            (1000, Near),
            (1001, Over),
            (876, Over),
            (875, Near),
            (626, Near),
            (625, Easy),
            (5000, Over),
            (0, Easy),
        ];
        let mut exceeded = None;
        for (held, level) in rows {
            let new = match by_bytes {
                true => Held {
                    count: 1,
                    bytes: held,
                },
                false => Held {
                    count: held,
                    bytes: 1,
                },
            };
            let before = global.held();
            global.budget.held.change(before, new);
            let before_level = global.level();
            global.find_level();
            assert_eq!(global.level(), level, "{held}");
            if level == Over && before_level != Over {
                let Budget { count, bytes, .. } = global.budget();
                exceeded = Some((new, Held { count, bytes }));
            }
            assert_eq!(global.exceeded(), exceeded, "{held}");
        }
        assert_eq!(global.counts().over_budget, 2);
    }
}

/// A budget of 1000 of one measure, and the level and effects after each amount.
struct Moved {
    global: Global,
    by_bytes: bool,
}

impl Moved {
    /// A domain that has come to this level.
    fn to(level: Level, by_bytes: bool) -> Moved {
        let mut global = Global::new(crate::config::Config::threads());
        let other = u64::MAX;
        let (bytes, count) = if by_bytes {
            (1000, other)
        } else {
            (other, 1000)
        };
        assert!(!global.set_budget(bytes, count));
        let mut moved = Moved { global, by_bytes };
        moved.hold(match level {
            Level::Easy => 0,
            Level::Near => 1000,
            Level::Over => 1001,
        });
        assert_eq!(moved.global.level(), level);
        let _ = moved.global.sweeps_all();
        let _ = moved.global.take_news(0);
        moved
    }

    fn hold(&mut self, amount: u64) {
        let (bytes, count) = if self.by_bytes {
            (amount, 1)
        } else {
            (1, amount)
        };
        let before = self.global.held();
        self.global
            .budget
            .held
            .change(before, Held { count, bytes });
        self.global.find_level();
    }

    /// The effects since it came to its level: a rise takes all queues over, a crossing is counted and is
    /// news, until the budget is kept again.
    #[track_caller]
    fn check(&mut self, from: Level, to: Level, what: &str) {
        assert_eq!(self.global.level(), to, "{from:?} {what}");
        let crossings = u64::from(from == Level::Over) + u64::from(to == Level::Over && from != to);
        assert_eq!(
            self.global.counts().over_budget,
            crossings,
            "{from:?} {what}"
        );
        assert_eq!(self.global.budget.kick, to > from, "{from:?} {what}");
        assert_eq!(self.global.sweeps_all(), to > from, "{from:?} {what}");
        let news = to == Level::Over && from != to;
        assert_eq!(self.global.take_news(u64::MAX), news, "{from:?} {what}");
    }
}

/// The levels that an amount leads to, from each level; each amount is the last or the first of its row.
#[test]
fn from_every_level_to_every_level() {
    use Level::{Easy, Near, Over};
    // By the table of the module: near from 3/4 until 5/8, over from 1 until 7/8.
    let rows = [
        (0, [Easy, Easy, Easy]),
        (625, [Easy, Easy, Easy]),
        (626, [Easy, Near, Near]),
        (750, [Easy, Near, Near]),
        (751, [Near, Near, Near]),
        (875, [Near, Near, Near]),
        (876, [Near, Near, Over]),
        (1000, [Near, Near, Over]),
        (1001, [Over, Over, Over]),
        (u64::MAX / 2, [Over, Over, Over]),
    ];
    for by_bytes in [true, false] {
        for (amount, levels) in rows {
            for (from, to) in [Easy, Near, Over].into_iter().zip(levels) {
                let mut moved = Moved::to(from, by_bytes);
                moved.hold(amount);
                moved.check(from, to, &format!("{amount}"));
            }
        }
    }
    // The same by another budget, of what is held at each level.
    let rows = [
        (Easy, 0, [(0, Easy), (u64::MAX, Easy)].as_slice()),
        (
            Near,
            1000,
            &[(999, Over), (1000, Near), (1598, Near), (1600, Easy)],
        ),
        (
            Over,
            1001,
            &[
                (1000, Over),
                (1142, Over),
                (1144, Near),
                (1600, Near),
                (1602, Easy),
            ],
        ),
    ];
    for by_bytes in [true, false] {
        for (from, held, budgets) in rows {
            for &(budget, to) in budgets {
                let mut moved = Moved::to(from, by_bytes);
                let other = u64::MAX;
                let (bytes, count) = if by_bytes {
                    (budget, other)
                } else {
                    (other, budget)
                };
                let before = moved.global.held();
                if held == 0 {
                    moved.global.budget.held.change(before, Held::NOTHING);
                }
                assert_eq!(
                    moved.global.set_budget(bytes, count),
                    to > from,
                    "{from:?} {budget}"
                );
                moved.global.budget.kick = to > from; // taken by that call, which says so
                moved.check(from, to, &format!("budget {budget}"));
            }
        }
    }
    // Of two measures the larger decides.
    for (bytes, count, level) in [
        (751, 0, Near),
        (0, 751, Near),
        (751, 1001, Over),
        (1001, 751, Over),
    ] {
        let mut global = Global::new(crate::config::Config::threads());
        let _ = global.set_budget(1000, 1000);
        global
            .budget
            .held
            .change(Held::NOTHING, Held { count, bytes });
        global.find_level();
        assert_eq!(global.level(), level, "{bytes} bytes, {count}");
    }
}
