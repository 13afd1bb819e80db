//! [`RcuHashMap`].

mod calls;
mod core;
mod iter;
mod owned;
mod pinned;
mod resize;
mod retire;
mod seal;
mod store;
mod traits;
mod write;

#[cfg(feature = "rayon")]
mod rayon;
#[cfg(feature = "serde")]
mod serde;

#[cfg(feature = "rayon")]
pub use self::rayon::ParIter;
pub use calls::{Change, Occupied};
pub use iter::Iter;
pub use pinned::Pinned;
pub(crate) use store::Entry;

use std::hash::RandomState;
use std::ptr;

use quiescent::{Global, Guard, Handle, Reads, Weigh};

use self::core::{Core, Weight};
use crate::bounds::Stored;
use crate::prim::{AtomicPtr, Mutex, Ordering, const_new, lock};
use crate::slab::END;
use crate::table::Table;

/// A hash map whose readers take no lock, execute no fence, and write to no shared memory.
///
/// Reading and changing take a [`Guard`], or the map is [pinned](RcuHashMap::pin). A reference lives as
/// long as the guard, whatever other threads do with its entry.
///
/// ```
/// use quiescent_collections::RcuHashMap;
/// use std::sync::LazyLock;
///
/// static ROUTES: LazyLock<RcuHashMap<String, u16>> = LazyLock::new(RcuHashMap::new);
///
/// ROUTES.pin().insert("/".into(), 80);
/// let reader = std::thread::spawn(|| ROUTES.pin().get("/").copied()); // no lock, no fence
/// assert_eq!(reader.join().unwrap(), Some(80));
/// ```
///
/// There is no `entry`, which would lock: [`get_or_insert_with`](RcuHashMap::get_or_insert_with),
/// [`update`](RcuHashMap::update) and [`compute`](RcuHashMap::compute) do what it is used for. Calls return
/// references to what was removed or replaced, because readers may have it still: clone it to keep it.
///
/// # Progress
/// | call | waits for | cost |
/// |---|---|---|
/// | `get`, `contains_key`, `get_many`, `iter`, ... | nothing: wait-free | two misses a key: bucket, entry |
/// | `insert`, `remove`, `update`, ... | writers of its bucket, some instructions | one locked instruction |
/// | `len` | nothing | a load for each thread that has changed the map |
///
/// Code of the program (`Hash`, `Eq`, closures, destructors) never runs under a lock of the map, so a key
/// or a value may use the map. A guard that is held blocks no writer; it holds back memory
/// ([below](#memory)).
///
/// # Growing and shrinking
/// The table doubles when a bucket has 8.4 entries on average, and shrinks when four fifths of that are
/// unused, but for room that was asked for. Writers move it bit by bit: no call copies the table, and no
/// reader notices. If there are no writers any more, the worker of the library goes on some seconds later;
/// then it also calls the keys' `Hash`.
///
/// # Memory
/// Entries never move. Those that are removed are retired, up to 256 at a time; a batch that stays partly
/// filled is retired at most one [flush time](quiescent::tuning::FLUSH) later. While a section stays open,
/// removed entries are held, and count against the budget of the domain; more than two tables are never in
/// use, but each table that was replaced waits, too. A batch counts as eight times its entries' own size, so
/// that the memory is used again while it is in the caches.
///
/// What entries *own* is not visible: each with a destructor counts
/// [1 KiB](quiescent::tuning::UNWEIGHED) more, as a value of a cell does. Say
/// [`weighed`](RcuHashMap::weighed) for keys and values that own much: then each counts what it owns, and
/// removed entries that own 256 KiB are retired at once, however few they are.
///
/// Dropping the map frees everything at once, also in a destructor or a section: no reader can have
/// references, as these borrow the map. It waits while the worker moves some entries: hold no lock that a
/// key's `Hash` takes.
///
/// # Domains
/// [`new_in`](RcuHashMap::new_in) makes a map that is read under sections of a
/// [`Domain`](quiescent::Domain) or an [`Srcu`](quiescent::Srcu), with a handle that keeps
/// it alive: the fourth parameter, after the hasher, as in `RcuHashMap<u32, String, RandomState, Srcu>`.
/// Readers of an `Srcu` may sleep, and cross an `await`:
///
/// ```
/// use quiescent::Srcu;
/// use quiescent_collections::RcuHashMap;
///
/// let srcu = Srcu::new();
/// let map = RcuHashMap::new_in(srcu.clone());
/// map.pin().insert(1, "one");
/// let pinned = map.with_guard(srcu.read_owned_send());
/// std::thread::scope(|scope| {
///     // The view, with its iterators, may be used by another thread.
///     scope.spawn(move || assert_eq!(pinned.iter().next(), Some((&1, &"one"))));
/// });
/// ```
///
/// # Bad input
/// * A `Hash` or `Eq` that panics leaves the map as it was. If they lie, keys may not be found, be there
///   twice, or be taken for others; nothing worse.
/// * Room for more than 2³¹ entries is refused with a panic. Without memory the program is aborted, as with
///   `Vec`.
/// * Keys with equal hashes are searched one by one. The default hasher is seeded, so that such keys cannot
///   be chosen.
/// * A destructor that panics does not keep the others of its batch from being run.
/// * In the child of a `fork`, what was in the map can be read, and the map may be changed. If another thread
///   was amid a change at that moment, the entry in question may leak, `len` may be wrong, and a call that
///   changes, resizes or drops the map may wait for ever for a lock or a part of a resize that the child does
///   not have. A batch that was partly filled is retired when it is full, and only writers go on with a
///   resize.
///   In a child that runs inherited callbacks, those that free what a map has removed may wait in this way.
/// * Writes are not for signal handlers; reads are.
///
/// These do not compile:
///
/// ```compile_fail,E0505
/// let map = quiescent_collections::RcuHashMap::from([(1, 1)]);
/// let guard = quiescent::read_lock();
/// let value = map.get(&1, &guard);
/// drop(map); // while it is being read
/// println!("{value:?}");
/// ```
/// ```compile_fail,E0505
/// let map = quiescent_collections::RcuHashMap::from([(1, 1)]);
/// let guard = quiescent::read_lock();
/// let value = map.get(&1, &guard);
/// drop(guard); // the section that keeps it
/// println!("{value:?}");
/// ```
/// ```compile_fail,E0597
/// let domain = quiescent::Domain::new();
/// let map = quiescent_collections::RcuHashMap::new_in(&domain);
/// map.pin().insert(1, 1);
/// std::mem::forget(map); // the worker may still look after it
/// ```
/// ```compile_fail,E0277
/// let domain = quiescent::Domain::new();
/// let map: quiescent_collections::RcuHashMap<i32, i32, _, _> =
///     quiescent_collections::RcuHashMap::new_in(domain.clone());
/// map.get(&1, &quiescent::read_lock()); // a guard of another domain
/// ```
pub struct RcuHashMap<K, V, S = RandomState, D = Global> {
    /// Null before the first entry.
    core: AtomicPtr<Core<K, V, S, D>>,
    /// Until then.
    hasher: Mutex<Option<S>>,
    capacity: usize,
    weight: Option<Weight<K, V>>,
    domain: D,
}

