//! A plug-in, as a shared object that contains the library: `dlopen` it, call it, `dlclose` it.
//!
//! The library keeps the object loaded, because its threads and queued callbacks refer to code in it. So
//! `dlclose` succeeds, and opening it again finds it as it was. After `plugin_stop` it unloads it.

use std::sync::atomic::{AtomicU32, Ordering};

static RAN: AtomicU32 = AtomicU32::new(0);

/// Reads, and queues a callback and an object with a destructor. Returns how many callbacks have run so far.
#[unsafe(no_mangle)]
pub extern "C" fn plugin_work() -> u32 {
    let cell = quiescent::RcuCell::new(String::from("old"));
    drop(cell.store(String::from("new")));
    quiescent::read(|guard| assert_eq!(cell.load(guard), "new"));
    quiescent::defer(|| {
        RAN.fetch_add(1, Ordering::Release);
    });
    RAN.load(Ordering::Acquire)
}

/// Waits for all of that.
#[unsafe(no_mangle)]
pub extern "C" fn plugin_wait() -> u32 {
    quiescent::barrier();
    RAN.load(Ordering::Acquire)
}

/// Ends the library's threads. Returns how much is left: callbacks and threads.
#[unsafe(no_mangle)]
pub extern "C" fn plugin_stop() -> u32 {
    match quiescent::shutdown(std::time::Duration::from_secs(5)) {
        Ok(done) => (done.left.iter().map(|it| it.callbacks).sum::<u64>() + done.threads) as u32,
        Err(_) => u32::MAX,
    }
}
