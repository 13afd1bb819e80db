//! Random numbers with fixed seeds, and counters of rare events, for machines in a random order.

/// A xorshift generator.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, n: u64) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n) as usize
    }
}

/// A record of counters, with functions that add and name them.
macro_rules! seldom {
    ($($name:ident,)+) => {
        /// How often each rare event happened.
        #[derive(Debug, Default)]
        pub struct Seldom {
            $(pub $name: u32,)+
        }

        impl Seldom {
            pub fn add(&mut self, one: &Seldom) {
                $(self.$name += one.$name;)+
            }

            pub fn named(&self) -> Vec<(&'static str, u32)> {
                vec![$((stringify!($name), self.$name),)+]
            }
        }
    };
}

pub(crate) use seldom;
