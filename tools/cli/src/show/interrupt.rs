//! Ctrl-C: the first sets a flag, the second ends the program.
//!
//! To install a handler and to set its action are two steps (here with two handlers), and a SIGINT between
//! them would reach a handler that has no action yet: the program would continue as if Ctrl-C had not been
//! pressed. So this thread blocks the signal until both steps are done, and it arrives then. The program has
//! no other thread at that time.

use crate::show::output::STOPPED;
use quiescent_report::Error;
use signal_hook::consts::SIGINT;
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The flag that the first Ctrl-C sets.
///
/// # Errors
/// [`Error::Failed`] when the handlers cannot be installed.
pub fn stop_flag() -> Result<Arc<AtomicBool>, Error> {
    let stop = Arc::new(AtomicBool::new(false));
    let held = Held::back();
    // In this order: the conditional exit must see the flag as it was before this Ctrl-C.
    let watched = flag::register_conditional_shutdown(SIGINT, i32::from(STOPPED), stop.clone())
        .and_then(|_| flag::register(SIGINT, stop.clone()));
    drop(held);
    watched.map_err(|why| Error::failed("cannot handle Ctrl-C", why, "is SIGINT blocked?"))?;
    Ok(stop)
}

/// The same for a caller that has to clean up and sleeps in `poll`: Ctrl-C, SIGTERM and SIGHUP set the flag,
/// and can be read from the pipe.
///
/// # Errors
/// As [`stop_flag`].
#[cfg(target_os = "linux")]
pub fn stop_pipe() -> Result<(Arc<AtomicBool>, std::os::unix::net::UnixStream), Error> {
    use signal_hook::consts::{SIGHUP, SIGTERM};
    use signal_hook::low_level::pipe;
    use std::os::unix::net::UnixStream;

    let held = Held::back();
    let stop = Arc::new(AtomicBool::new(false));
    let watch = || {
        let (signals, sender) = UnixStream::pair()?;
        flag::register_conditional_shutdown(SIGINT, i32::from(STOPPED), stop.clone())?;
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            flag::register(signal, stop.clone())?;
            pipe::register(signal, sender.try_clone()?)?;
        }
        Ok(signals)
    };
    let watched: std::io::Result<UnixStream> = watch();
    drop(held);
    let signals = watched
        .map_err(|why| Error::failed("cannot handle Ctrl-C", why, "are all descriptors in use?"))?;
    Ok((stop, signals))
}

/// While it lives, SIGINT is blocked for this thread (on Unix).
struct Held {
    #[cfg(unix)]
    before: libc::sigset_t,
}

#[cfg(not(unix))]
impl Held {
    fn back() -> Self {
        Self {}
    }
}

#[cfg(unix)]
impl Held {
    fn back() -> Self {
        let mut ours = std::mem::MaybeUninit::uninit();
        let mut before = std::mem::MaybeUninit::uninit();
        // SAFETY: both are written before they are read: `sigemptyset` and `pthread_sigmask` fail only for
        // numbers that are not signals or ways of changing a mask, and these are.
        unsafe {
            libc::sigemptyset(ours.as_mut_ptr());
            libc::sigaddset(ours.as_mut_ptr(), SIGINT);
            libc::pthread_sigmask(libc::SIG_BLOCK, ours.as_ptr(), before.as_mut_ptr());
            Self {
                before: before.assume_init(),
            }
        }
    }
}

#[cfg(unix)]
impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: a mask that `pthread_sigmask` returned.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, std::ptr::null_mut());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn a_signal_held_back_is_not_lost() {
        let stop = Arc::new(AtomicBool::new(false));
        let held = Held::back();
        // SAFETY: a signal to this thread, which blocks it.
        unsafe { libc::pthread_kill(libc::pthread_self(), SIGINT) };
        flag::register(SIGINT, stop.clone()).unwrap();
        assert!(!stop.load(Ordering::Relaxed));
        drop(held);
        assert!(stop.load(Ordering::Relaxed));
    }
}
