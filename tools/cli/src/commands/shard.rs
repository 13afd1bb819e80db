//! What a shard of a batch leaves for `merge`, in the option `shard` of its report.

use super::sim::Values;
use crate::arguments::shard::Shard;
use quiescent_report::Report;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The option.
pub const SHARD: &str = "shard";

/// A shard.
#[derive(Debug, Serialize, Deserialize)]
pub struct Note {
    /// It is the K-th ...
    pub number: u64,
    /// ... of N.
    pub of: u64,
    /// Pieces of the whole batch.
    pub all: u64,
    /// The exit code.
    pub code: u8,
    /// Its own pieces: the rows of the report are theirs, in this order.
    pub pieces: Vec<Piece>,
    /// What its rows do not tell: counts of `torture --sim` are sums, and rounded.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub counted: Value,
}

/// A piece of a batch: a variant of a sweep, a recording.
#[derive(Debug, Serialize, Deserialize)]
pub struct Piece {
    /// Its number, from 0 on.
    pub number: u64,
    /// How many rows it has.
    pub rows: usize,
    /// The values of two variants, which are compared run by run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<Values>,
}

impl Note {
    /// Of a batch of so many pieces.
    pub fn new(shard: Shard, all: u64, code: u8, pieces: Vec<Piece>) -> Note {
        Note {
            number: shard.number,
            of: shard.of,
            all,
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
}
