//! A cell whose value is read by some threads and replaced by another: the loops of Rust libraries.
//!
//! What is in the cell is a [`Content`]: a block with a destructor or without, a short or a long `String`, a
//! map of 1000 settings, as programs that swap their configuration have, or a buffer of any size. Each turn
//! of an update makes a new value, puts it in the place of the one before, and retires that one in the
//! library's usual way; or it reads the value first, in a section, and retires inside that section or after
//! it ([`Place`]). [`BARE`] does the same without a library: it drops the value before at once.
//!
//! A library implements `Swap` once for all contents, and `Library` to say so. C libraries have the same
//! loops for the block in `shims/retire.h`.

use super::buffer::Buffer;
use super::loops::{Block, seen};
use super::noted::Noted;
use super::pace::Pace;
use super::{Beside, TURNS_A_LOOK};
use crate::subjects::ReaderControl;
use crate::subjects::loops::{Peer, Word, turn, used};
use quiescent::Weigh as _;
use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{LazyLock, Mutex, PoisonError};

/// What is in the cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// 64 bytes, nothing to drop.
    Block,
    /// A `String` of 64 bytes.
    Short,
    /// A `String` of 64 KiB.
    Long,
    /// A `HashMap<String, String>` of [`SETTINGS`] entries; a read looks one up.
    Config,
    /// 64 bytes with a destructor, which counts.
    Dropped,
    /// As many bytes as [`set_bytes`](super::buffer::set_bytes) was given last.
    Buffer,
}

impl Content {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Content::Block => "block",
            Content::Short => "string 64 b",
            Content::Long => "string 64 kib",
            Content::Config => "config",
            Content::Dropped => "drop",
            Content::Buffer => "buffer",
        }
    }
}

/// Where a value is retired that was read in a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// After the section.
    Outside,
    /// In the section, as users of libraries do whose retiring takes a guard.
    Inside,
}

impl Place {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Place::Outside => "outside",
            Place::Inside => "inside",
        }
    }
}

/// Bytes of [`Content::Long`].
pub const LONG: usize = 64 << 10;
/// Entries of [`Content::Config`].
pub const SETTINGS: usize = 1_000;

/// A value of a cell.
pub(crate) trait Value: Send + Sync + 'static {
    /// A new one.
    fn new(turn: u64) -> Self;
    /// A new one that reports, at its end, that it was handed over then; where it reports at all.
    fn handed_over(at: u64) -> Self
    where
        Self: Sized,
    {
        Self::new(at)
    }
    /// What a reader does with it.
    fn read(&self) -> u64;
    /// The bytes that it owns, if that is much: for libraries that count them.
    const WEIGHT: Option<fn(&Self) -> usize> = None;
}

/// A `String` of so many bytes.
#[derive(Debug)]
pub(crate) struct Text<const BYTES: usize>(String);

static LETTERS: LazyLock<String> = LazyLock::new(|| "x".repeat(LONG));

impl<const BYTES: usize> Value for Text<BYTES> {
    #[inline(always)]
    fn new(_: u64) -> Self {
        Text(String::from(&LETTERS[..BYTES]))
    }

    #[inline(always)]
    fn read(&self) -> u64 {
        self.0.as_bytes()[0].into()
    }

    const WEIGHT: Option<fn(&Self) -> usize> = match BYTES {
        LONG => Some(|text| text.0.owned_bytes()),
        _ => None,
    };
}

/// Settings by name.
#[derive(Debug)]
pub(crate) struct Config(HashMap<String, String>);

impl Value for Config {
    fn new(turn: u64) -> Self {
        let entry = |n| {
            (
                format!("service.setting-{n}"),
                format!("value {n} of {turn}"),
            )
        };
        Config((0..SETTINGS).map(entry).collect())
    }

    #[inline(always)]
    fn read(&self) -> u64 {
        self.0
            .get("service.setting-500")
            .map_or(0, |it| it.len() as u64)
    }

    const WEIGHT: Option<fn(&Self) -> usize> = Some(|config| config.0.owned_bytes());
}

impl Value for Word {
    #[inline(always)]
    fn new(turn: u64) -> Self {
        Word(turn)
    }

    #[inline(always)]
    fn read(&self) -> u64 {
        self.0
    }
}

/// A library's cell: what readers find in it may be replaced.
pub(crate) trait Swap: Peer {
    /// What is in it.
    type Value: Value;
    /// Publishes another value and retires the one before.
    fn replace(&self, value: Self::Value);
    /// The same in this section: with its guard, where retiring takes one.
    #[inline(always)]
    fn replace_inside(&self, value: Self::Value, _held: &mut Self::Held) {
        self.replace(value);
    }
}

/// A library that has a cell for everything.
pub(crate) trait Library {
    /// That cell.
    type Cell<T: Value>: Swap<Value = T>;
}

