//! haphazard: a fresh hazard slot of the global domain for every section; the case `repin` keeps one slot.
//! For `bench domain`, the same on domains of its own.

use super::Subject;
use super::loops::{self, Peer, Two, VALUE, Value, by_turns};
use haphazard::{AtomicPtr, Global, HazardPointer, static_unique_domain};
use std::sync::LazyLock;

macro_rules! on {
    ($name:ident, $pointer:ident, $domain:expr, $family:ident) => {
        static $pointer: LazyLock<AtomicPtr<Value, $family>> =
            LazyLock::new(|| AtomicPtr::from(Box::new(VALUE)));

        struct $name(&'static AtomicPtr<Value, $family>);

        impl Peer for $name {
            type Held = HazardPointer<'static, $family>;

            fn new() -> Self {
                $name(&$pointer)
            }

            #[inline(always)]
            fn enter(&self) -> Self::Held {
                HazardPointer::new_in_domain($domain)
            }

            #[inline(always)]
            fn read(&self, held: &mut Self::Held) -> u64 {
                self.0.safe_load(held).map_or(0, |value| value.0)
            }

            #[inline(always)]
            fn repin(&self, mut held: Self::Held) -> Self::Held {
                held.reset_protection();
                held
            }
        }
    };
}
static_unique_domain!(static ONE: Domain<OfOne>);
static_unique_domain!(static OTHER: Domain<OfOther>);

on!(Haphazard, POINTER, haphazard::Domain::global(), Global);
on!(OnOne, POINTER_ONE, &ONE, OfOne);
on!(OnOther, POINTER_OTHER, &OTHER, OfOther);

pub(super) fn subject() -> Subject {
    loops::subject::<Haphazard>("haphazard")
}

struct Both;

impl Two for Both {
    type One = OnOne;
    type Other = OnOther;
}

/// On a domain of its own.
pub(super) fn own() -> Subject {
    loops::subject::<OnOne>("haphazard-domain")
}

/// On two, by turns.
pub(super) fn turns() -> Subject {
    Subject {
        name: "haphazard-domain-turns",
        loops: by_turns::<Both>(),
        ..subject()
    }
}