// SAFETY: it owns its entries, which other threads may read and drop.
unsafe impl<K: Send + Sync, V: Send + Sync, S: Send + Sync, D: Send + Sync> Send
    for RcuHashMap<K, V, S, D>
{
}
// SAFETY: as above.
unsafe impl<K: Send + Sync, V: Send + Sync, S: Send + Sync, D: Send + Sync> Sync
    for RcuHashMap<K, V, S, D>
{
}

impl<K, V> RcuHashMap<K, V> {
    /// An empty map. Allocates nothing. (A static needs a `LazyLock`, or a hasher that is constant:
    /// [`with_hasher`](RcuHashMap::with_hasher).)
    pub fn new() -> RcuHashMap<K, V> {
        RcuHashMap::with_hasher(RandomState::new())
    }

    /// A map with room for so many entries, which it keeps until
    /// [`shrink_to_fit`](RcuHashMap::shrink_to_fit). Allocates nothing: the table is made with the first
    /// entry, of memory that is zero, of which a page is used when an entry comes there.
    ///
    /// # Panics
    /// If the capacity is above 2³¹. (If there is no memory for the table, the program is aborted with the
    /// first entry, as in `Vec`.)
    pub fn with_capacity(capacity: usize) -> RcuHashMap<K, V> {
        RcuHashMap::with_capacity_and_hasher_in(capacity, RandomState::new(), Global)
    }
}

impl<K, V, S> RcuHashMap<K, V, S> {
    const_new! {
    /// An empty map with this hasher. Allocates nothing.
    pub fn with_hasher(hasher: S) -> RcuHashMap<K, V, S> {
        RcuHashMap::with_hasher_in(hasher, Global)
    }
    }

    const_new! {
    /// As [`with_capacity`](RcuHashMap::with_capacity), with this hasher.
    pub fn with_capacity_and_hasher(capacity: usize, hasher: S) -> RcuHashMap<K, V, S> {
        RcuHashMap::with_capacity_and_hasher_in(capacity, hasher, Global)
    }
    }
}

impl<K, V, D> RcuHashMap<K, V, RandomState, D> {
    /// An empty map that is read under sections of `domain`: `&DOMAIN` of a static, or a clone,
    /// which keeps it alive.
    pub fn new_in(domain: D) -> RcuHashMap<K, V, RandomState, D> {
        RcuHashMap::with_hasher_in(RandomState::new(), domain)
    }
}

impl<K, V, S, D> RcuHashMap<K, V, S, D> {
    const_new! {
    /// As [`with_hasher`](RcuHashMap::with_hasher), for readers under sections of `domain`.
    pub fn with_hasher_in(hasher: S, domain: D) -> RcuHashMap<K, V, S, D> {
        RcuHashMap::with_capacity_and_hasher_in(0, hasher, domain)
    }
    }

