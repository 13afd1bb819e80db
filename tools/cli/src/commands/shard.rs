//! What a shard of a batch leaves for `merge`, in the option `shard` of its report.

use super::sim::Values;
use crate::arguments::shard::Shard;
use quiescent_report::Report;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The option.
pub const SHARD: &str = "shard";

/// The command whose shards have counts in place of pieces.
pub const COUNTED: &str = "torture --sim";

/// A shard.
#[derive(Debug, Serialize, Deserialize)]
pub struct Note {
    #[serde(flatten)]
    pub shard: Shard,
    /// Pieces of the whole batch.
    pub all: u64,
    /// The exit code.
    pub code: u8,
    /// Its own pieces: the rows of the report are theirs, in this order.
    pub pieces: Vec<Piece>,
    /// In place of pieces what the rows do not tell: counts of `torture --sim` are sums, and rounded.
    pub counted: Value,
}

/// A piece of a batch: a variant of a sweep, a recording.
#[derive(Debug, Serialize, Deserialize)]
pub struct Piece {
    /// How many rows it has.
    pub rows: usize,
    /// The values of two variants, which are compared run by run.
    pub values: Vec<Values>,
    /// For the screen: of a variant its case and what varies, of a recording its text.
    pub said: Vec<String>,
}

impl Note {
    /// Of a batch of so many pieces.
    pub fn of(shard: Shard, all: usize, code: u8, pieces: Vec<Piece>) -> Note {
        Note {
            shard,
            all: all as u64,
            code,
            pieces,
            counted: Value::Null,
        }
    }

    /// Puts it into the report.
    pub fn put(self, report: &mut Report) {
        let note = serde_json::to_value(self).expect("numbers and texts always serialise");
        report.option(SHARD, note);
    }

    /// Does it belong to this report?
    pub fn is_of(&self, report: &Report) -> bool {
        let rows = report.rows.len();
        let own: u128 = self.pieces.iter().map(|it| it.rows as u128).sum();
        let Shard { number, of } = self.shard;
        let is_whole =
            || self.pieces.len() as u64 == self.shard.pieces(self.all) && own == rows as u128;
        (1..=of).contains(&number) && (report.command == COUNTED || is_whole())
    }
}
