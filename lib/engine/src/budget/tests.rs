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
                exceeded = Some(new);
            }
            assert_eq!(global.exceeded(), exceeded, "{held}");
        }
        assert_eq!(global.counts().over_budget, 2);
    }
}
