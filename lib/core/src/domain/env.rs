//! The environment that all domains of a process share: registered threads, fences, the worker's alarm, the
//! host.

use crate::domain::error::InitError;
use crate::domain::host::Host;
use crate::domain::life::Domain;
use crate::domain::settings::Settings;
use crate::domain::state::State;
use crate::prim::alarm::Alarm;
use crate::prim::asking::{Asking, SPIN};
use crate::prim::counters::{Counter, add};
use crate::prim::fences::{Fences, Whose};
use crate::prim::linked::List;
use crate::prim::{self, AtomicU64, LEAF_SLOTS, full_fence, linked};
use crate::queue::block::Block;
use crate::queue::common::Common;
use crate::queue::meter::{CountsOf, PROCESS};
use crate::reader::local::{Here, Local};
use crate::reader::registration::Threads;
use crate::reader::set::DomainReaders;
use crate::reader::threads::{Slot, SlotLeaves};
use crate::reader::word::Reader;

/// The environment of a process.
#[derive(Debug)]
pub struct Env {
    pub threads: Threads,
    pub common: Common,
    pub fences: Fences,
    pub asking: Asking,
    /// The process's domain, and its state.
    pub home: Domain,
    pub state: State,
    /// The domains of the program.
    pub registry: Registry,
    pub alarm: Alarm,
    pub host: &'static dyn Host,
}

/// The domains of the program.
#[derive(Debug)]
pub struct Registry {
    /// All of them, the newest first.
    pub domains: List<Domain>,
    /// All of their states, for leak checkers only: they follow pointers from statics and through what the
    /// allocator has made, and domains are in pages of the kernel.
    pub states: List<State>,
    /// Number of domains created.
    #[cfg_attr(
        quiescent_model,
        allow(dead_code, reason = "a model's have numbers of their own")
    )]
    pub made: AtomicU64,
    /// The next identity. Domain numbers start at 1 and are the first identities; later identities start at
    /// 2^32, above those.
    ids: Counter,
}

impl Registry {
    const_new! {
        pub fn new() -> Registry {
            Registry {
                domains: List::new(),
                states: List::new(),
                made: AtomicU64::new(0),
                ids: Counter::new(1 << 32),
            }
        }
    }

    /// An identity that no owner has had.
    pub fn next_id(&self) -> u64 {
        self.ids.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
    }
}

/// All states. One function for all loops: none is on a hot path.
#[derive(Debug)]
pub struct States {
    home: Option<&'static State>,
    others: linked::Iter<Domain>,
}

impl Iterator for States {
    type Item = &'static State;

    #[inline(never)]
    fn next(&mut self) -> Option<&'static State> {
        if let Some(home) = self.home.take() {
            return Some(home);
        }
        loop {
            if let Some(state) = self.others.next()?.state_if_any() {
                return Some(state);
            }
        }
    }
}

/// The large parts of an environment that are zeros at first. In a static of their own they take no room in
/// the program's file.
#[derive(Debug)]
pub struct Zeros {
    leaves: SlotLeaves,
    /// What threads without a queue push into. Its content is unused.
    nothing: Block,
}

impl Zeros {
    const_new! {
        pub fn new() -> Zeros {
            Zeros { leaves: SlotLeaves::new(), nothing: Block::new() }
        }
    }
}

