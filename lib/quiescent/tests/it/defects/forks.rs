//! The child of a fork finds the writers' lock of a list held by a thread that does not exist there.

use std::sync::mpsc;
use std::thread;

use quiescent::{RcuList, read};

use crate::common::children::in_child;
use crate::common::{isolated, sleepers, until};

#[track_caller]
fn assert_is(list: &RcuList<u32>, elements: &[u32]) {
    assert!(read(|guard| list.iter(guard).eq(elements)));
}

#[test]
fn a_child_writes_to_a_list_that_another_thread_was_writing_to() {
    needs!(fork);
    isolated(|| {
        static LIST: RcuList<u32> = RcuList::new();
        LIST.push_front(1);
        let (inside, is_inside) = mpsc::channel();
        let (go_on, may_go_on) = mpsc::channel::<()>();
        let writer = thread::spawn(move || {
            LIST.retain(|_| {
                inside.send(()).expect("the test waits");
                may_go_on.recv().is_ok()
            });
        });
        is_inside.recv().expect("it writes");
        in_child(|| {
            LIST.push_front(2);
            assert_is(&LIST, &[2, 1]);
            thread::scope(|scope| {
                for n in 0..4 {
                    scope.spawn(move || (0..100).for_each(|_| LIST.push_front(n)));
                }
            });
            // And so can its own children.
            in_child(|| {
                assert_eq!(LIST.retain(|&n| n > 3), 402);
                assert_is(&LIST, &[]);
            });
        });
        assert_is(&LIST, &[1]);
        go_on.send(()).expect("it waits");
        writer.join().expect("no panic");
        LIST.push_front(3);
        assert_is(&LIST, &[3, 1]);
    });
}

/// The thread that forks may be the writer, and then it still is one in the child.
#[test]
fn a_child_of_a_writer_goes_on_writing() {
    needs!(fork);
    isolated(|| {
        static LIST: RcuList<u32> = RcuList::new();
        for n in 0..3 {
            LIST.push_front(n);
        }
        LIST.retain(|&n| {
            if n == 1 {
                in_child(|| {
                    thread::scope(|scope| {
                        let push = || LIST.push_front(9);
                        let others = sleepers(scope, 2, push);
                        assert!(others.iter().all(|other| !other.is_finished()));
                        assert_is(&LIST, &[2, 1, 0]);
                        // SAFETY: takes a number: the writer never comes back.
                        unsafe { libc::_exit(0) };
                    });
                });
            }
            n != 1
        });
        assert_is(&LIST, &[2, 0]);
        // The child comes back from the closure, and others write after it.
        // SAFETY: the child makes only calls that this library permits there.
        let fork = || unsafe { libc::fork() };
        let mut child = -1;
        LIST.retain(|&n| {
            if n == 2 {
                child = fork();
            }
            true
        });
        if child == 0 {
            crate::common::children::limit();
            thread::spawn(|| LIST.push_front(5))
                .join()
                .expect("no panic");
            assert_is(&LIST, &[5, 2, 0]);
            // SAFETY: takes a number.
            unsafe { libc::_exit(7) };
        }
        let mut status = 0;
        // SAFETY: `status` is writable.
        until("the child ends", || unsafe {
            libc::waitpid(child, &mut status, libc::WNOHANG) == child
        });
        assert_eq!(
            (libc::WIFEXITED(status), libc::WEXITSTATUS(status)),
            (true, 7)
        );
    });
}

/// A new thread of the child holds the lock as a thread of any process does, also the first of them.
#[test]
fn threads_of_a_child_wait_for_each_other() {
    isolated(|| {
        static LIST: RcuList<u32> = RcuList::new();
        LIST.push_front(1);
        in_child(|| {
            let (inside, is_inside) = mpsc::channel();
            let (go_on, may_go_on) = mpsc::channel::<()>();
            thread::scope(|scope| {
                let first = scope.spawn(move || {
                    LIST.retain(|_| {
                        inside.send(()).expect("the test waits");
                        may_go_on.recv().is_ok()
                    });
                });
                is_inside.recv().expect("it writes");
                // They sleep, all at once: none of them has the lock, and none looks again and again.
                let others = sleepers(scope, 3, || LIST.push_front(2));
                assert!(!others.iter().any(|it| it.is_finished()));
                assert_is(&LIST, &[1]);
                go_on.send(()).expect("it waits");
                first.join().expect("no panic");
            });
            assert_is(&LIST, &[2, 2, 2, 1]);
        });
    });
}
