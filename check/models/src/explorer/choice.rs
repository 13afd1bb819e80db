//! The choices of one execution, and the choice of the next execution.
//!
//! An execution is determined by the list of its choices, since everything else in it is deterministic.
//! Systematic search keeps that list as a path: the next execution repeats it up to the last choice that has
//! an untried alternative, takes that, and continues with defaults (alternative 0). Budgets limit the choices
//! other than the default; they never change how alternatives are numbered, so a schedule found by any policy
//! replays under any other.

use std::collections::BTreeMap;

use super::random::Random;

/// The subject of a choice, and so the cost of an alternative to the default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The running thread can continue: another thread costs a preemption.
    Preempt,
    /// The running thread cannot or does not want to continue: any thread is free.
    Switch,
    /// Pending stores to a location that is accessed: an order other than theirs costs a delay.
    Flush,
}

/// The way in which choices are made.
#[derive(Debug)]
pub(crate) enum Policy {
    /// Depth-first search within budgets.
    Systematic { preemptions: u32, flush_delays: u32 },
    /// At random.
    Random(Random),
    /// The recorded alternatives; the default elsewhere.
    Replay(BTreeMap<usize, u16>),
}

impl Default for Policy {
    /// The default everywhere.
    fn default() -> Policy {
        Policy::Replay(BTreeMap::new())
    }
}

#[derive(Clone, Copy, Debug)]
struct Step {
    chosen: u16,
    /// Alternatives that the budgets allow, the default included.
    allowed: u16,
}

/// The choices made so far in this execution, and those to repeat.
#[derive(Debug, Default)]
pub(crate) struct Choices {
    pub(crate) policy: Policy,
    path: Vec<Step>,
    cursor: usize,
    preemptions: u32,
    delays: u32,
    frozen: bool,
}

impl Choices {
    pub(crate) fn new(policy: Policy) -> Choices {
        Choices {
            policy,
            ..Choices::default()
        }
    }

    /// Goes back to the beginning of an execution.
    pub(crate) fn rewind(&mut self) {
        if let Policy::Random(random) = &mut self.policy {
            random.next_execution(self.cursor);
            self.path.clear();
        }
        self.cursor = 0;
        self.preemptions = 0;
        self.delays = 0;
        self.frozen = false;
    }

    /// Moves on to the next path of a systematic search; false if all have been tried.
    pub(crate) fn advance(&mut self) -> bool {
        self.path.truncate(self.cursor);
        while let Some(mut step) = self.path.pop() {
            if step.chosen + 1 < step.allowed {
                step.chosen += 1;
                self.path.push(step);
                return true;
            }
        }
        false
    }

    /// No more branching in this execution.
    pub(crate) fn freeze(&mut self) {
        self.frozen = true;
    }

    pub(crate) fn is_systematic(&self) -> bool {
        matches!(self.policy, Policy::Systematic { .. })
    }

    /// Choices made in this execution.
    pub(crate) fn depth(&self) -> usize {
        self.cursor
    }

    /// Chooses one of `count` alternatives; 0 is the default. For choices about threads see
    /// [`choose_thread`](Self::choose_thread).
    pub(crate) fn choose(&mut self, kind: Kind, count: usize) -> usize {
        let by_chance = match &mut self.policy {
            Policy::Random(random) => random.flush(count),
            _ => 0,
        };
        self.take(kind, count, by_chance)
    }

    /// Chooses one of these threads; the first is the default.
    pub(crate) fn choose_thread(&mut self, kind: Kind, threads: &[usize]) -> usize {
        let by_chance = match &mut self.policy {
            Policy::Random(random) => random.thread(kind, threads),
            _ => 0,
        };
        threads[self.take(kind, threads.len(), by_chance)]
    }

