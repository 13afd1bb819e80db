//! A server with a routing table that is looked up and replaced all the time, and a report that reads the
//! accounts for a long time.
//!
//! The accounts have a domain of their own. So while the report is in its section, replaced routing tables
//! are freed, and an updater of routes waits only for lookups, not for the report. In the accounts' domain
//! nothing is freed meanwhile, up to its budget. The routes have a domain with a tag: a guard of one with a
//! table of the other does not compile.
//!
//!     cargo run --example domains

use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use quiescent::{Domain, Guard, RcuCell, statistics};

struct Routing;
struct Accounting;

static ROUTING: Domain<Routing> = Domain::tagged();
static ACCOUNTING: Domain<Accounting> = Domain::tagged();

static ROUTES: LazyLock<RcuCell<Routes, &Domain<Routing>>> =
    LazyLock::new(|| RcuCell::new_in(Routes::new(0), &ROUTING));
static ACCOUNTS: LazyLock<RcuCell<Accounts, &Domain<Accounting>>> =
    LazyLock::new(|| RcuCell::new_in(Accounts::new(0), &ACCOUNTING));

static STOP: AtomicBool = AtomicBool::new(false);
static ROUTES_DROPPED: AtomicU64 = AtomicU64::new(0);
static ACCOUNTS_DROPPED: AtomicU64 = AtomicU64::new(0);

/// Routing tables published while the report runs.
const TABLES: u64 = 200;
/// Days booked meanwhile.
const DAYS: u64 = 50;
/// Old accounts that may be held for the report.
const HELD: u64 = 20;
const ENTRIES: usize = 256;

/// Network → where its packets go; all entries of a table are of one version.
struct Routes(Vec<u64>);

impl Routes {
    fn new(version: u64) -> Routes {
        Routes(vec![version; ENTRIES])
    }
}

impl Drop for Routes {
    fn drop(&mut self) {
        ROUTES_DROPPED.fetch_add(1, Ordering::Relaxed);
    }
}

/// What each account has; all are booked at the end of a day.
struct Accounts(Vec<u64>);

impl Accounts {
    fn new(day: u64) -> Accounts {
        Accounts(vec![day; ENTRIES])
    }
}

impl Drop for Accounts {
    fn drop(&mut self) {
        ACCOUNTS_DROPPED.fetch_add(1, Ordering::Relaxed);
    }
}

/// Looks routes up. How often, and how often did one section show two versions?
fn serve() -> (u64, u64) {
    let (mut lookups, mut mixtures) = (0, 0);
    loop {
        let guard = ROUTING.read_lock();
        let Routes(table) = ROUTES.load(&guard);
        let at = |n: u64| table[n as usize % ENTRIES];
        mixtures += u64::from(at(lookups) != at(lookups * 7 + 1));
        lookups += 2;
        if STOP.load(Ordering::Relaxed) {
            return (lookups, mixtures);
        }
    }
}

/// Reads through all accounts, in one section: all of them of one day. It takes its time.
fn report(begun: &Sender<()>, go_on: &Receiver<()>) -> (u64, u64) {
    let guard = ACCOUNTING.read_lock();
    let (first, rest) = accounts(&guard).split_at(ENTRIES / 2);
    let sum: u64 = first.iter().sum();
    begun.send(()).expect("the main thread waits");
    go_on.recv().expect("the main thread sends it"); // as if a printer were slow
    let day = first[0];
    (day, sum + rest.iter().sum::<u64>())
}

/// For callers inside a section of the right domain.
fn accounts<'g>(guard: &'g Guard<&Domain<Accounting>>) -> &'g [u64] {
    &ACCOUNTS.load(guard).0
}

/// Replaces the routes again and again, and each old table is freed before the next one is stored.
fn replace_routes() {
    for version in 1..=TABLES {
        // Waits for lookups only. (Usually a program just drops the result of `store`.)
        drop(ROUTES.store(Routes::new(version)).wait());
    }
}

/// Books day after day. The old accounts are kept, since the report may read them; those beyond the budget
/// are returned.
fn book() -> Vec<u64> {
    let mut refused = Vec::new();
    for day in 1..=DAYS {
        if let Err(old) = ACCOUNTS.store(Accounts::new(day)).try_retire() {
            refused.push(old.object.0[0]); // of which day; dropped, it is retired all the same
        }
    }
    refused
}

fn main() {
    ACCOUNTING.set_budget(u64::MAX, HELD);
    let servers: Vec<_> = (0..2).map(|_| thread::spawn(serve)).collect();
    let (begun, has_begun) = channel();
    let (end, ended) = channel();
    let reporter = thread::spawn(move || report(&begun, &ended));
    has_begun.recv().expect("it begins");

    replace_routes();
    let refused = book();
    let (routing, accounting) = (ROUTING.statistics(), ACCOUNTING.statistics());
    let dropped = ROUTES_DROPPED.load(Ordering::Relaxed);
    let held = ACCOUNTS_DROPPED.load(Ordering::Relaxed);
    println!(
        "while the report was in its section: {dropped} routing tables freed in {} grace periods",
        routing.grace_periods
    );
    println!(
        "of its own domain: {} grace periods ended, {held} accounts freed, {} held, {} over the budget of \
         {HELD}",
        accounting.grace_periods, accounting.queued, accounting.refused
    );

    end.send(()).expect("it waits");
    let (day, sum) = reporter.join().expect("a report does not panic");
    println!("the report: day {day}, {sum} in all accounts");
    ACCOUNTING.barrier();
    STOP.store(true, Ordering::Relaxed);
    let (mut lookups, mut mixtures) = (0, 0);
    for server in servers {
        let (more, bad) = server.join().expect("a server does not panic");
        lookups += more;
        mixtures += bad;
    }
    let freed = ACCOUNTS_DROPPED.load(Ordering::Relaxed);
    let left = ACCOUNTING.statistics().queued + ROUTING.statistics().queued;
    println!("{lookups} lookups, {mixtures} of them in a mixture of two tables");
    println!("then {freed} accounts freed, {left} left");
    assert_eq!((dropped, held, accounting.grace_periods), (TABLES, 0, 0));
    assert_eq!((day, sum, mixtures), (0, 0, 0));
    assert_eq!((freed, left, refused.len() as u64), (DAYS, 0, DAYS - HELD));
    assert_eq!(
        statistics().grace_periods,
        0,
        "the process has waited for nothing"
    );
}
