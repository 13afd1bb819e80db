//! Maps that several threads use: what is stored, what a map has to do, and the same loops for all.

mod kept;
mod load;
pub mod measured;
pub(crate) mod slow;
mod work;

use std::borrow::Borrow;
use std::fmt::Debug;
use std::hash::{BuildHasher, Hash};

/// Pairs of a key and a value, each made of a number.
pub trait Stored: 'static {
    /// Of the map.
    type Key: Hash + Ord + Clone + Debug + Borrow<Self::Asked> + Send + Sync + 'static;
    /// What is looked up.
    type Asked: Hash + Ord + ?Sized;
    /// What that is borrowed from.
    type Query: Borrow<Self::Asked>;
    /// Of the map.
    type Value: Clone + Debug + Send + Sync + 'static;
    /// The name in cases.
    const NAME: &'static str;
    /// The key of a number; other numbers have others.
    fn key(number: u64) -> Self::Key;
    /// The value of that key.
    fn value(number: u64) -> Self::Value;
    /// The same key, as it is looked up, without an allocation.
    fn query(number: u64) -> Self::Query;
    /// Whether this value is of that key; reads the value.
    fn is_of(value: &Self::Value, number: u64) -> bool;
}

/// What is measured of a map. Each call is one operation: it enters a section of the library, and leaves it.
pub trait Map<T: Stored>: Sync {
    /// One without entries.
    fn empty() -> Self;
    /// Whether the key is there, with its value.
    fn get(&self, number: u64) -> bool;
    /// How many of the keys are there, with their values.
    fn get_many(&self, numbers: &[u64; MANY]) -> u64 {
        numbers.iter().map(|it| u64::from(self.get(*it))).sum()
    }
    /// Whether the key was added; when it was there, its value is replaced.
    fn insert(&self, number: u64) -> bool;
    /// Whether the key was there, and its value was replaced.
    fn update(&self, number: u64) -> bool;
    /// Whether the key was there, and was removed.
    fn remove(&self, number: u64) -> bool;
    /// The entries.
    fn entries(&self) -> usize;
    /// Has what was removed freed, as far as the library has a call for it.
    fn settle(&self) {}
}

/// How many keys are looked up at once.
pub const MANY: usize = 16;

/// A hasher that each map can be given.
pub trait Hasher: BuildHasher + Clone + Default + Send + Sync + 'static {}

impl<S: BuildHasher + Clone + Default + Send + Sync + 'static> Hasher for S {}

/// A library's map, of any types.
pub trait Family: 'static {
    /// The map.
    type Of<T: Stored, S: Hasher>: Map<T> + Send + 'static;
}

/// Numbers: 8 bytes each.
#[derive(Debug)]
pub struct Numbers;

/// Strings of 16 bytes, each an allocation.
#[derive(Debug)]
pub struct Strings;

/// Far apart for numbers that are near; each has its own.
fn apart(number: u64) -> u64 {
    let apart = number.wrapping_mul(0xD129_8B3C_7A5E_4D2B);
    apart ^ (apart >> 32)
}

impl Stored for Numbers {
    type Key = u64;
    type Asked = u64;
    type Query = u64;
    type Value = u64;
    const NAME: &'static str = "u64";

    fn key(number: u64) -> u64 {
        apart(number)
    }

    fn value(number: u64) -> u64 {
        number
    }

    fn query(number: u64) -> u64 {
        apart(number)
    }

    #[inline(always)]
    fn is_of(value: &u64, number: u64) -> bool {
        *value == number
    }
}

/// Eight letters, of four bits each.
#[inline(always)]
fn letters(bits: u32) -> [u8; 8] {
    let mut each = u64::from(bits);
    each = (each | each << 16) & 0x0000_FFFF_0000_FFFF;
    each = (each | each << 8) & 0x00FF_00FF_00FF_00FF;
    each = (each | each << 4) & 0x0F0F_0F0F_0F0F_0F0F;
    (each + 0x0101_0101_0101_0101 * u64::from(b'a')).to_ne_bytes()
}

/// 16 letters.
#[derive(Debug)]
pub struct Letters([[u8; 8]; 2]);

impl Borrow<str> for Letters {
    #[inline(always)]
    fn borrow(&self) -> &str {
        // SAFETY: letters of ASCII.
        unsafe { std::str::from_utf8_unchecked(self.0.as_flattened()) }
    }
}

impl Stored for Strings {
    type Key = String;
    type Asked = str;
    type Query = Letters;
    type Value = String;
    const NAME: &'static str = "strings";

    fn key(number: u64) -> String {
        str::to_owned(Self::query(number).borrow())
    }

    fn value(number: u64) -> String {
        Self::key(number)
    }

    #[inline(always)]
    fn query(number: u64) -> Letters {
        let apart = apart(number);
        Letters([letters(apart as u32), letters((apart >> 32) as u32)])
    }

    #[inline(always)]
    fn is_of(value: &String, number: u64) -> bool {
        value.as_bytes().starts_with(&letters(apart(number) as u32))
    }
}

/// So many, shortly: `100k`, `10M`.
pub fn short(many: u64) -> String {
    match many {
        0 => "0".into(),
        it if it % 1_000_000 == 0 => format!("{}M", it / 1_000_000),
        it if it % 1_000 == 0 => format!("{}k", it / 1_000),
        it => it.to_string(),
    }
}

#[cfg(test)]
mod tests;
