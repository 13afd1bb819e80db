//! What the kernel tells about a thread of this process. All of it may be missing: `/proc` may not be
//! mounted, and a thread may end between two looks.

use std::fs;

fn read(thread: u32, file: &str) -> Option<String> {
    let path = format!("/proc/self/task/{thread}/{file}");
    let bytes = fs::read(path).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The letter of its state.
pub(super) fn state(thread: u32) -> Option<char> {
    if thread == 0 {
        return None;
    }
    state_in(&read(thread, "stat")?)
}

/// `tid (name) S …`: the name may hold anything, parentheses too, so the last one counts.
fn state_in(stat: &str) -> Option<char> {
    let (_, rest) = stat.rsplit_once(')')?;
    let word = rest.split_ascii_whitespace().next()?;
    let mut letters = word.chars();
    letters
        .next()
        .filter(|c| c.is_ascii_alphabetic() && letters.next().is_none())
}

/// The function of the kernel that it sleeps in: `0` and nothing stand for none, or for a secret.
pub(super) fn wait_channel(thread: u32) -> Option<String> {
    if thread == 0 {
        return None;
    }
    read(thread, "wchan").filter(|name| !name.is_empty() && name != "0")
}

#[cfg(all(test, not(quiescent_model)))]
mod tests {
    use super::*;

    #[test]
    fn the_state_is_found_behind_any_name() {
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
    fn a_thread_that_is_not_there_has_neither_state_nor_place() {
        assert_eq!((state(0), wait_channel(0)), (None, None));
        assert_eq!((state(u32::MAX), wait_channel(u32::MAX)), (None, None));
        let me = sync_thread_id();
        assert_eq!(state(me), Some('R'));
    }

    fn sync_thread_id() -> u32 {
        crate::inner::prim::thread_id()
    }
}
