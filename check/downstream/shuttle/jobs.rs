//! What a user may have written: a table of jobs that threads read while others replace it. In a model each
//! table notes its end, so that a reader of a freed one is noticed.

use quiescent::{RcuCell, read, synchronize};
use shuttle::sync::atomic::{AtomicBool, Ordering};

/// A table, and whether it is there.
#[derive(Debug)]
pub struct Jobs {
    pub names: Vec<u32>,
    lives: AtomicBool,
}

impl Jobs {
    pub fn new(names: Vec<u32>) -> Jobs {
        let lives = AtomicBool::new(true);
        Jobs { names, lives }
    }
}

impl Drop for Jobs {
    fn drop(&mut self) {
        self.lives.store(false, Ordering::SeqCst);
    }
}

/// The tables that are valid now, under a lock for writers.
#[derive(Debug)]
pub struct Board(RcuCell<Jobs>, shuttle::sync::Mutex<()>);

impl Board {
    pub fn new(names: Vec<u32>) -> Board {
        Board(
            RcuCell::new(Jobs::new(names)),
            shuttle::sync::Mutex::new(()),
        )
    }

    /// The number of jobs.
    pub fn count(&self) -> usize {
        read(|guard| {
            let jobs = self.0.load(guard);
            assert!(jobs.lives.load(Ordering::SeqCst), "a freed table was read");
            jobs.names.len()
        })
    }

    /// **Wrong**: the table is used after the section.
    pub fn count_unguarded(&self) -> usize {
        let jobs: *const Jobs = read(|guard| std::ptr::from_ref(self.0.load(guard)));
        // SAFETY: there is no reason why this would be sound.
        let lives = unsafe { &(*jobs).lives };
        assert!(lives.load(Ordering::SeqCst), "a freed table was read");
        0
    }

    /// Adds a job, and waits until no reader uses the table before.
    pub fn add(&self, name: u32) {
        let _writer = self.1.lock().expect("no writer panics");
        let names = read(|guard| [&*self.0.load(guard).names, &[name]].concat());
        self.0.store(Jobs::new(names)).wait();
    }

    /// Adds a job. The table before is freed after a grace period that is waited for here.
    pub fn add_later(&self, name: u32) {
        let _writer = self.1.lock().expect("no writer panics");
        let names = read(|guard| [&*self.0.load(guard).names, &[name]].concat());
        self.0.store(Jobs::new(names));
        synchronize();
    }
}
