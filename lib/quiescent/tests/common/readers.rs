//! Threads that stay at a fixed point: inside a section, or registered and outside.

use std::sync::mpsc;
use std::thread::JoinHandle;

use super::thread_id;

/// A thread that waits until the test ends it.
pub struct Reader {
    end: mpsc::Sender<()>,
    thread: JoinHandle<()>,
    /// The kernel's number of the thread.
    pub thread_id: u32,
}

impl Reader {
    /// A thread inside a section.
    pub fn inside(name: &str) -> Reader {
        Reader::start(name, true)
    }

    /// A registered thread, outside every section.
    pub fn idle(name: &str) -> Reader {
        Reader::start(name, false)
    }

    fn start(name: &str, inside: bool) -> Reader {
        let (end, ended) = mpsc::channel::<()>();
        let (ready, is_ready) = mpsc::channel();
        let body = move || {
            let guard = quiescent::read_lock();
            let kept = inside.then_some(guard);
            ready.send(thread_id()).expect("the maker waits");
            let _ = ended.recv();
            drop(kept);
        };
        let builder = std::thread::Builder::new()
            .name(name.into())
            .stack_size(64 << 10);
        let thread = builder.spawn(body).expect("a thread");
        let thread_id = is_ready.recv().expect("the thread reads");
        Reader {
            end,
            thread,
            thread_id,
        }
    }

    /// Lets the thread leave its section and end, and waits until it is gone.
    pub fn end(self) {
        drop(self.end);
        self.thread.join().expect("a reader does not panic");
    }
}
