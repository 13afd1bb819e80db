//! A program for unit tests: each test has its own environment, without workers.

use std::cell::RefCell;

use crate::parts::env::Env;
use crate::parts::shell::Shell;
use crate::parts::state::State;
use crate::queue::meter::Meter;
use crate::queue::per_thread::Queue;
use crate::reader::counted::Counted;
use crate::reader::local::{Here, Local};
use crate::reader::registration::Keeper;
use crate::reader::word::{self, Reader};

/// A program without workers that discards all reports.
#[derive(Debug)]
pub struct Program {
    pub env: Env,
}

thread_local! {
    /// The locals of this thread, by program.
    static LOCALS: RefCell<Vec<(*const Program, &'static Local)>> = const { RefCell::new(Vec::new()) };
}

/// A new program, leaked.
pub fn program() -> &'static Program {
    let place = Box::leak(Box::<Program>::new_uninit()).as_mut_ptr();
    // SAFETY: the environment is created at the address it is given.
    unsafe {
        let env = Env::new(&raw const (*place).env, State::config(), &*place);
        place.write(Program { env });
        (*place).env.threads.mode.resolve();
        &*place
    }
}

/// A leaked queue of the home state of a new program.
pub fn queue(cpu: u32) -> &'static Queue {
    let env = &program().env;
    let state = std::ptr::from_ref(&env.state).cast();
    // SAFETY: the state lives forever.
    unsafe { Queue::leak(cpu, &env.common, state) }.expect("memory for a test")
}

impl Program {
    pub fn enter(&'static self, counted: &'static Counted) -> usize {
        let count = counted.joined();
        counted.enter_anew(count, &self.local(), &self.env.threads);
        count
    }

    pub fn leave(&'static self, counted: &'static Counted, count: usize) -> bool {
        counted.leave_anew(count, &self.local(), &self.env.threads)
    }

    pub fn lock(&'static self) -> &'static Reader {
        self.env.threads.lock(&self.local())
    }

    pub fn unlock(&'static self, reader: &'static Reader) {
        if word::end(reader) {
            self.env.unlock_slowly(&self.local(), reader);
        }
    }

    pub fn repin(&'static self, reader: &'static Reader) -> &'static Reader {
        match word::is_flagged(reader) {
            true => self.env.repin_slowly(&self.local(), reader),
            false => reader,
        }
    }

    pub fn in_section(&self) -> bool {
        self.env.threads.in_section(&self.local())
    }
}

// SAFETY: each thread has one local for each program.
unsafe impl Keeper for Program {
    fn local(&self) -> Here {
        LOCALS.with_borrow_mut(|locals| {
            let known = locals.iter().find(|(of, _)| std::ptr::eq(*of, self));
            let known = known.map(|(_, local)| *local);
            let local = known.unwrap_or_else(|| {
                // SAFETY: these are parts of a program, and programs live forever.
                let new = unsafe { Local::new(&self.env.threads, &self.env.common) };
                Box::leak(Box::new(new))
            });
            if known.is_none() {
                locals.push((self, local));
            }
            // SAFETY: the local belongs to this thread.
            unsafe { Here::new(local) }
        })
    }
}

impl Meter for Program {}

impl Shell for Program {}