/// The loops for each content, of the libraries of this build that have them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Swaps(pub(crate) [Option<Beside>; 6]);

impl Swaps {
    /// None.
    pub(crate) const NONE: Self = Swaps([None; 6]);

    /// Of a library that has a cell for everything.
    pub(crate) const fn of<L: Library>() -> Self {
        Swaps([
            Some(beside::<L::Cell<Block>>()),
            Some(beside::<L::Cell<Text<64>>>()),
            Some(beside::<L::Cell<Text<LONG>>>()),
            Some(beside::<L::Cell<Config>>()),
            Some(beside::<L::Cell<Noted>>()),
            Some(beside::<L::Cell<Buffer>>()),
        ])
    }

    /// Of a library whose loops have the block only.
    #[cfg(have_c)]
    pub(crate) const fn of_block(beside: Beside) -> Self {
        Swaps([Some(beside), None, None, None, None, None])
    }
}

const fn beside<S: Swap>() -> Beside {
    Beside {
        read: read::<S>,
        update: update::<S>,
        retire: Some([outside::<S>, inside::<S>]),
    }
}

#[inline(never)]
fn read<S: Swap>(control: &ReaderControl) -> u64 {
    let cell = S::new();
    let mut reads = 0;
    while control.stop.0.load(Ordering::Relaxed) == 0 {
        let mut i = TURNS_A_LOOK;
        while i != 0 {
            let mut held = cell.enter();
            used(cell.read(&mut held));
            drop(held);
            turn(&mut i);
            i -= 1;
        }
        reads += TURNS_A_LOOK;
    }
    reads
}

#[inline(never)]
fn update<S: Swap>(pace: &mut Pace<'_>) {
    paced(pace, |cell: &S, new| cell.replace(new));
}

#[inline(never)]
fn outside<S: Swap>(pace: &mut Pace<'_>) {
    paced(pace, |cell: &S, new| {
        let mut held = cell.enter();
        used(cell.read(&mut held));
        drop(held);
        cell.replace(new);
    });
}

#[inline(never)]
fn inside<S: Swap>(pace: &mut Pace<'_>) {
    paced(pace, |cell: &S, new| {
        let mut held = cell.enter();
        used(cell.read(&mut held));
        cell.replace_inside(new, &mut held);
        drop(held);
    });
}

#[inline(always)]
fn paced<S: Swap>(pace: &mut Pace<'_>, step: impl Fn(&S, S::Value)) {
    let cell = S::new();
    loop {
        let mut i = pace.due();
        if i == 0 {
            return;
        }
        while i != 0 {
            step(&cell, S::Value::new(i));
            turn(&mut i);
            i -= 1;
        }
    }
}

/// The one `C` of this process: made by the first that asks, and never dropped. (A `static` cannot depend on
/// the type of the value.)
pub(crate) fn shared<C: Send + Sync + 'static>(make: impl FnOnce() -> C) -> &'static C {
    type Shared = &'static (dyn Any + Send + Sync);
    static ALL: Mutex<Vec<(TypeId, Shared)>> = Mutex::new(Vec::new());
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    let known = all.iter().find(|it| it.0 == TypeId::of::<C>());
    let found = known.map(|it| it.1).unwrap_or_else(|| {
        let new: Shared = Box::leak(Box::new(make()));
        all.push((TypeId::of::<C>(), new));
        new
    });
    found.downcast_ref().expect("found by its type")
}

/// The name of the loops without a library: each value is dropped when the next one comes.
pub const BARE: &str = "malloc-free";

/// A cell of the loop's own.
pub(crate) struct Own<T>(RefCell<Option<T>>);

impl<T: Value> Peer for Own<T> {
    type Held = ();

    fn new() -> Self {
        Own(RefCell::new(Some(T::new(0))))
    }

    #[inline(always)]
    fn enter(&self) {}

    #[inline(always)]
    fn read(&self, (): &mut ()) -> u64 {
        self.0.borrow().as_ref().map_or(0, T::read)
    }
}

impl<T: Value> Swap for Own<T> {
    type Value = T;

    #[inline(always)]
    fn replace(&self, value: T) {
        seen(&value);
        drop(self.0.replace(Some(value)));
    }
}

/// See [`BARE`].
pub(crate) struct Bare;

impl Library for Bare {
    type Cell<T: Value> = Own<T>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_as_said() {
        assert_eq!(Text::<64>::new(1).0.len(), 64);
        assert_eq!(Text::<LONG>::new(1).0.len(), LONG);
        let config = Config::new(7);
        assert_eq!(config.0.len(), SETTINGS);
        assert_eq!(config.read(), "value 500 of 7".len() as u64);
    }

    #[test]
    fn one_of_each_type() {
        let [one, again] = [1, 2].map(|n: u16| *shared(|| n));
        assert_eq!((one, again, *shared(|| 3_u32)), (1, 1, 3));
    }
}
