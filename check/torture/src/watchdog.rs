//! Watches the run: the time, pauses, threads that hang, queued entries that are not served.
//!
//! A thread hangs when it reports no progress for the patience. (No turn of any thread takes more than half a
//! second by itself; longer turns wait for the library.) An entry is late when it has been queued for that
//! long: a lazy object waits for ten seconds, and a grace period.

use std::fmt::Write as _;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::book::finding::Finding;
use crate::book::kind::Kind;
use crate::book::numbers::Numbers;
use crate::book::world::World;

/// The unit in which the run counts time.
pub const TICK: Duration = Duration::from_millis(100);

/// The state of the watchdog.
pub struct Watchdog {
    world: &'static World,
    start: Instant,
    /// Each thread's progress count, and when it last changed.
    beats: Vec<(u64, Instant)>,
    numbers: Numbers,
    /// The time of the next pause or continuation.
    turn: Instant,
    paused: bool,
}

impl Watchdog {
    /// The state at the start.
    pub fn new(world: &'static World) -> Watchdog {
        let start = Instant::now();
        Watchdog {
            world,
            start,
            beats: vec![(0, start); world.places.len()],
            numbers: Numbers::new(world.options.seed, u64::MAX / 2),
            turn: start + Duration::from_secs(2),
            paused: false,
        }
    }

    /// Checks everything; notes findings, and returns their texts.
    pub fn look(&mut self) -> Option<String> {
        let ticks = self.start.elapsed().as_millis() / TICK.as_millis();
        self.world.set_now(ticks as u32);
        self.stutter();
        self.hanging().or_else(|| self.late())
    }

    /// All actors pause together, every few seconds, so that everything becomes idle.
    fn stutter(&mut self) {
        let now = Instant::now();
        let most = self.world.options.delays.pause_ms;
        if now >= self.turn && most > 0 {
            self.paused = !self.paused;
            self.world.pause(self.paused);
            let milliseconds = match self.paused {
                true => 1 + self.numbers.next() % most,
                false => 1000 + self.numbers.next() % 5000,
            };
            self.turn = now + Duration::from_millis(milliseconds);
        }
    }

    fn hanging(&mut self) -> Option<String> {
        let now = Instant::now();
        let mut text = String::new();
        for (place, (beat, since)) in self.world.places.iter().zip(&mut self.beats) {
            let (last, thread) = (
                place.beat.load(Ordering::Relaxed),
                place.thread.load(Ordering::Relaxed),
            );
            if last != *beat || thread == 0 || self.paused {
                (*beat, *since) = (last, now);
            } else if now - *since > self.world.options.patience {
                let doing = place.doing.load(Ordering::Relaxed).checked_sub(1);
                let kind = doing.map(|kind| Kind::ALL[usize::from(kind)]);
                Finding::Hang.note(kind, thread as u64);
                let what = kind.map_or("nothing that waits", Kind::name);
                let name = place.role.name();
                let _ = writeln!(text, "thread {thread} ({name}) hangs, busy with {what}");
            }
        }
        (!text.is_empty()).then_some(text)
    }

    fn late(&self) -> Option<String> {
        let now = self.world.now();
        if !now.is_multiple_of(10) {
            return None; // many entries: once a second is enough
        }
        let patience = (self.world.options.patience.as_millis() / TICK.as_millis()) as u32;
        for place in &self.world.places {
            for entry in place.ledger.entries() {
                if let Some(since) = entry.queued_since().filter(|since| since + patience < now) {
                    // A caller that waits hangs; that is reported for its thread.
                    Finding::Late.note(Some(entry.kind()), entry.word());
                    let (kind, role) = (entry.kind().name(), place.role.name());
                    let ago = (now - since) / 10;
                    let text =
                        format!("{kind} by a {role} thread, queued {ago} s ago: not served\n");
                    return Some(text);
                }
            }
        }
        None
    }
}
