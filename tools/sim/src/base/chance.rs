//! Random numbers from a seed: the same on every machine and in every version.
//!
//! SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014): ten lines of its
//! own, so that no library's next release changes the output.

/// A source of chance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chance(u64);

impl Chance {
    /// The one of this seed.
    pub const fn new(seed: u64) -> Chance {
        Chance(seed)
    }

    /// The next number: each is as likely as any.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// One of `0..n`; the error is below `n` in 2⁶⁴.
    pub const fn below(&mut self, n: u64) -> u64 {
        ((self.next() as u128 * n as u128) >> 64) as u64
    }

    /// True so many times out of a thousand.
    pub const fn permille(&mut self, p: u32) -> bool {
        self.below(1000) < p as u64
    }

    /// The exponentially distributed time until the next event of a kind that happens every `mean` on
    /// average.
    ///
    /// In whole numbers: the integral part of -ln(u) is a count of halvings, the fraction comes from a table
    /// of the logarithm at 256 places, so that it is the same on every processor.
    pub fn poisson(&mut self, mean: u64) -> u64 {
        let u = self.next() | 1;
        let halvings = u64::from(u.leading_zeros());
        let mantissa = (u << halvings) >> 55 & 0xff; // eight bits after the leading one
        // -log2(u / 2^64) = halvings + 1 - log2(1.mantissa), in units of 2^-16
        let log2 = log2_fraction(256 + mantissa);
        let bits = ((halvings + 1) << 16) - log2;
        // times ln 2 = 45426 / 65536
        ((u128::from(mean) * u128::from(bits) * 45_426) >> 32) as u64
    }

    /// A pause of this mean: [`poisson`](Self::poisson) if pauses vary, else always the mean itself.
    pub fn pause(&mut self, mean: u64, vary: bool) -> u64 {
        match vary {
            true => self.poisson(mean),
            false => mean,
        }
    }
}

/// `log2(x / 256)` for `x` in 256..512, in units of 2⁻¹⁶: by squaring, bit by bit.
fn log2_fraction(x: u64) -> u64 {
    let mut y = x << 23; // 1.0 is 2^31
    let mut result = 0;
    for bit in (0..16).rev() {
        y = (y * y) >> 31;
        if y >= 1 << 32 {
            y >>= 1;
            result |= 1 << bit;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_numbers_are_those_of_the_paper() {
        let mut chance = Chance::new(1_234_567);
        assert_eq!(chance.next(), 6_457_827_717_110_365_317);
        assert_eq!(chance.next(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn the_logarithm_is_one() {
        assert_eq!(log2_fraction(256), 0);
        assert_eq!(log2_fraction(384), (1.5f64.log2() * 65_536.0) as u64);
    }

    #[test]
    fn pauses_have_the_mean_and_the_spread_of_what_remembers_nothing() {
        let mut chance = Chance::new(7);
        let mean = 10_000_000;
        let pauses: Vec<f64> = (0..100_000).map(|_| chance.poisson(mean) as f64).collect();
        let average = pauses.iter().sum::<f64>() / pauses.len() as f64;
        assert!((0.99..1.01).contains(&(average / mean as f64)), "{average}");
        let longer = |than: f64| pauses.iter().filter(|&&it| it > than).count() as f64 / 1e5;
        for times in [0.1, 1.0, 3.0] {
            let share = longer(times * mean as f64) / (-times).exp();
            assert!((0.95..1.05).contains(&share), "{times}: {share}");
        }
    }
}
