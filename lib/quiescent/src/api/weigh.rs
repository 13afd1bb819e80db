//! [`Weigh`]: the memory that a value owns.
//!
//! The amounts are those of the blocks, as common allocators have them
//! ([`owner::block`](quiescent_engine::owner::block)); of hash tables and trees, whose layout the standard
//! library does not show, they are estimates.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use quiescent_engine::owner::block;

/// Values that know how much memory they own besides their own size: for [`RcuCell::weighed`].
///
/// [`RcuCell::weighed`]: crate::RcuCell::weighed
///
/// | implemented for | counts |
/// |---|---|
/// | `String`, `Vec`, `VecDeque`, `Box<T>`, `Box<[T]>`, `Box<str>` | the value's own block |
/// | `HashMap`, `HashSet`, `BTreeMap`, `BTreeSet` | the table or the nodes: an estimate |
/// | `Arc` | its block, if this is the last reference: other owners may drop theirs meanwhile |
/// | `Option`, tuples of up to four | what is in them |
/// | numbers, `bool`, `char`, `()`, references | nothing |
///
/// Containers count *shallowly*: not what their elements own, because adding that up takes a visit of each.
/// (1000 pairs of `String`s of 30 bytes in a `HashMap` own 190 KB, and count as 115.) Where that matters,
/// implement it for a type of your own, or give [`with_weight`](crate::RcuCell::with_weight) a function.
///
/// ```
/// use quiescent::{RcuCell, Weigh};
///
/// struct Routes { names: Vec<String>, bytes_of_names: usize }
///
/// impl Weigh for Routes {
///     fn owned_bytes(&self) -> usize {
///         self.names.owned_bytes() + self.bytes_of_names
///     }
/// }
///
/// let routes = RcuCell::new(Routes { names: vec![], bytes_of_names: 0 }).weighed();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say how many bytes it owns: implement `Weigh` for it, or, instead of \
               `weighed()`, give `with_weight` a function"
)]
pub trait Weigh {
    /// The bytes of memory that the value owns besides its own size.
    fn owned_bytes(&self) -> usize;
}

/// So many elements in one block.
fn array<T>(capacity: usize) -> usize {
    block(capacity.saturating_mul(size_of::<T>()))
}

/// A table with room for so many elements: a power of two of places, an eighth of them free, with a byte
/// each.
fn table<T>(capacity: usize) -> usize {
    match capacity {
        0 => 0,
        _ => {
            let places = (capacity.saturating_mul(8) / 7).next_power_of_two().max(4);
            block(places.saturating_mul(size_of::<T>() + 1).saturating_add(16))
        }
    }
}

/// A tree of so many elements: nodes with room for eleven, of which eight are used on average, and the links.
fn tree<T>(length: usize) -> usize {
    let node = block(11 * size_of::<T>() + 2 * size_of::<usize>());
    length
        .div_ceil(8)
        .saturating_mul(node + 2 * size_of::<usize>())
}

macro_rules! weigh {
    ($([$($parameters:tt)*] $type:ty, |$value:pat_param| $bytes:expr;)*) => {$(
        impl<$($parameters)*> Weigh for $type {
            fn owned_bytes(&self) -> usize {
                let $value = self;
                $bytes
            }
        }
    )*};
}

weigh! {
    [] String, |it| block(it.capacity());
    [T] Vec<T>, |it| array::<T>(it.capacity());
    [T] VecDeque<T>, |it| array::<T>(it.capacity());
    [T: ?Sized] Box<T>, |it| block(size_of_val(&**it));
    [T: ?Sized] Arc<T>, |it| match Arc::strong_count(it) {
        1 => block(size_of_val(&**it) + 2 * size_of::<usize>()),
        _ => 0,
    };
    [K, V, S] HashMap<K, V, S>, |it| table::<(K, V)>(it.capacity());
    [T, S] HashSet<T, S>, |it| table::<T>(it.capacity());
    [K, V] BTreeMap<K, V>, |it| tree::<(K, V)>(it.len());
    [T] BTreeSet<T>, |it| tree::<T>(it.len());
    [T: Weigh] Option<T>, |it| it.as_ref().map_or(0, T::owned_bytes);
    [T: ?Sized] &T, |_| 0;
}

macro_rules! tuples {
    ($(($($part:ident $at:tt),+))+) => {
        weigh!($(
            [$($part: Weigh),+] ($($part,)+), |it| {
                [$(it.$at.owned_bytes()),+].into_iter().fold(0, usize::saturating_add)
            };
        )+);
    };
}

tuples!((A 0) (A 0, B 1) (A 0, B 1, C 2) (A 0, B 1, C 2, E 3));

macro_rules! nothing {
    ($($type:ty)*) => {
        weigh!($([] $type, |_| 0;)*);
    };
}

nothing!(() bool char u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64);

#[cfg(test)]
mod tests {
    use super::*;

    const TWO_WORDS: usize = 2 * size_of::<usize>();

    #[test]
    fn a_tree_is_nodes_of_eight_elements_and_their_links() {
        let node = block(11 * 8 + TWO_WORDS) + TWO_WORDS;
        for (length, nodes) in [(0, 0), (1, 1), (8, 1), (9, 2), (80, 10)] {
            assert_eq!(tree::<u64>(length), nodes * node, "{length}");
        }
        assert_eq!(tree::<[u8; 100]>(1), block(1100 + TWO_WORDS) + TWO_WORDS);
    }

    #[test]
    fn shared_values_have_two_counters() {
        for length in 0..40 {
            let bytes: Arc<[u8]> = vec![0; length].into();
            assert_eq!(bytes.owned_bytes(), block(length + TWO_WORDS), "{length}");
        }
    }
}
