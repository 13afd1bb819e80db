//! The action of a workload's task, as its section of the file describes it: a pattern, which every task of
//! the section copies.
//!
//! Each kind of work is a list of [`Steps`]; of the kind `steps` the file has the list.

use super::function::Function;
use crate::base::chance::Chance;
use crate::base::error::Error;
use crate::input::op::{Op, Work};
use crate::input::options::Options;
use crate::input::steps::{Steps, Time};
use crate::kernel::machine::Machine;
use crate::text::fields::{Cpus, Fields};
use crate::text::file::Text;
use crate::text::values::time;
use quiescent_kernel::CpuId;
use toml::Spanned;

/// The values of `work`.
const WORKS: [&str; 9] = [
    "rounds", "turns", "queue", "read", "steps", "switch", "reclaim", "close", "plug",
];

/// Where a reader sleeps, rather than compute.
const SLEEPS: [&str; 4] = ["outside", "inside", "both", "never"];

/// The default number of lazy callbacks to flush: all.
const ALL: u64 = 1_000_000_000;

/// A pattern: its callbacks' functions have no number yet, and its chance is not the task's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    pub steps: Steps,
    callbacks: Vec<Function>,
    /// It runs for ever, or no run waits for it, unless the file says otherwise.
    pub endless: bool,
    /// CPUs and callbacks of which each task has a copy.
    pub listed: u64,
}

impl Pattern {
    /// The pattern of a section.
    pub fn read(
        it: &Fields<'_>,
        callbacks: impl Fn() -> Result<Vec<Function>, Error>,
        list: &[Spanned<Text>],
        options: &Options,
    ) -> Result<Pattern, Error> {
        let Some(kind) = it.word("work", &WORKS)? else {
            return Err(it.need("work").expect_err("it is not there"));
        };
        let all = match WORKS[kind] {
            "turns" | "read" | "reclaim" | "plug" => Vec::new(),
            _ => callbacks()?,
        };
        let steps = match WORKS[kind] {
            "rounds" => rounds(it, all.len())?,
            "turns" => turns(it)?,
            "queue" => queue(it, all.len(), options.costs.work)?,
            "read" => read(it)?,
            "steps" => steps(it, list, &all)?,
            "switch" => switch(it, all.len())?,
            "reclaim" => reclaim(it)?,
            "close" => close(it, all.len())?,
            _ => plug(it)?,
        };
        let cpus = match WORKS[kind] {
            "plug" => changed(it)?.len(),
            _ => 0,
        };
        Ok(Pattern {
            steps,
            listed: (cpus + all.len()) as u64,
            callbacks: all,
            endless: !matches!(WORKS[kind], "rounds" | "switch"),
        })
    }

    /// A task's own copy, on this machine.
    pub fn work(&self, machine: &mut Machine, chance: Chance) -> Box<dyn Work> {
        let queued = self.callbacks.iter().map(|it| it.queued(machine));
        Box::new(self.steps.of(queued.collect(), chance))
    }
}

/// A time that varies if `vary` is set.
fn varies(it: &Fields<'_>, default: bool) -> Result<impl Fn(u64) -> Time, Error> {
    let vary = it.flag("vary", default)?;
    Ok(move |mean| Time { mean, vary })
}

