//! Numbers and names of threads, where the system tells no other thread about them: noted when a thread asks
//! for its number, which a reader does when it is registered, and forgotten when the thread ends.

use std::cell::Cell;
use std::fs::File;
use std::io::Read;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// Sorted by number. Without memory a name is not noted.
static NAMES: Mutex<Vec<(u32, Box<str>)>> = Mutex::new(Vec::new());

/// The number of a thread that has asked for it, or 0.
struct Number(Cell<u32>);

thread_local! {
    static OWN: Number = const { Number(Cell::new(0)) };
}

impl Drop for Number {
    fn drop(&mut self) {
        with(self.0.get(), |names, place| {
            place.map(|it| names.remove(it))
        })
        .ok();
    }
}

/// Calls `change` with all names, and the place of this number, or where it would be.
fn with<T>(
    number: u32,
    change: impl FnOnce(&mut Vec<(u32, Box<str>)>, Result<usize, usize>) -> T,
) -> T {
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let place = names.binary_search_by_key(&number, |it| it.0);
    change(&mut names, place)
}

/// The number of this thread: what `known` says if it is asked first, and after.
pub fn numbered(known: impl Fn() -> u32) -> u32 {
    let own = |own: &Number| {
        if own.0.get() == 0 {
            own.0.set(known());
            note(own.0.get());
        }
        own.0.get()
    };
    OWN.try_with(own).unwrap_or_else(|_| known())
}

fn note(number: u32) {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("unnamed").into();
    with(number, |names, place| match place {
        Ok(place) => names[place].1 = name, // of a thread that has ended
        Err(place) if names.try_reserve(1).is_ok() => names.insert(place, (number, name)),
        Err(_) => {}
    });
}

/// The number of this thread: the kernel's on Linux, where tests know it, elsewhere counted from 1.
pub fn thread_id() -> u32 {
    static LAST: AtomicU32 = AtomicU32::new(0);
    numbered(|| {
        let counted = || LAST.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let known = cfg!(all(target_os = "linux", not(miri)))
            .then(number_in_proc)
            .flatten();
        known.unwrap_or_else(counted)
    })
}

fn number_in_proc() -> Option<u32> {
    let own = std::fs::read_link("/proc/thread-self").ok()?;
    own.file_name()?.to_str()?.parse().ok()
}

/// The name of a thread that has asked for its number, and has not ended.
pub fn thread_name(number: u32) -> Option<String> {
    with(number, |names, place| {
        place.ok().map(|place| names[place].1.to_string())
    })
}

/// The beginning of the kernel's file about a thread of this process: on Linux, where threads have its
/// numbers.
pub fn of_thread<'t>(thread: u32, file: &str, text: &'t mut [u8]) -> Option<&'t str> {
    if cfg!(miri) {
        return None;
    }
    let path = format!("/proc/self/task/{thread}/{file}");
    let length = File::open(path).ok()?.read(text).ok()?;
    text.get(..length)?
        .utf8_chunks()
        .next()
        .map(|chunk| chunk.valid())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_its_name_until_it_ends() {
        let (sender, numbers) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::Builder::new().name("named".into());
        let thread = thread.spawn(move || {
            sender
                .send((thread_id(), thread_id()))
                .expect("the test waits");
            let _ = ended.recv();
        });
        let (number, again) = numbers.recv().expect("it is sent");
        assert_eq!(number, again);
        assert_eq!(thread_name(number).as_deref(), Some("named"));
        drop(end);
        thread.expect("a thread").join().expect("no panic");
        assert_eq!(thread_name(number), None);
    }
}
