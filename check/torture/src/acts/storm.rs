//! A storm of signals whose handler reads. The signals go to every thread of the run, in any state: waiting,
//! queuing, ending. Only reading is allowed in a handler, and the handler only reads.

use std::mem::zeroed;
use std::ptr::null_mut;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use super::reader;
use crate::book::hand::Hand;
use crate::book::world;

extern "C" fn handler(_signal: libc::c_int) {
    if let Some(world) = world::current() {
        reader::in_handler(world);
    }
}

/// Installs the handler that reads.
pub fn install() {
    // SAFETY: an all-zero sigaction is one: no flags, an empty mask.
    let mut action: libc::sigaction = unsafe { zeroed() };
    action.sa_sigaction = handler as *const () as libc::sighandler_t;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: the action is complete; its handler reads, which is allowed anywhere, and adds to atomics.
    let installed = unsafe { libc::sigaction(libc::SIGUSR1, &action, null_mut()) };
    assert_eq!(installed, 0, "sigaction: is SIGUSR1 allowed here?");
}

/// Blocks the signal for this thread. (A handler that reads when no destructor will run any more keeps a
/// slot, which is allowed and shows nothing.)
pub fn block() {
    // SAFETY: a signal set may be all zeroes, and is made empty.
    let mut set: libc::sigset_t = unsafe { zeroed() };
    // SAFETY: `set` is a signal set of ours.
    unsafe {
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGUSR1);
        libc::pthread_sigmask(libc::SIG_BLOCK, &set, null_mut());
    }
}

/// Sends signals until the run is over.
pub fn run(mut hand: Hand) {
    let world = hand.world;
    while hand.goes_on() {
        // SAFETY: getpid cannot fail.
        let process = unsafe { libc::getpid() };
        let place = &world.places[hand.numbers.below(world.places.len())];
        let thread = place.thread.load(Ordering::Relaxed);
        if thread != 0 {
            // A thread that has ended since gets no signal.
            // SAFETY: three integers.
            unsafe { libc::syscall(libc::SYS_tgkill, process, thread, libc::SIGUSR1) };
        }
        let most = world.options.delays.signal_us.max(1);
        thread::sleep(Duration::from_micros(hand.numbers.next() % most));
    }
}