fn rounds(it: &Fields<'_>, n: usize) -> Result<Steps, Error> {
    let awaits = it.count("awaits", 0)?;
    if n > 1 || (awaits > 0 && n == 0) {
        let why =
            "work = \"rounds\" with `awaits` has one callback: callbacks = [{ func = \"…\" }]";
        return Err(it.wrong(why.into()));
    }
    let (rounds, calls) = (it.count("rounds", 1)?, it.count("calls", 1)?);
    let (pause, rest) = (it.time("pause", 0)?, it.time("rest", 0)?);
    let (compute, time) = (it.time("compute", 0)?, varies(it, false)?);
    let sleep = |steps: Steps, ns| if ns > 0 { steps.pause(time(ns)) } else { steps };
    let waits = |steps: Steps, calls: bool| {
        let steps = steps.compute(compute);
        if calls {
            steps.op(Op::Synchronize)
        } else {
            steps.wait(0)
        }
    };
    // After the last wait of a round the task rests.
    let some = |steps: Steps, calls: bool, times: u64| {
        steps.repeat(Some(times), |it| sleep(waits(it, calls), pause))
    };
    let last = awaits == 0;
    let round = |steps: Steps| {
        let steps = some(steps, true, calls - u64::from(last));
        let steps = some(steps, false, awaits.saturating_sub(1));
        sleep(waits(steps, last), rest)
    };
    let rounds = if calls + awaits == 0 { 0 } else { rounds };
    Ok(match rounds {
        0 => Steps::default(),
        rounds => Steps::default().repeat(Some(rounds), round),
    })
}

fn turns(it: &Fields<'_>) -> Result<Steps, Error> {
    let (compute, sleep) = (it.time("compute", 1_000_000_000)?, it.time("sleep", 0)?);
    let time = varies(it, false)?;
    Ok(Steps::default().repeat(None, |it| it.run(time(compute)).pause(time(sleep))))
}

fn queue(it: &Fields<'_>, n: usize, work: u64) -> Result<Steps, Error> {
    if n == 0 {
        let why = "work = \"queue\" has callbacks = [{ func = \"…\" }]";
        return Err(it.wrong(why.into()));
    }
    let every = varies(it, true)?(it.rate("rate")?);
    let (times, stop) = (it.count("times", 1)?, it.time("stop", u64::MAX)?);
    let (work, between) = (it.time("compute", work)?, it.time("between", 0)?);
    let one = |it: Steps| it.due(every, stop, false).queue(n, times, work, between);
    Ok(match every.mean {
        0 => Steps::default(),
        _ => Steps::default().repeat(None, one),
    })
}

fn read(it: &Fields<'_>) -> Result<Steps, Error> {
    let (sections, inside) = (it.count("sections", 0)?, it.time("inside", 1000)?);
    let outside = it.time("outside", 1000)?;
    let sleeps = SLEEPS[it.word("sleeps", &SLEEPS)?.unwrap_or(0)];
    let time = varies(it, false)?;
    let pass = |steps: Steps, ns: u64, place: &str| match sleeps == place || sleeps == "both" {
        true => steps.sleep(time(ns)),
        false => steps.run(time(ns)),
    };
    let times = (sections > 0).then_some(sections);
    Ok(Steps::default().repeat(times, |it| {
        let it = pass(it.op(Op::Lock), inside, "inside");
        pass(it.op(Op::Unlock), outside, "outside")
    }))
}

fn switch(it: &Fields<'_>, n: usize) -> Result<Steps, Error> {
    if n != 1 {
        let why = "work = \"switch\" has one callback: callbacks = [{ func = \"…\" }]";
        return Err(it.wrong(why.into()));
    }
    let times = Some(it.count("times", 1)?);
    let (compute, rest) = (it.time("compute", 0)?, it.time("rest", 0)?);
    let rest = varies(it, false)?(rest);
    Ok(Steps::default().repeat(times, |it| it.kernel(compute).wait(0).rest(rest)))
}

fn reclaim(it: &Fields<'_>) -> Result<Steps, Error> {
    let every = Time::of(it.time("every", 10_000_000)?);
    let (above, lazy) = (it.count("above", 0)?, it.count("lazy", ALL)?);
    let look = Op::Reclaim { above, lazy };
    Ok(match every.mean {
        0 => Steps::default(),
        _ => Steps::default().repeat(None, |it| it.sleep(every).op(look)),
    })
}

