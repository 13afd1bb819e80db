//! Ctrl-C: the first sets a flag, the second ends the program.
//!
//! The handler is installed in one step, so that no signal is lost between two.

use crate::show::output::STOPPED;
use libc::{SIGINT, c_int};
use quiescent_report::Error;
use std::io;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);

/// The descriptor that a caller reads signals from has this other end; -1: there is none.
static SIGNALS: AtomicI32 = AtomicI32::new(-1);

/// Calls only what may be called in a handler.
extern "C" fn arrived(signal: c_int) {
    if STOP.swap(true, Ordering::Relaxed) && signal == SIGINT {
        // SAFETY: takes a number, and ends the process.
        unsafe { libc::_exit(STOPPED.into()) };
    }
    let pipe = SIGNALS.load(Ordering::Relaxed);
    if pipe >= 0 {
        // SAFETY: a byte that is there.
        let _ = unsafe { libc::write(pipe, [0_u8].as_ptr().cast(), 1) };
    }
    // Where a handler is for one signal only, it is for the next one, too.
    let _ = handle(signal);
}

fn handle(signal: c_int) -> io::Result<()> {
    // SAFETY: the handler calls only what may be called in one.
    match unsafe { libc::signal(signal, arrived as *const () as libc::sighandler_t) } {
        libc::SIG_ERR => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// The flag that the first Ctrl-C sets.
pub struct Stop(&'static AtomicBool);

impl Deref for Stop {
    type Target = AtomicBool;

    fn deref(&self) -> &AtomicBool {
        self.0
    }
}

/// The flag, from now on.
///
/// # Errors
/// [`Error::Failed`] when the handler cannot be installed.
pub fn stop_flag() -> Result<Stop, Error> {
    let failed = |why| Error::failed("cannot handle Ctrl-C", why, "please report it");
    handle(SIGINT).map_err(failed)?;
    Ok(Stop(&STOP))
}

/// The same for a caller that has to clean up and sleeps in `poll`: Ctrl-C, SIGTERM and SIGHUP set the flag,
/// and can be read from the pipe.
///
/// # Errors
/// As [`stop_flag`].
#[cfg(target_os = "linux")]
pub fn stop_pipe() -> Result<(Stop, io::PipeReader), Error> {
    use std::os::fd::IntoRawFd;

    let watched = io::pipe().and_then(|(signals, sender)| {
        SIGNALS.store(sender.into_raw_fd(), Ordering::Relaxed);
        [libc::SIGTERM, libc::SIGHUP]
            .into_iter()
            .try_for_each(handle)?;
        Ok(signals)
    });
    let failed = |why| Error::failed("cannot handle signals", why, "are all descriptors in use?");
    Ok((stop_flag()?, watched.map_err(failed)?))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn a_signal_sets_the_flag_and_can_be_read() {
        let (stop, mut signals) = stop_pipe().unwrap();
        assert!(!stop.load(Ordering::Relaxed));
        // SAFETY: a signal that has a handler.
        unsafe { libc::raise(libc::SIGTERM) };
        assert!(stop.load(Ordering::Relaxed));
        assert_eq!(signals.read(&mut [0; 8]).unwrap(), 1);
    }
}
