use super::measured::{EMPTIED, FULL, GROWTH, MIXES, Mapping, SLOW};
use super::*;
use crate::measure::once::{Ask, Said};
use std::collections::HashMap;
use std::sync::RwLock;

/// A map behind a lock that does something wrong once in a while.
struct Locked<T: Stored, const WRONG: u64>(RwLock<HashMap<T::Key, T::Value>>);

const RIGHT: u64 = 0;
/// Forgets what was added, or removed, or to replace a value; or finds what it does not have.
const WRONG: [u64; 3] = [1, 2, 3];

struct LockedFamily<const WRONG: u64>;

impl<const WRONG: u64> Family for LockedFamily<WRONG> {
    type Of<T: Stored, S: Hasher> = Locked<T, WRONG>;
}

impl<T: Stored, const WRONG: u64> Map<T> for Locked<T, WRONG> {
    fn empty() -> Self {
        Locked(RwLock::default())
    }

    fn get(&self, number: u64) -> bool {
        let map = self.0.read().unwrap();
        let found = map.get(T::query(number).borrow());
        found.is_some_and(|value| T::is_of(value, number))
    }

    fn insert(&self, number: u64) -> bool {
        let lost = WRONG == 1 && number == 77;
        let value = T::value(number + u64::from(WRONG == 2 && number == 77));
        lost || self
            .0
            .write()
            .unwrap()
            .insert(T::key(number), value)
            .is_none()
    }

    fn update(&self, number: u64) -> bool {
        let mut map = self.0.write().unwrap();
        let found = map.get_mut(T::query(number).borrow());
        found.map(|it| *it = T::value(number)).is_some()
    }

    fn remove(&self, number: u64) -> bool {
        let stays = WRONG == 3 && number == 77;
        let mut map = self.0.write().unwrap();
        stays || map.remove(T::query(number).borrow()).is_some()
    }

    fn entries(&self) -> usize {
        self.0.read().unwrap().len()
    }
}

fn asked(map: Mapping, case: &str) -> Said {
    let numbers = [
        ("entries", 1_000),
        ("threads", 2),
        ("turns", 5_001),
        ("rest_ms", 1),
        ("std_hasher", u64::from(case == GROWTH)),
    ];
    (map.measure)(&Ask {
        bench: "map".into(),
        subject: map.name.into(),
        case: case.into(),
        numbers: numbers
            .map(|(name, value)| (name.into(), vec![value]))
            .into(),
    })
}

#[test]
fn every_map_answers_every_question() {
    let _alone = crate::measure::freed::ALONE.lock().unwrap();
    let mut maps = crate::peers::maps();
    maps.push(Mapping::of::<LockedFamily<RIGHT>>("locked"));
    for map in maps {
        for case in MIXES.into_iter().chain([GROWTH, SLOW, FULL, EMPTIED]) {
            let figures = asked(map, case).unwrap_or_else(|why| panic!("{}: {why}", map.name));
            assert!(!figures.is_empty(), "{} {case}", map.name);
            for it in figures {
                let fits = it.value.is_finite() && (it.value > 0.0 || it.metric != "cpu_ns");
                assert!(fits, "{} {it:?}", map.name);
            }
        }
        assert!(
            asked(map, "fast")
                .unwrap_err()
                .contains("no cell with `fast`")
        );
    }
}

#[test]
fn a_map_that_loses_or_keeps_something_is_refused() {
    let of = [
        Mapping::of::<LockedFamily<{ WRONG[0] }>>("loses"),
        Mapping::of::<LockedFamily<{ WRONG[1] }>>("changes"),
        Mapping::of::<LockedFamily<{ WRONG[2] }>>("keeps"),
    ];
    for map in of {
        for case in MIXES {
            let why = asked(map, case).unwrap_err();
            assert!(why.contains("this map is wrong"), "{}: {why}", map.name);
        }
    }
}

#[test]
fn what_is_stored_is_of_its_number_only() {
    fn of<T: Stored>() {
        for (number, other) in [(0, 1), (5, 6), (1 << 40, 1), (7, 7 << 40)] {
            assert!(T::is_of(&T::value(number), number));
            assert!(!T::is_of(&T::value(number), other));
            assert!(T::key(number) != T::key(other));
            assert!(T::key(number).borrow() == T::query(number).borrow());
        }
    }
    of::<Numbers>();
    of::<Strings>();
}

#[test]
fn sizes_are_short() {
    let all = [0, 999, 1_000, 1_500, 100_000, 10_000_000].map(short);
    assert_eq!(all, ["0", "999", "1k", "1500", "100k", "10M"]);
}