fn close(it: &Fields<'_>, n: usize) -> Result<Steps, Error> {
    let every = varies(it, false)?(it.rate("rate")?);
    let (buffers, stop) = (it.count("buffers", 1)?, it.time("stop", u64::MAX)?);
    let (draw, close) = (it.time("compute", 0)?, it.time("close", 2000)?);
    let one = |it: Steps| {
        let it = it.close().kernel(close);
        (0..n).fold(it, Steps::call).op(Op::Leave)
    };
    let frame = |it: Steps| {
        let it = it.due(every, stop, true).compute(draw);
        it.repeat(Some(buffers), one)
    };
    Ok(match every.mean.min(buffers) {
        0 => Steps::default(),
        _ => Steps::default().repeat(None, frame),
    })
}

/// The CPUs that a task of the kind `plug` changes.
fn changed(it: &Fields<'_>) -> Result<Vec<CpuId>, Error> {
    match it.cpus("which")? {
        Cpus::These(cpus) => Ok(cpus),
        _ => Err(it.wrong("work = \"plug\" has `which`: a list of CPUs, or `none`".into())),
    }
}

fn plug(it: &Fields<'_>) -> Result<Steps, Error> {
    let cpus = changed(it)?;
    let (every, away) = (it.time("every", 100_000_000)?, it.time("away", 50_000_000)?);
    let (time, offload) = (varies(it, false)?, it.flag("offload", false)?);
    Ok(Steps::default().plug(cpus, offload, time(every), time(away)))
}

/// What a step of the kind `steps` may be.
const STEPS: &str = "run TIME, kernel TIME, sleep TIME (`~TIME` is drawn with that mean), call_rcu or \
    call_rcu FUNCTION (of its callbacks), the same with await, synchronize_rcu, lock and unlock";

/// The steps that the file has, `times` times or for ever.
fn steps(it: &Fields<'_>, list: &[Spanned<Text>], callbacks: &[Function]) -> Result<Steps, Error> {
    let times = it.count("times", 0)?;
    let one = |steps: Steps, text: &Spanned<Text>| {
        let (at, text) = (text.span().start, text.get_ref().0.as_str());
        let (verb, of) = text.split_once(' ').unwrap_or((text, ""));
        let given = it.meant(of.trim(), at)?;
        let drawn = given.strip_prefix('~');
        let length = || {
            let mean = time(drawn.unwrap_or(given)).filter(|it| *it <= DAY)?;
            let vary = drawn.is_some();
            Some(Time { mean, vary })
        };
        let callback = || match given {
            "" => (!callbacks.is_empty()).then_some(0),
            name => callbacks.iter().position(|it| it.name == name),
        };
        let done = match verb {
            "run" => length().map(|it| steps.run(it)),
            "kernel" => length()
                .filter(|it| !it.vary)
                .map(|it| steps.kernel(it.mean)),
            "sleep" => length().map(|it| steps.pause(it)),
            "call_rcu" => callback().map(|it| steps.call(it)),
            "await" => callback().map(|it| steps.wait(it)),
            "synchronize_rcu" => Some(steps.op(Op::Synchronize)),
            "lock" => Some(steps.op(Op::Lock)),
            "unlock" => Some(steps.op(Op::Unlock)),
            _ => None,
        };
        let wrong = || format!("`{text}` is no step here; steps are {STEPS}");
        done.ok_or_else(|| it.file.wrong(at, wrong()))
    };
    let all = |steps| list.iter().try_fold(steps, one);
    drop(all(Steps::default())?);
    let takes_time = ["run", "sleep", "await", "synchronize_rcu"];
    let begins =
        |it: &Spanned<Text>| takes_time.contains(&it.get_ref().0.split(' ').next().unwrap_or(""));
    if !list.iter().any(begins) {
        let why = "`steps` has one that takes time: run, sleep, await or synchronize_rcu";
        return Err(it.wrong(why.into()));
    }
    let times = (times > 0).then_some(times);
    Ok(Steps::default().repeat(times, |steps| all(steps).expect("all of them were read")))
}

/// The longest time of a step, in nanoseconds.
const DAY: u64 = 86_400_000_000_000;

#[cfg(test)]
mod tests;