    fn take(&mut self, kind: Kind, count: usize, by_chance: usize) -> usize {
        let at = self.cursor;
        self.cursor += 1;
        if at == self.path.len() {
            let (chosen, allowed) = match &self.policy {
                _ if self.frozen => (0, 1),
                Policy::Systematic {
                    preemptions,
                    flush_delays,
                } => match kind {
                    Kind::Preempt if self.preemptions >= *preemptions => (0, 1),
                    Kind::Flush if self.delays >= *flush_delays => (0, 1),
                    _ => (0, count),
                },
                Policy::Random(_) => (by_chance, 1),
                Policy::Replay(written) => (written.get(&at).map_or(0, |&c| c.into()), 1),
            };
            let narrow = |n: usize| u16::try_from(n).expect("few alternatives");
            self.path.push(Step {
                chosen: narrow(chosen),
                allowed: narrow(allowed),
            });
        }
        let chosen = usize::from(self.path[at].chosen);
        assert!(
            chosen < count,
            "choice {at} of the schedule is {chosen}, but there are only {count} alternatives: the \
             schedule belongs to another scenario, or the scenario is not deterministic",
        );
        match kind {
            Kind::Preempt if chosen != 0 => self.preemptions += 1,
            Kind::Flush if chosen != 0 => self.delays += 1,
            _ => {}
        }
        chosen
    }

    /// This execution as text: every choice that was not the default.
    pub(crate) fn written(&self) -> String {
        let odd = self.path[..self.cursor]
            .iter()
            .enumerate()
            .filter(|(_, s)| s.chosen != 0);
        odd.map(|(at, step)| format!(" {at}:{}", step.chosen))
            .collect()
    }

    /// Parses the text of [`written`](Self::written).
    pub(crate) fn read(text: &str) -> Result<BTreeMap<usize, u16>, String> {
        let one = |word: &str| {
            let (at, chosen) = word.split_once(':')?;
            Some((at.parse().ok()?, chosen.parse().ok()?))
        };
        text.split_whitespace()
            .map(|word| one(word).ok_or_else(|| format!("`{word}` is not `choice:alternative`")))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn systematic(preemptions: u32, flush_delays: u32) -> Choices {
        Choices::new(Policy::Systematic {
            preemptions,
            flush_delays,
        })
    }

    /// All paths of `depth` two-way choices of a kind.
    fn paths(mut choices: Choices, kind: Kind, depth: usize) -> Vec<Vec<usize>> {
        let mut all = Vec::new();
        loop {
            choices.rewind();
            all.push((0..depth).map(|_| choices.choose(kind, 2)).collect());
            if !choices.advance() {
                return all;
            }
        }
    }

    #[test]
    fn budgets_limit_what_is_tried() {
        assert_eq!(paths(systematic(9, 0), Kind::Preempt, 3).len(), 8);
        assert_eq!(paths(systematic(1, 0), Kind::Preempt, 3).len(), 4);
        assert_eq!(paths(systematic(0, 2), Kind::Flush, 3).len(), 7);
        assert_eq!(
            paths(systematic(0, 0), Kind::Switch, 3).len(),
            8,
            "switches are free"
        );
        let one = paths(systematic(1, 0), Kind::Preempt, 3);
        assert_eq!(one, [[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0]]);
    }

    #[test]
    fn a_schedule_survives_being_written_down() {
        let mut choices = systematic(2, 2);
        for _ in 0..3 {
            choices.rewind();
            let _ = (
                choices.choose(Kind::Flush, 3),
                choices.choose(Kind::Switch, 2),
            );
            choices.advance();
        }
        choices.rewind();
        let made = (
            choices.choose(Kind::Flush, 3),
            choices.choose(Kind::Switch, 2),
        );
        let mut again = Choices::new(Policy::Replay(Choices::read(&choices.written()).unwrap()));
        assert_eq!(
            made,
            (again.choose(Kind::Flush, 3), again.choose(Kind::Switch, 2))
        );
        assert_ne!(made, (0, 0));
        assert!(Choices::read("3:1 x").unwrap_err().contains("`x`"));
    }
}