impl Env {
    const_new! {
        /// # Safety
        /// The environment is placed at `place`, stays there forever, and is part of `host`. No other one
        /// has these `zeros`.
        pub unsafe fn new<S: Host + 'static>(
            place: *const Env,
            config: quiescent_engine::Config,
            host: &'static S,
            counts: CountsOf,
            zeros: &'static Zeros,
        ) -> Env {
            // SAFETY: addresses inside the place that the caller promises; nothing is read.
            let (home, state, common) = unsafe {
                (
                    &raw const (*place).home,
                    &raw const (*place).state,
                    &raw const (*place).common,
                )
            };
            Env {
                threads: Threads::new(host, &zeros.leaves),
                // SAFETY: the caller's promise.
                common: unsafe { Common::new(common, state.cast(), counts, &zeros.nothing) },
                fences: Fences::new(),
                asking: Asking::new(),
                // SAFETY: the caller's promise.
                home: unsafe {
                    Domain::new(0, DomainReaders::Threads, Settings::new(&config, PROCESS), place)
                },
                // SAFETY: the caller's promise.
                state: unsafe { State::new(state, config, home, common, &zeros.nothing) },
                registry: Registry::new(),
                alarm: Alarm::new(),
                host,
            }
        }
    }

    /// The calling thread's local.
    pub fn local(&self) -> Here {
        self.threads.local()
    }

    /// The calling thread's slot, if it has one.
    pub fn own_slot(&self) -> Option<&'static Slot> {
        self.threads.own_slot(&self.local())
    }

    /// Lets the host copy the counters, which have changed, if there is a page for them. Called with no lock
    /// held.
    #[inline]
    pub fn publish(&self) {
        if self.common.meter.is_open() {
            self.host.publish();
        }
    }

    /// All states: the process's, and those of the program's domains.
    pub fn states(&'static self) -> States {
        States {
            home: Some(&self.state),
            others: self.registry.domains.iter(),
        }
    }

    /// Runs code of the program on the worker, watched as a callback is.
    pub fn watched(&'static self, name: fn() -> &'static str, run: impl FnOnce()) {
        self.host.begin(name);
        run();
        self.host.end();
    }

    /// Runs code of the program in which waiting is forbidden, as in a callback.
    pub fn marked(&self, run: impl FnOnce()) {
        let _marked = Marked::new(self.local());
        run();
    }

    /// The fence of a grace period: reaches every CPU that runs one of our readers. Callers that need one at
    /// the same time share it.
    /// One serves `needs` callers, provided that none has to precede another.
    pub fn heavy_fence(&self, needs: u64) -> Result<(), i32> {
        if !self.threads.mode.updaters_fence() {
            full_fence(); // of this thread only
            return Ok(());
        }
        let whose = self.fences.pass(prim::heavy_fence)?;
        let own = u64::from(whose == Whose::Own);
        add(&self.state.counters.fences_shared, needs - own);
        Ok(())
    }

    /// One fence for the deferred work of `needs` domains (of `domain` alone, if that is given). First the
    /// threads are asked to execute one themselves; the time of a fence that interrupts is returned for the
    /// engine (rule R7).
    pub fn deferred_fence_for(&self, needs: u64, domain: Option<&Domain>) -> Fenced {
        if !self.threads.mode.updaters_fence() {
            return self.heavy_fence(needs).map(|()| None);
        }
        let begun = prim::now_ns();
        if !self.ask(domain, begun.saturating_add(prim::ASK_NS)) {
            self.heavy_fence(needs)?;
        }
        let ended = prim::now_ns();
        Ok(Some(FenceTime {
            took_ns: ended.saturating_sub(begun) / needs,
            ended_ns: ended,
        }))
    }

    /// Asks every present thread for a fence ([`asking`](crate::prim::asking)). False: some have not answered
    /// before `deadline`, or were not asked.
    fn ask(&self, domain: Option<&Domain>, deadline: u64) -> bool {
        let slots = &self.threads.slots;
        let most = slots.most_asked();
        if most == 0 || !self.asking.is_due() {
            return false;
        }
        let own = self.own_slot();
        full_fence(); // [ASK-3]
        let mut asked: [Option<&Slot>; prim::MOST_ASKED] = [None; prim::MOST_ASKED];
        let mut count = 0;
        for slot in slots.claimed() {
            if own.is_some_and(|own| std::ptr::eq(own, slot)) {
                continue;
            }
            match asked.get_mut(count) {
                Some(place) if count < most => *place = Some(slot),
                _ => return false,
            }
            count += 1;
        }
        let number = self.asking.ask();
        for slot in asked.iter().map_while(|slot| *slot) {
            put_question(slot, domain);
        }
        let mut answers = asked.iter().map_while(|slot| *slot);
        let all = answers.all(|slot| self.answered(slot, number, deadline));
        add(&self.state.counters.fences_asked, 1);
        add(&self.state.counters.fences_answered, u64::from(all));
        self.asking.is_over(all);
        all
    }

    /// Waits for a slot's answer. False: there is none before `deadline`.
    #[inline(never)]
    fn answered(&self, slot: &Slot, number: u64, deadline: u64) -> bool {
        while !slot.answer.covers(number) {
            if prim::now_ns() >= deadline {
                return false;
            }
            prim::spin(SPIN);
        }
        true
    }

    /// The calling thread answers if it is asked for a fence by this word, its own. Lock-free, and safe in a
    /// signal handler at any instruction.
    #[inline]
    pub fn answer_if_asked(&self, local: &Local, reader: &Reader) {
        let slot = (reader.is_asked()).then(|| self.threads.own_slot(local));
        if let Some(slot) = slot.flatten() {
            reader.unask(); // before the load of the number: a question that comes later sets it again
            self.asking.answer(&slot.answer);
        }
    }

    /// The same in the slow path of a push.
    #[inline]
    pub fn answer_at_push(&self) {
        let local = self.local();
        if let Some(slot) = self.threads.own_slot(&local) {
            self.answer_if_asked(&local, &slot.words.reader);
        }
    }

    /// Limits the number of thread slots.
    pub fn limit_threads(&self, threads: u32) -> Result<(), InitError> {
        let most = (prim::MAX_LEAVES * LEAF_SLOTS) as u32 - 2;
        if threads == 0 || threads > most {
            return Err(InitError::BadMaxThreads {
                asked: threads,
                most,
            });
        }
        self.threads
            .slots
            .limit_leaves((threads + 2).div_ceil(LEAF_SLOTS as u32));
        Ok(())
    }
}

/// Asks a thread for a fence, at the next end of a section or push, here or in the domain.
#[inline(never)]
fn put_question(slot: &Slot, domain: Option<&Domain>) {
    slot.words.reader.ask();
    if let Some(queue) = slot.queue.queue() {
        queue.lower_limits();
    }
    if let Some(domain) = domain {
        domain.ask(slot);
    }
}

/// The time of a fence, for the engine: a domain's part of what it took, and when it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FenceTime {
    pub took_ns: u64,
    pub ended_ns: u64,
}

/// The result of a fence: its time, if that counts, or the `errno` with which it was refused.
pub type Fenced = Result<Option<FenceTime>, i32>;

/// Marks the calling thread as running a callback until dropped, also while a panic unwinds.
pub struct Marked(Here);

impl Marked {
    pub fn new(local: Here) -> Marked {
        local.enter_callback();
        Marked(local)
    }
}

impl Drop for Marked {
    fn drop(&mut self) {
        self.0.leave_callback();
    }
}

#[cfg(all(test, not(quiescent_model)))]
mod tests;
