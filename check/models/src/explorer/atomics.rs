//! The atomics: a value and a place in the current execution's memory.
//!
//! Outside an exploration they are ordinary atomics. Inside, an atomic starts with the value it had before
//! the exploration, *in every execution*: a static starts again each time, and what an execution writes is
//! dropped at its end. So read results inside the scenario.

use std::fmt;
use std::sync::atomic::{self as real, Ordering, Ordering::SeqCst};

use super::buffer::Loc;
use super::exec::{Execution, Op};
use super::runtime::{Plan, visible, with};

fn check_load(order: Ordering) {
    assert!(
        !matches!(order, Ordering::Release | Ordering::AcqRel),
        "a load cannot be {order:?}: use Relaxed, Acquire or SeqCst"
    );
}

fn check_store(order: Ordering) {
    assert!(
        !matches!(order, Ordering::Acquire | Ordering::AcqRel),
        "a store cannot be {order:?}: use Relaxed, Release or SeqCst"
    );
}

#[track_caller]
pub(crate) fn load(locate: impl Fn(&mut Execution) -> Loc) -> Option<u64> {
    visible(
        |e| Plan::Visit(Op::Load(locate(e))),
        |e| {
            let loc = locate(e);
            let value = e.load(loc);
            e.note(|| format!("load  #{loc} = {value:#x}"));
            value
        },
    )
}

#[track_caller]
fn store(locate: impl Fn(&mut Execution) -> Loc, value: u64, order: Ordering) -> Option<()> {
    if order == SeqCst {
        return modify(locate, |_| Some(value)).map(drop);
    }
    visible(
        |e| Plan::Visit(Op::Store(locate(e))),
        |e| {
            let loc = locate(e);
            e.note(|| format!("store #{loc} := {value:#x} ({order:?})"));
            e.store(loc, value, order == Ordering::Release);
        },
    )
}

#[track_caller]
fn modify(
    locate: impl Fn(&mut Execution) -> Loc,
    f: impl FnOnce(u64) -> Option<u64>,
) -> Option<u64> {
    visible(
        |e| Plan::Visit(Op::Modify(locate(e))),
        |e| {
            let loc = locate(e);
            let mut new = None;
            let old = e.modify(loc, |old| {
                new = f(old);
                new
            });
            e.note(|| match new {
                Some(new) => format!("rmw   #{loc} {old:#x} -> {new:#x}"),
                None => format!("rmw   #{loc} = {old:#x}, unchanged"),
            });
            old
        },
    )
}

/// The value, without a scheduling point: for `Debug`.
fn peek(locate: impl Fn(&mut Execution) -> Loc) -> Option<u64> {
    with(|e| {
        let loc = locate(e);
        e.threads[e.current]
            .buffer
            .newest(loc)
            .map_or(e.memory[loc as usize], |own| own.value)
    })
}

/// Methods that are the same for every width; `$get` and `$put` convert to and from 64 bits.
macro_rules! common {
    ($value:ty, $get:expr, $put:expr) => {
        pub(crate) fn locate(&self, e: &mut Execution) -> Loc {
            e.locate(&self.place, || $put(self.initial.load(Ordering::Relaxed)))
        }

        /// Loads the value.
        ///
        /// # Panics
        /// If `order` is not one for loads.
        #[track_caller]
        pub fn load(&self, order: Ordering) -> $value {
            check_load(order);
            load(|e| self.locate(e)).map_or_else(|| self.initial.load(order), $get)
        }

        /// Stores a value.
        ///
        /// # Panics
        /// If `order` is not one for stores.
        #[track_caller]
        pub fn store(&self, value: $value, order: Ordering) {
            check_store(order);
            store(|e| self.locate(e), $put(value), order)
                .unwrap_or_else(|| self.initial.store(value, order))
        }

        /// Stores a value and returns the previous one.
        #[track_caller]
        pub fn swap(&self, value: $value, order: Ordering) -> $value {
            modify(|e| self.locate(e), |_| Some($put(value)))
                .map_or_else(|| self.initial.swap(value, order), $get)
        }

        /// Stores `new` if the value is `current`; returns the previous value in either case.
        ///
        /// # Errors
        /// The value, if it is not `current`.
        ///
        /// # Panics
        /// If `failure` is not an order for loads.
        #[track_caller]
        pub fn compare_exchange(
            &self,
            current: $value,
            new: $value,
            success: Ordering,
            failure: Ordering,
        ) -> Result<$value, $value> {
            check_load(failure);
            let expected = $put(current);
            let old = modify(
                |e| self.locate(e),
                |old| (old == expected).then_some($put(new)),
            );
            match old {
                None => self
                    .initial
                    .compare_exchange(current, new, success, failure),
                Some(old) if old == expected => Ok($get(old)),
                Some(old) => Err($get(old)),
            }
        }

        /// As [`compare_exchange`](Self::compare_exchange): it does not fail for no reason.
        ///
        /// # Errors
        /// The value, if it is not `current`.
        #[track_caller]
        pub fn compare_exchange_weak(
            &self,
            current: $value,
            new: $value,
            success: Ordering,
            failure: Ordering,
        ) -> Result<$value, $value> {
            self.compare_exchange(current, new, success, failure)
        }
    };
}

