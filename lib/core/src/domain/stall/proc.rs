//! The kernel's data about a thread of this process. All of it is optional: `/proc` may not be mounted, and a
//! thread may end between two reads.

use crate::prim;

/// The letter of the thread's state.
pub(super) fn state(thread: u32) -> Option<char> {
    if thread == 0 {
        return None;
    }
    let mut text = [0; 512];
    state_in(prim::of_thread(thread, "stat", &mut text)?)
}

/// `tid (name) S …`: the name may contain anything, including parentheses, so the last one ends it.
fn state_in(stat: &str) -> Option<char> {
    let (_, rest) = stat.rsplit_once(')')?;
    let word = rest.split_ascii_whitespace().next()?;
    let mut letters = word.chars();
    letters
        .next()
        .filter(|c| c.is_ascii_alphabetic() && letters.next().is_none())
}

/// The kernel function in which it sleeps; none if the file is empty or `0`, which also stands for a hidden
/// one.
pub(super) fn wait_channel(thread: u32) -> Option<String> {
    if thread == 0 {
        return None;
    }
    let mut text = [0; 128];
    let name = prim::of_thread(thread, "wchan", &mut text)?;
    is_name(name).then(|| name.to_owned())
}

fn is_name(channel: &str) -> bool {
    !channel.is_empty() && channel != "0"
}

#[cfg(all(test, not(quiescent_model)))]
mod tests {
    use super::*;

    #[test]
    fn a_hidden_channel_has_no_name() {
        let names = ["", "0", "00", "do_wait", "0x1"].map(is_name);
        assert_eq!(names, [false, false, true, true, true]);
    }

    #[test]
    fn state_is_parsed_after_any_name() {
        for (stat, state) in [
            ("12 (slow) S 1 2 3", Some('S')),
            ("12 (a) R (b) D 1 2", Some('D')),
            ("12 (line\nbreak) t 1", Some('t')),
            ("12 () Z", Some('Z')),
            ("12 (cut off", None),
            ("12 (slow)", None),
            ("12 (slow) Sleeping", None),
            ("12 (slow) 7 8", None),
            ("", None),
        ] {
            assert_eq!(state_in(stat), state, "{stat:?}");
        }
    }

    #[test]
    fn missing_thread_has_no_state_and_no_wait_channel() {
        crate::needs!(linux);
        assert_eq!((state(0), wait_channel(0)), (None, None));
        assert_eq!((state(u32::MAX), wait_channel(u32::MAX)), (None, None));
        let me = sync_thread_id();
        assert_eq!(state(me), Some('R'));
    }

    /// What the kernel says of a thread that sleeps; `0` and nothing are no names.
    #[test]
    fn the_wait_channel_is_the_kernel_s() {
        crate::needs!(linux);
        let (sender, receiver) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                sender.send(sync_thread_id()).expect("the test waits");
                let _ = ended.recv();
            });
            let sleeper = receiver.recv().expect("it starts");
            while state(sleeper) != Some('S') {
                std::thread::yield_now();
            }
            let file = format!("/proc/self/task/{sleeper}/wchan");
            // It may be woken between the two looks, though for nothing, and then sleeps again.
            let are_equal = (0..1000).any(|_| {
                let says = std::fs::read_to_string(&file).unwrap_or_default();
                wait_channel(sleeper) == Some(says).filter(|it| is_name(it))
            });
            assert!(are_equal);
            drop(end);
        });
    }

    fn sync_thread_id() -> u32 {
        crate::prim::thread_id()
    }
}
