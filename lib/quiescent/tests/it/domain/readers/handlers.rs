//! Readers in signal handlers.

use super::*;

static HANDLED: Domain = Domain::new();
static SEEN: AtomicU32 = AtomicU32::new(0);

extern "C" fn handler(_: libc::c_int) {
    let outer = HANDLED.read_lock();
    let inner = HANDLED.read_lock();
    SEEN.fetch_add(1, Ordering::Relaxed);
    drop((outer, inner));
}

#[test]
fn handlers_read_also_first() {
    isolated(|| {
        // SAFETY: the handler reads and counts.
        unsafe { libc::signal(libc::SIGUSR1, handler as *const () as libc::sighandler_t) };
        let other = leaked();
        let raiser = || {
            // SAFETY: to this thread.
            unsafe { libc::raise(libc::SIGUSR1) }; // its first section, in any domain
            for _ in 0..100 {
                let guard = other.read_lock(); // what the handler notes is another one
                // SAFETY: as above.
                unsafe { libc::raise(libc::SIGUSR1) };
                drop(guard);
                let guard = HANDLED.read_lock();
                // SAFETY: as above.
                unsafe { libc::raise(libc::SIGUSR1) };
                assert!(HANDLED.in_section() && !other.in_section());
                drop(guard);
            }
        };
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(raiser);
            }
        });
        assert_eq!(SEEN.load(Ordering::Relaxed), 3 * 201);
        assert_eq!(HANDLED.synchronize_timeout(LONG), Ok(()));
        assert_eq!(other.synchronize_timeout(LONG), Ok(()));
        assert!((1..=3).contains(&HANDLED.statistics().readers));
    });
}
