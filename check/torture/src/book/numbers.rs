//! Random numbers from a seed: splitmix64.

/// A small generator of pseudo-random numbers.
#[derive(Clone, Debug)]
pub struct Numbers(u64);

impl Numbers {
    /// The generator of one thread of a run.
    pub fn new(seed: u64, thread: u64) -> Numbers {
        let mut numbers = Numbers(seed ^ thread.wrapping_mul(0xd6e8_feb8_6659_fd93));
        numbers.next(); // neighbouring threads get different numbers
        numbers
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_itself_and_threads_differ() {
        let draw = |seed, thread| {
            let mut numbers = Numbers::new(seed, thread);
            [numbers.next(), numbers.next(), numbers.next()]
        };
        assert_eq!(draw(7, 1), draw(7, 1));
        assert_ne!(draw(7, 1), draw(7, 2));
        assert_ne!(draw(7, 1), draw(8, 1));
    }
}
