//! `--shard K/N`: the part of a batch that one of several machines does, and `merge`, which joins all parts.

use super::Page;
use clap::Args;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::str::FromStr;

/// The K-th of N parts: of the numbered pieces of a batch every N-th, from the K-th on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    /// K, from 1 on.
    pub number: u64,
    /// N.
    pub of: u64,
}

impl Shard {
    /// Those of all pieces that are in it, and all without one.
    pub fn own<T>(
        shard: Option<Shard>,
        all: impl IntoIterator<Item = T>,
    ) -> impl Iterator<Item = T> {
        let Shard { number, of } = shard.unwrap_or(Shard { number: 1, of: 1 });
        let own = (0..).zip(all).filter(move |it| it.0 % of == number - 1);
        own.map(|it| it.1)
    }

    /// How many of so many pieces are in it.
    pub fn pieces(self, all: u64) -> u64 {
        all.saturating_sub(self.number - 1).div_ceil(self.of)
    }
}

impl FromStr for Shard {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Shard, Self::Err> {
        let numbers = text.split_once('/');
        let numbers = numbers.and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
        match numbers {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Shard { number, of }),
            Some(_) => Err("there is no such part: K/N has a K from 1 to N"),
            None => Err("no part: give K/N, such as 1/4 for the first of four"),
        }
    }
}

/// The arguments of `merge`.
#[derive(Debug, Args)]
pub struct Merge {
    /// What `--shard K/N --json` has printed: one file of each part, in any order
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Print one line of JSON (schema quiescent/1) instead of tables
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub page: Page,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_one_of_those_that_there_are() {
        assert_eq!("2/3".parse(), Ok(Shard { number: 2, of: 3 }));
        for (text, why) in [
            ("0/3", "from 1 to N"),
            ("4/3", "from 1 to N"),
            ("1/0", "from 1 to N"),
            ("a/b", "give K/N"),
            ("3", "give K/N"),
            ("1/-2", "give K/N"),
            ("1/2/3", "give K/N"),
            ("", "give K/N"),
        ] {
            let said = text.parse::<Shard>().expect_err(text);
            assert!(said.contains(why), "{text}: {said}");
        }
    }

    #[test]
    fn each_piece_is_in_one_part() {
        for of in 1..5 {
            let mut all: Vec<u64> = Vec::new();
            for number in 1..=of {
                let shard = Shard { number, of };
                let own: Vec<u64> = Shard::own(Some(shard), 0..20).collect();
                assert_eq!(own[0], number - 1);
                assert_eq!(own.len() as u64, shard.pieces(20));
                all.extend(own);
            }
            all.sort_unstable();
            assert_eq!(all, Vec::from_iter(Shard::own(None, 0..20)), "{of}");
        }
    }
}
