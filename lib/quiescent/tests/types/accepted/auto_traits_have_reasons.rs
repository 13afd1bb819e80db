//! Which of the other types may be sent and shared, and why.
#![forbid(unsafe_code)]
#![allow(unused)]
use std::cell::Cell;

use quiescent::report::{Report, StallReport, StalledReader};
use quiescent::stats::{DomainStatistics, Fullness, Guarantees, Holdout, Statistics};
use quiescent::tuning::FlushTimes;
use quiescent::*;

/// `bool` is true for types that implement the trait: an inherent constant goes before one of a trait.
macro_rules! has {
    ($trait:ident: $type:ty) => {{
        trait Otherwise {
            const HAS: bool = false;
        }
        impl<T: ?Sized> Otherwise for T {}
        struct Asked<T: ?Sized>(std::marker::PhantomData<T>);
        impl<T: ?Sized + $trait> Asked<T> {
            const HAS: bool = true;
        }
        <Asked<$type>>::HAS
    }};
}

macro_rules! rows {
    ($($why:literal: $send:literal $sync:literal $($type:ty),+;)+) => {$($(
        assert_eq!((has!(Send: $type), has!(Sync: $type)), ($send, $sync), "{}", $why);
    )+)+};
}

type Value = Retired<u32>;
type Unshared = Retired<Cell<u32>>;

fn main() {
    rows! {
        "readers on other threads may still hold a reference to the value":
            false false Unshared;
        "an error passes on what it holds, and no more":
            true true Exchanged<Value, Value>, Refused<Value>, Refused<(), SyncError>;
        "an error gives what it holds to the thread that has it":
            false false Exchanged<Unshared, Value>, Exchanged<Value, Unshared>, Refused<Unshared>;
        "a section ends on the thread on which it began":
            false false Guard, Guard<Domain>, Guard<Srcu>, Held<'static, u32, Global>, Shared<'static, u32>;
        "a section of this kind may end on any thread":
            true true Guard<Sendable<Srcu>>, Held<'static, u32, Sendable<Srcu>>;
        "a value that its threads may not share is not held for another one":
            false false Held<'static, Cell<u32>, Sendable<Srcu>>;
        "references to values that are shared anyway, while a guard is borrowed":
            true true ListIter<'static, u32>;
        "an element owns a value that is `Send` and `Sync`":
            true true ListNode<u32>;
        "a wait reads words that are shared":
            true true Cookie, GracePeriod, BarrierFuture, BarrierFuture<Srcu>;
        "an account is a copy":
            true true Report, StallReport, StalledReader, Statistics, DomainStatistics, Fullness, Holdout,
            Guarantees, FlushTimes, Left, Shutdown, HandlesLeft, Options, SyncError, Refusal, InitError;
    }
}
