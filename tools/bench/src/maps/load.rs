//! What threads do with a map: each has keys of its own, and knows which of them are there.

use super::{MANY, Map, Stored};

/// Shares of operations, in percent; the rest are updates.
#[derive(Debug)]
pub struct Mix {
    /// The name in cases.
    pub name: &'static str,
    get: u64,
    insert: u64,
    remove: u64,
    /// Look-ups ask for [`MANY`] keys at once.
    many: bool,
}

const fn mix(name: &'static str, [get, insert, remove]: [u64; 3]) -> Mix {
    Mix {
        name,
        get,
        insert,
        remove,
        many: false,
    }
}

/// The mixes of a map that has its size. The first two are those of conc-map-bench and bustle.
pub const MIXES: [Mix; 7] = [
    mix("read", [98, 1, 1]),
    mix("exchange", [10, 40, 40]),
    mix("churn", [0, 50, 50]),
    mix("update", [0, 0, 0]),
    mix("reads only", [100, 0, 0]),
    mix("most reads", [90, 5, 5]),
    Mix {
        many: true,
        ..mix("reads of 16", [100, 0, 0])
    },
];

/// Into an empty map.
pub(super) const GROW: Mix = mix("grow", [0, 100, 0]);
/// The same, beside other operations, as conc-map-bench has it.
pub(super) const RAPID: Mix = mix("rapid grow", [5, 80, 5]);

/// The keys of a thread that are in the map: those of the numbers `low..high`.
#[derive(Debug, Clone)]
pub(super) struct Keys {
    low: u64,
    high: u64,
    drawn: u64,
}

impl Keys {
    /// None yet; a thread's numbers are apart from others'.
    pub(super) fn of(thread: u64) -> Self {
        let low = thread << 40;
        Keys {
            low,
            high: low,
            drawn: 0x9E37_79B9_7F4A_7C15 ^ low.wrapping_add(1),
        }
    }

    pub(super) fn len(&self) -> u64 {
        self.high - self.low
    }

    /// 64 bits by chance.
    #[inline(always)]
    fn draw(&mut self) -> u64 {
        // xorshift64
        self.drawn ^= self.drawn << 13;
        self.drawn ^= self.drawn >> 7;
        self.drawn ^= self.drawn << 17;
        self.drawn
    }

    /// The key that the lower half of these bits stands for.
    #[inline(always)]
    fn key(&self, drawn: u64) -> u64 {
        self.low + (((drawn & 0xFFFF_FFFF) * self.len()) >> 32)
    }

    /// A key, by chance.
    #[inline(always)]
    pub(super) fn any(&mut self) -> u64 {
        let drawn = self.draw();
        self.key(drawn)
    }

    /// Adds the next key; whether the map did.
    #[inline(always)]
    pub(super) fn insert<T: Stored>(&mut self, map: &impl Map<T>) -> bool {
        self.high += 1;
        map.insert(self.high - 1)
    }

    /// Removes the oldest; whether the map did.
    #[inline(always)]
    pub(super) fn remove<T: Stored>(&mut self, map: &impl Map<T>) -> bool {
        self.low += 1;
        map.remove(self.low - 1)
    }

    /// Does so many operations, and makes as many keys as there were; how many answers were wrong. Each key
    /// is this thread's, so there is one right answer.
    pub(super) fn turns<T: Stored>(&mut self, map: &impl Map<T>, mix: &Mix, turns: u64) -> u64 {
        let before = self.len();
        let wrong = match mix.many {
            true => self.many(map, turns),
            false => (0..turns).map(|_| u64::from(!self.turn(map, mix))).sum(),
        };
        let mut more = 0;
        // The share of inserts that are not removes is meant to stay.
        while mix.insert == mix.remove && self.len() != before {
            let right = match self.len() < before {
                true => self.insert(map),
                false => self.remove(map),
            };
            more += u64::from(!right);
        }
        wrong + more
    }

    #[inline(always)]
    fn turn<T: Stored>(&mut self, map: &impl Map<T>, mix: &Mix) -> bool {
        let drawn = self.draw();
        let what = ((drawn >> 32) * 100) >> 32;
        let (remove, insert) = (mix.get + mix.remove, mix.get + mix.remove + mix.insert);
        match what {
            _ if self.len() == 0 => self.insert(map),
            what if what < mix.get => map.get(self.key(drawn)),
            what if what < remove => self.remove(map),
            what if what < insert => self.insert(map),
            _ => map.update(self.key(drawn)),
        }
    }

    fn many<T: Stored>(&mut self, map: &impl Map<T>, turns: u64) -> u64 {
        let asked = turns.div_ceil(MANY as u64);
        let each = (0..asked).map(|_| {
            let numbers = std::array::from_fn(|_| self.any());
            MANY as u64 - map.get_many(&numbers)
        });
        each.sum()
    }
}
