//! A cache in an async service. Requests keep a reference to a page across an `await`, while a task walks
//! through the cache with an iterator that crosses an `await`, too, and removes what is old. The map is read
//! under an [`Srcu`], whose sections may wait and go on on another thread; no task blocks another.
//!
//!     cargo run --release --example cache_async

use std::hash::RandomState;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use quiescent::Srcu;
use quiescent_collections::RcuHashMap;
use tokio::runtime::Builder;
use tokio::task::yield_now;

/// Threads of the runtime.
const WORKERS: usize = 3;
/// Tasks that serve requests.
const TASKS: u64 = 8;
/// Requests of each task.
const REQUESTS: u64 = 2_000;
/// Pages that are asked for.
const PAGES: u64 = 500;
/// Requests that a page lives.
const LIFE: u64 = 1_000;

static DROPPED: AtomicU64 = AtomicU64::new(0);

struct Page {
    text: String,
    /// The number of the request that fetched it.
    born: u64,
}

impl Drop for Page {
    fn drop(&mut self) {
        self.text.clear(); // what no reader may see
        DROPPED.fetch_add(1, Ordering::Relaxed);
    }
}

/// The domain, and a map that has a handle to it: both may be fields of one struct.
struct Cache {
    srcu: Srcu,
    pages: RcuHashMap<u64, Page, RandomState, Srcu>,
    requests: AtomicU64,
    fetched: AtomicU64,
    closed: AtomicBool,
}

impl Cache {
    fn new() -> Cache {
        let srcu = Srcu::new();
        let pages =
            RcuHashMap::new_in(srcu.clone()).with_weight(|_, page: &Page| page.text.capacity());
        Cache {
            srcu,
            pages,
            requests: AtomicU64::new(0),
            fetched: AtomicU64::new(0),
            closed: AtomicBool::new(false),
        }
    }

    /// Answers a request: with the page that the cache has, or one that is fetched. Returns its length.
    async fn answer(&self, number: u64) -> usize {
        let now = self.requests.fetch_add(1, Ordering::Relaxed);
        let pages = self.pages.with_guard(self.srcu.read_owned_send());
        let page = match pages.get(&number) {
            Some(page) => page,
            None => {
                let text = fetch(number).await;
                // Another task may have fetched it meanwhile: then both use its page.
                pages.get_or_insert_with(number, || {
                    self.fetched.fetch_add(1, Ordering::Relaxed);
                    Page { text, born: now }
                })
            }
        };
        // The page may be removed now; it stays until `pages` is dropped.
        send(&page.text).await
    }

    /// Removes old pages until the cache is closed. Returns how many rounds it made, and how many it removed.
    async fn sweep(&self) -> (u64, u64) {
        let (mut rounds, mut removed) = (0, 0);
        while !self.closed.load(Ordering::Relaxed) {
            // A section a round: what is removed in it is freed after it.
            let pages = self.pages.with_guard(self.srcu.read_owned_send());
            for (number, page) in pages.iter() {
                if self.is_old(page) && !is_wanted(*number).await {
                    removed +=
                        u64::from(pages.remove_if(number, |_, it| self.is_old(it)).is_some());
                }
            }
            rounds += 1;
            drop(pages);
            yield_now().await;
        }
        (rounds, removed)
    }

    fn is_old(&self, page: &Page) -> bool {
        self.requests
            .load(Ordering::Relaxed)
            .saturating_sub(page.born)
            > LIFE
    }
}

/// What takes long, and is why there is a cache.
async fn fetch(number: u64) -> String {
    yield_now().await;
    format!("page {number}")
}

/// Writes a page to a slow client.
async fn send(text: &str) -> usize {
    yield_now().await;
    text.len()
}

/// Asks another service, before a page is removed.
async fn is_wanted(number: u64) -> bool {
    yield_now().await;
    number == 0
}

/// Serves requests. Returns how many answers were wrong.
async fn serve(cache: Arc<Cache>, task: u64) -> u64 {
    let mut wrong = 0;
    for n in 0..REQUESTS {
        let number = (n * 7 + task * 31) % PAGES;
        let length = cache.answer(number).await;
        wrong += u64::from(length != format!("page {number}").len());
    }
    wrong
}

fn main() {
    let runtime = Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .build()
        .expect("a runtime");
    let cache = Arc::new(Cache::new());
    let sweeper = runtime.spawn({
        let cache = cache.clone();
        async move { cache.sweep().await }
    });
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| runtime.spawn(serve(cache.clone(), task)))
        .collect();
    let wrong: u64 = tasks
        .into_iter()
        .map(|task| runtime.block_on(task).expect("no task panics"))
        .sum();
    cache.closed.store(true, Ordering::Relaxed);
    let (rounds, removed) = runtime.block_on(sweeper).expect("no task panics");

    let fetched = cache.fetched.load(Ordering::Relaxed);
    let left = cache.pages.len();
    println!(
        "{} requests, {fetched} pages fetched, {wrong} wrong",
        TASKS * REQUESTS
    );
    println!("{rounds} rounds, {removed} removed, {left} left");
    drop(runtime);
    let srcu = cache.srcu.clone();
    drop(cache);
    srcu.barrier(); // only so that the number below is final
    let dropped = DROPPED.load(Ordering::Relaxed);
    println!("{dropped} dropped");
    assert_eq!((wrong, dropped), (0, fetched));
}

#[cfg(test)]
mod tests {
    #[test]
    fn no_page_is_dropped_while_a_task_uses_it() {
        super::main();
    }
}