    const_new! {
    /// As [`with_capacity_and_hasher`](RcuHashMap::with_capacity_and_hasher), for readers under sections of
    /// `domain`.
    pub fn with_capacity_and_hasher_in(
        capacity: usize,
        hasher: S,
        domain: D,
    ) -> RcuHashMap<K, V, S, D> {
        assert!(
            capacity <= END as usize,
            "RcuHashMap: a capacity above 2^31, which is the most that a map can have"
        );
        RcuHashMap {
            core: AtomicPtr::new(ptr::null_mut()),
            hasher: Mutex::new(Some(hasher)),
            capacity,
            weight: None,
            domain,
        }
    }
    }

    /// Sets the function that weighs entries: it returns the bytes that a key and a value own besides their
    /// own size. It is called once for each entry that is removed or replaced, after that.
    ///
    /// Without it an entry with a destructor is taken to own [1 KiB](quiescent::tuning::UNWEIGHED), and one
    /// without nothing.
    ///
    /// # Panics
    /// If the map has had an entry.
    #[must_use = "this returns the map"]
    pub fn with_weight(mut self, weight: fn(&K, &V) -> usize) -> RcuHashMap<K, V, S, D> {
        assert!(
            self.core.load(Ordering::Relaxed).is_null(),
            "the map has had an entry"
        );
        self.weight = Some(weight);
        self
    }

    /// Weighs entries by their types' [`Weigh`].
    ///
    /// # Panics
    /// If the map has had an entry.
    #[must_use = "this returns the map"]
    pub fn weighed(self) -> RcuHashMap<K, V, S, D>
    where
        K: Weigh,
        V: Weigh,
    {
        self.with_weight(|key, value| key.owned_bytes().saturating_add(value.owned_bytes()))
    }

    /// The core, if the map has had an entry.
    #[inline(always)]
    fn core(&self) -> Option<&Core<K, V, S, D>> {
        // SAFETY: null, or a core that lives as long as the map.
        unsafe { self.core.load(Ordering::Acquire).as_ref() } // [MAP-11]
    }

    /// The domain, whose sections protect what is found.
    pub fn domain(&self) -> &D {
        &self.domain
    }

    /// The number of entries. Each thread counts what it adds and removes, and this adds up the counts: it is
    /// exact when no thread changes the map, and otherwise the number at no certain moment.
    ///
    /// Takes a load for each thread that has changed the map.
    pub fn len(&self) -> usize {
        self.core().map_or(0, Core::len)
    }

    /// Whether [`len`](RcuHashMap::len) is 0.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<K: Stored, V: Stored, S, D: Handle> RcuHashMap<K, V, S, D> {
    #[inline(always)]
    fn core_for_writing(&self) -> &Core<K, V, S, D> {
        match self.core() {
            Some(core) => core,
            None => self.first_use(),
        }
    }

    #[cold]
    #[inline(never)]
    fn first_use(&self) -> &Core<K, V, S, D> {
        let mut hasher = lock(&self.hasher);
        let table = Table::new(Table::bits_for(self.capacity));
        if let Some(hasher) = hasher.take() {
            let core = Core::new(table, hasher, self.domain.clone(), self.weight);
            let core = Box::into_raw(core);
            // SAFETY: from the box; the callback uses the same pointer.
            unsafe { (*core).sealer.open(core) };
            // [MAP-11] Complete before it is published.
            self.core.store(core, Ordering::Release);
        }
        self.core()
            .expect("stored by the thread that took the hasher")
    }

    /// Opens a section, and returns the map together with its guard: then no call needs one. What is found
    /// borrows from that: to use it in a later statement, name the pinned map first (`let map = map.pin();`).
    #[inline(always)]
    pub fn pin(&self) -> Pinned<'_, K, V, S, D> {
        let guard = Guard::new_in(self.domain.clone());
        Pinned { map: self, guard }
    }

    /// The map together with a guard, also of another handle to its domain: an owned one, or one that may be
    /// sent to other threads.
    ///
    /// # Panics
    /// If the guard is of another domain with the same tag.
    #[inline(always)]
    #[track_caller]
    pub fn with_guard<E: Handle + Reads<D::Brand>>(
        &self,
        guard: Guard<E>,
    ) -> Pinned<'_, K, V, S, D, E> {
        self.check(&guard);
        Pinned { map: self, guard }
    }

    #[inline(always)]
    #[track_caller]
    fn check(&self, guard: &Guard<impl Handle + Reads<D::Brand>>) {
        if !guard.is_of(&self.domain) {
            other_domain();
        }
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn other_domain() -> ! {
    panic!("a guard of another domain");
}

impl<K, V, S, D> Drop for RcuHashMap<K, V, S, D> {
    fn drop(&mut self) {
        let core = self.core.load(Ordering::Relaxed);
        if !core.is_null() {
            // SAFETY: made by `first_use`, and no thread reads: that would borrow the map. The worker
            // has done with it before there is a box.
            unsafe {
                (*core).sealer.close();
                owned::drop_core(Box::from_raw(core));
            }
        }
    }
}
