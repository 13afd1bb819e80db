//! Descriptors: the child has its own, and closes none that are not the library's.

use std::fs;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};
use std::sync::atomic::Ordering;

use quiescent::{defer, statistics};
use quiescent_core::needs;

use super::everything_works;
use crate::common::children::in_child;
use crate::common::deferral::{Ledger, flag, until_at_rest};
use crate::common::{isolated, until};

/// Timers, events and epolls of this process.
fn anonymous() -> Vec<i32> {
    let open = fs::read_dir("/proc/self/fd").expect("/proc");
    let is_ours = |path: &fs::DirEntry| {
        fs::read_link(path.path()).is_ok_and(|to| {
            let to = to.to_string_lossy().into_owned();
            ["[timerfd]", "[eventfd]", "[eventpoll]"]
                .iter()
                .any(|kind| to.ends_with(kind))
        })
    };
    open.flatten()
        .filter(is_ours)
        .filter_map(|path| path.file_name().to_str()?.parse().ok())
        .collect()
}

/// Do two descriptors of two processes stand for one open file?
fn is_same(of: libc::pid_t, fd: i32, own: i32) -> bool {
    const KCMP_FILE: i32 = 0;
    // SAFETY: takes numbers only.
    let order = unsafe { libc::syscall(libc::SYS_kcmp, of, libc::getpid(), KCMP_FILE, fd, own) };
    assert!(order >= 0, "kcmp: {}", std::io::Error::last_os_error());
    order == 0
}

#[test]
fn no_descriptor_is_shared_with_the_parent() {
    needs!(fork);
    isolated(|| {
        everything_works();
        let parents = anonymous();
        assert_eq!(parents.len(), 4, "two timers, an event, an epoll");
        in_child(|| {
            assert_eq!(anonymous(), [0i32; 0], "what was inherited is closed");
            everything_works();
            let own = anonymous();
            assert_eq!(own.len(), 4);
            // SAFETY: neither has arguments.
            let (parent, own_pid) = unsafe { (libc::getppid(), libc::getpid()) };
            for &theirs in &parents {
                for &ours in &own {
                    assert!(!is_same(parent, theirs, ours), "{theirs} is {ours}");
                }
            }
            // The comparison can fail.
            assert!(is_same(own_pid, own[0], own[0]));
        });
        assert_eq!(anonymous(), parents);
    });
}

/// A timer that the child set would fire in the parent, which would not set its own again.
#[test]
fn the_timer_of_the_parent_is_its_own() {
    needs!(fork);
    isolated(|| {
        everything_works();
        let ledger = Ledger::new(200);
        for n in 0..100 {
            let thing = ledger.thing(2 * n);
            drop(quiescent::RcuCell::new(Some(thing)).store(None)); // lazy: the timer is far away
            if n % 20 == 0 {
                in_child(|| {
                    let ran = flag();
                    defer(|| ran.store(true, Ordering::Release));
                    until("the child's timer fires", || ran.load(Ordering::Acquire));
                });
            }
            let thing = ledger.thing(2 * n + 1);
            defer(move || drop(thing));
        }
        until("the parent's timer fires", || ledger.count() == 200);
        ledger.assert_all_once();
        until_at_rest();
    });
}

/// A daemon closes all descriptors, and what it opens then gets their numbers.
#[test]
fn what_the_program_opened_in_place_of_ours_stays_open() {
    needs!(fork);
    isolated(|| {
        everything_works();
        let ours = anonymous();
        let mut ends = [0; 2];
        // SAFETY: room for two numbers.
        assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
        for &fd in &ours {
            // SAFETY: the writing end, in place of a descriptor of the library's: that is the test.
            assert_eq!(unsafe { libc::dup2(ends[1], fd) }, fd);
        }
        // SAFETY: both are open, and used only here.
        let [reading, writing] = ends.map(|fd| unsafe { OwnedFd::from_raw_fd(fd) });
        in_child(|| {
            for &fd in &ours {
                // SAFETY: asks for flags.
                let flags = unsafe { libc::fcntl(fd, libc::F_GETFD) };
                assert!(flags >= 0, "{fd} was closed");
            }
            let mut writing = fs::File::from(writing);
            writing.write_all(b"x").expect("the pipe is open");
            assert!(!ours.contains(&writing.as_raw_fd()));
            let _ = writing.into_raw_fd();
            everything_works();
        });
        let mut text = [0];
        fs::File::from(reading)
            .read_exact(&mut text)
            .expect("the child wrote");
        assert_eq!(statistics().forks, 0);
    });
}