macro_rules! integer {
    ($(#[$meta:meta])* $name:ident, $value:ty) => {
        $(#[$meta])*
        pub struct $name {
            initial: real::$name,
            place: real::AtomicU64,
        }

        impl $name {
            /// An atomic with this value.
            pub const fn new(value: $value) -> $name {
                $name { initial: real::$name::new(value), place: real::AtomicU64::new(0) }
            }

            common!($value, |bits: u64| bits as $value, |value| value as u64);

            /// Adds, wrapping around; returns the previous value.
            #[track_caller]
            pub fn fetch_add(&self, value: $value, order: Ordering) -> $value {
                self.fetch(order, real::$name::fetch_add, <$value>::wrapping_add, value)
            }

            /// Subtracts, wrapping around; returns the previous value.
            #[track_caller]
            pub fn fetch_sub(&self, value: $value, order: Ordering) -> $value {
                self.fetch(order, real::$name::fetch_sub, <$value>::wrapping_sub, value)
            }

            /// Sets bits; returns the previous value.
            #[track_caller]
            pub fn fetch_or(&self, value: $value, order: Ordering) -> $value {
                self.fetch(order, real::$name::fetch_or, |old, value| old | value, value)
            }

            /// Clears all bits but these; returns the previous value.
            #[track_caller]
            pub fn fetch_and(&self, value: $value, order: Ordering) -> $value {
                self.fetch(order, real::$name::fetch_and, |old, value| old & value, value)
            }

            /// Stores what `f` makes of the value, if that is something; returns the previous value.
            ///
            /// # Errors
            /// The value, if `f` returns nothing.
            #[track_caller]
            pub fn fetch_update(
                &self,
                success: Ordering,
                failure: Ordering,
                mut f: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                let mut stored = false;
                let old = modify(|e| self.locate(e), |old| {
                    let new = f(old as $value);
                    stored = new.is_some();
                    new.map(|new| new as u64)
                });
                match old {
                    None => self.initial.fetch_update(success, failure, f),
                    Some(old) if stored => Ok(old as $value),
                    Some(old) => Err(old as $value),
                }
            }

            #[track_caller]
            fn fetch(
                &self,
                order: Ordering,
                outside: fn(&real::$name, $value, Ordering) -> $value,
                inside: fn($value, $value) -> $value,
                value: $value,
            ) -> $value {
                modify(|e| self.locate(e), |old| Some(inside(old as $value, value) as u64))
                    .map_or_else(|| outside(&self.initial, value, order), |old| old as $value)
            }
        }

        impl Default for $name {
            fn default() -> $name {
                $name::new(0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match peek(|e| self.locate(e)) {
                    Some(bits) => fmt::Debug::fmt(&(bits as $value), f),
                    None => fmt::Debug::fmt(&self.initial, f),
                }
            }
        }
    };
}

integer!(
    /// A 32-bit atomic of the explorer.
    AtomicU32, u32
);
integer!(
    /// A 64-bit atomic of the explorer.
    AtomicU64, u64
);
integer!(
    /// A word of the explorer.
    AtomicUsize, usize
);
integer!(
    /// A signed word of the explorer.
    AtomicIsize, isize
);

/// An atomic truth value of the explorer.
pub struct AtomicBool {
    initial: real::AtomicBool,
    place: real::AtomicU64,
}

impl AtomicBool {
    /// An atomic with this value.
    pub const fn new(value: bool) -> AtomicBool {
        AtomicBool {
            initial: real::AtomicBool::new(value),
            place: real::AtomicU64::new(0),
        }
    }

    common!(bool, |bits: u64| bits != 0, u64::from);
}

/// An atomic pointer of the explorer.
pub struct AtomicPtr<T> {
    initial: real::AtomicPtr<T>,
    place: real::AtomicU64,
}

fn pointer_bits<T>(pointer: *mut T) -> u64 {
    pointer.expose_provenance() as u64
}

fn bits_pointer<T>(bits: u64) -> *mut T {
    std::ptr::with_exposed_provenance_mut(bits as usize)
}

impl<T> AtomicPtr<T> {
    /// An atomic with this value.
    pub const fn new(pointer: *mut T) -> AtomicPtr<T> {
        AtomicPtr {
            initial: real::AtomicPtr::new(pointer),
            place: real::AtomicU64::new(0),
        }
    }

    common!(*mut T, bits_pointer, pointer_bits);
}

impl<T> Default for AtomicPtr<T> {
    fn default() -> AtomicPtr<T> {
        AtomicPtr::new(std::ptr::null_mut())
    }
}

impl<T> fmt::Debug for AtomicPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match peek(|e| self.locate(e)) {
            Some(bits) => fmt::Debug::fmt(&bits_pointer::<T>(bits), f),
            None => fmt::Debug::fmt(&self.initial, f),
        }
    }
}
