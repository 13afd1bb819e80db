//! Governors: the state that a CPU going idle requests, and whether its tick stays.
//!
//! [`Menu`] is the kernel's `menu`, by what its administrators' guide says (`admin-guide/pm/cpuidle`) and
//! what was observed on Linux 6.12. It guesses how long the CPU will be idle:
//!
//! 1. *Typical interval*: of the last eight idle times the average, if they hardly vary: by 20 us at most (a
//!    variance of 400 us²), or if the average is more than six standard deviations. Otherwise the longest one
//!    is left out, and so on while six are left. If nothing comes of it there is no typical interval.
//! 2. *Next timer*: if that interval is not short, or the tick is stopped already, the time to the next
//!    timer, the tick left out, times a correction: a running average (an eighth each time) of which share of
//!    such a time it came to, one for each magnitude of the time (below 10 us, 100 us, … 100 ms, and more).
//!    The guess is the smaller of the two.
//! 3. With the tick stopped, a guess below a tick is not believed: if it is wrong nothing would wake the CPU
//!    to a better one. The time to the next timer counts.
//! 4. The deepest state that is worth it for so long, and whose exit is within the latency that is allowed.
//! 5. The tick goes on if the guess is below a tick, or no state is within the allowed latency; and then the
//!    state has to be worth it until the tick at most.
//!
//! When the CPU wakes it learns: the idle time joins the eight, and the correction of the used magnitude is
//! updated. A CPU that was woken by the tick which the governor had kept would have been idle for longer: the
//! time to the next timer counts, up to [`LONG`]. Without this rule a CPU with one short sleep would keep its
//! tick for ever.
//!
//! What the guide does not say: what "not short" is ([`SHORT`], from memory), and that what is longer than
//! [`INTERESTING`] counts as a correct guess (from memory too; no state of any table is that far).

use super::table::IdleState;

/// A typical interval up to this is short: the next timer is not looked at. In nanoseconds.
const SHORT: u64 = 15_000;

/// Idle times beyond this make no difference, in nanoseconds.
const INTERESTING: u64 = 50_000_000;

/// What an idle time counts as that the kept tick ended, at most.
const LONG: u64 = INTERESTING / 10 * 9;

/// Idle times that are remembered.
const KEPT: usize = 8;

/// As few of them make a typical interval.
const FEWEST: usize = 6;

/// A correction of one, in its units.
const ONE: u64 = 8192;

/// Which rules choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Governor {
    /// The kernel's `menu`.
    Menu,
    /// The deepest state that the latency limit allows, always; the tick always stops.
    Deepest,
    /// The shallowest one, always; the tick always stops.
    Shallowest,
}

/// What the governor knows about a CPU that goes idle. Times in nanoseconds from now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ask {
    /// To the next timer, if the tick stops; a very large value, if there is none.
    pub timer: u64,
    /// To the next tick.
    pub tick: u64,
    /// Its tick is stopped already.
    pub stopped: bool,
    /// Its tick continues, independently of the governor.
    pub needs_tick: bool,
    /// The length of a tick.
    pub period: u64,
    /// The longest exit that is allowed.
    pub limit: u64,
}

/// What it does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Choice {
    /// The state's index.
    pub state: usize,
    /// The tick continues because the governor keeps it.
    pub keeps_tick: bool,
}

impl Governor {
    /// Chooses among `states`, with what `menu` has learned.
    pub(crate) fn choose(self, menu: &mut Menu, ask: &Ask, states: &[IdleState]) -> Choice {
        match self {
            Governor::Menu => menu.choose(ask, states),
            Governor::Deepest => Choice {
                state: deepest(states, u64::MAX, ask.limit).unwrap_or(0),
                keeps_tick: false,
            },
            Governor::Shallowest => Choice::default(),
        }
    }
}

/// The deepest state that is worth it for so long, and can be left within the limit.
fn deepest(states: &[IdleState], idle: u64, limit: u64) -> Option<usize> {
    let fits = |it: &IdleState| it.target <= idle && it.exit <= limit;
    states.iter().rposition(fits)
}

/// What `menu` has learned about a CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Menu {
    /// The last idle times, in nanoseconds; the oldest is replaced next.
    times: [u64; KEPT],
    next: usize,
    known: usize,
    /// By magnitude of the time to the next timer.
    corrections: [u64; 6],
    /// What was asked last: the time to the next timer, if that was looked at.
    asked: Option<u64>,
}

impl Default for Menu {
    fn default() -> Menu {
        Menu {
            times: [0; KEPT],
            next: 0,
            known: 0,
            corrections: [ONE; 6],
            asked: None,
        }
    }
}

impl Menu {
    fn choose(&mut self, ask: &Ask, states: &[IdleState]) -> Choice {
        let timer = match ask.needs_tick {
            true => ask.timer.min(ask.tick),
            false => ask.timer,
        };
        let typical = self.typical();
        self.asked = None;
        let mut guess = typical.unwrap_or(u64::MAX);
        if ask.stopped || guess > SHORT {
            self.asked = Some(timer);
            guess = guess.min(self.corrected(timer));
        }
        if ask.stopped && guess < ask.period {
            guess = timer;
        }
        let chosen = deepest(states, guess, ask.limit);
        let none_allowed = states.first().is_some_and(|it| it.exit > ask.limit);
        let keeps_tick = !ask.stopped && !ask.needs_tick && (guess < ask.period || none_allowed);
        let mut state = chosen.unwrap_or(0);
        if keeps_tick {
            let until = deepest(states, guess.min(ask.tick).min(ask.timer), ask.limit);
            state = state.min(until.unwrap_or(0));
        }
        Choice { state, keeps_tick }
    }

    /// The CPU was idle for so long; the tick that the governor had kept may have ended that.
    pub fn woke(&mut self, idle: u64, by_kept_tick: bool, period: u64) {
        let mut idle = idle;
        if let Some(timer) = self.asked {
            if by_kept_tick && timer > period {
                idle = LONG;
            }
            idle = idle.min(timer);
            let correction = &mut self.corrections[magnitude(timer)];
            *correction -= *correction / 8;
            *correction += match idle < INTERESTING {
                true => (u128::from(idle) * u128::from(ONE / 8) / u128::from(timer.max(1))) as u64,
                false => ONE / 8,
            };
        }
        self.times[self.next] = idle;
        self.next = (self.next + 1) % KEPT;
        self.known = KEPT.min(self.known + 1);
    }

    /// The typical interval, in nanoseconds.
    fn typical(&self) -> Option<u64> {
        if self.known < KEPT {
            return None;
        }
        let mut times = self.times.map(|it| it / 1000);
        times.sort_unstable();
        for count in (FEWEST..=KEPT).rev() {
            let times = &times[..count];
            let n = count as u128;
            let average = times.iter().map(|&it| u128::from(it)).sum::<u128>() / n;
            let square = |&it: &u64| u128::from(it).abs_diff(average).pow(2);
            let variance = times.iter().map(square).sum::<u128>() / n;
            if variance <= 400 || average.pow(2) > 36 * variance {
                return Some(average as u64 * 1000);
            }
        }
        None
    }

    fn corrected(&self, timer: u64) -> u64 {
        let correction = self.corrections[magnitude(timer)];
        let time = u128::from(timer) * u128::from(correction) / u128::from(ONE);
        time.min(u64::MAX.into()) as u64
    }
}

/// Which correction a time has.
fn magnitude(time: u64) -> usize {
    let below = [10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];
    below.iter().take_while(|&&it| time >= it).count()
}

#[cfg(test)]
mod tests;
