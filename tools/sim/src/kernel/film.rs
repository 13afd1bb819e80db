//! Films a part of a run: the work of every CPU, and the state of the package.
//!
//! While the camera is on, each change of a CPU's *doing* is recorded: the kind of task that runs, an
//! interrupt, RCU's soft interrupt, the scheduler and the idle loop, waking up, or an idle state by its
//! depth. The package's states are recorded where they are accounted for. The result ([`Film`]) covers the
//! stretch without gaps and without overlaps. Filming changes nothing in a run.
//!
//! A span is as long as a piece of work: a thread's check for work and the batch that it finds are one piece.

use quiescent_kernel::CpuId;

use crate::base::span::{Span, add};
use crate::kernel::cpu::Exec;
use crate::kernel::state::{Camera, Machine};
use crate::kernel::task::Kind;
use crate::record::film::{Doing, Film};
use crate::record::notes::Level;

impl Camera {
    fn sees(&mut self, cpu: CpuId, at: u64, doing: Doing) {
        let (since, before) = self.now[cpu as usize];
        if before == doing {
            return;
        }
        self.now[cpu as usize] = (at, doing);
        let span = Span {
            from: since,
            until: at,
            what: before,
        };
        add(&mut self.cpus[cpu as usize], self.window, span);
    }
}

impl Machine {
    /// Films from `from` until `until` nanoseconds. To be called before the machine runs.
    ///
    /// ```
    /// use quiescent_sim::{Caller, Doing, Machine, Options};
    ///
    /// let mut machine = Machine::new(Options::kernel_6_12(2, 1000));
    /// machine.spawn("caller", 1, 0, Caller::new(1, 0));
    /// machine.film(0, 20_000_000);
    /// machine.run(20_000_000);
    /// let film = machine.filmed().expect("the camera was on");
    /// assert!(film.total(|it| it == Doing::GracePeriod) > 0);
    /// assert_eq!(film.total(|_| true), 2 * 20_000_000, "no gap, no overlap");
    /// ```
    pub fn film(&mut self, from: u64, until: u64) {
        let cpus = self.options.cpus;
        let asleep = |cpu| (0, Doing::Idle(self.idle_depth(cpu)));
        self.camera = Some(Box::new(Camera {
            window: (from, until),
            now: (0..cpus).map(asleep).collect(),
            cpus: vec![Vec::new(); cpus as usize],
            softirq: false,
        }));
        self.film_package(from, until);
    }

    /// The film so far; none if filming was not requested.
    pub fn filmed(&self) -> Option<Film> {
        let mut camera = self.camera.clone()?;
        let (from, until) = camera.window;
        let until = until.min(self.now);
        for cpu in 0..camera.cpus.len() {
            let (since, what) = camera.now[cpu];
            let span = Span {
                from: since,
                until,
                what,
            };
            add(&mut camera.cpus[cpu], (from, until), span);
        }
        let (package, package_states) = self.filmed_package();
        Some(Film {
            from,
            until,
            states: (0..self.options.cpus)
                .map(|it| self.idle_names(it))
                .collect(),
            cpus: camera.cpus,
            package,
            package_states,
        })
    }

    /// A piece of work begins on `cpu`, of the task that was there before it.
    pub(crate) fn films(&mut self, cpu: CpuId, task: Option<usize>, exec: Exec) {
        let Some(camera) = &mut self.camera else {
            return;
        };
        let softirq = std::mem::take(&mut camera.softirq);
        let doing = match (exec, self.rcu.observed.notes.level_now(), task) {
            (Exec::Halted, ..) => Doing::Idle(self.idle_depth(cpu)),
            (_, Level::Softirq, _) if softirq => Doing::Softirq,
            (_, Level::Irq | Level::Softirq, _) => Doing::Interrupt,
            (_, Level::Task, None) => Doing::Scheduler,
            (_, Level::Task, Some(task)) => match self.tasks[task].kind {
                Kind::Work(_) => Doing::Task,
                Kind::Rcuog(_) | Kind::Rcuop(_) => Doing::Callbacks,
                Kind::Ksoftirqd => Doing::Softirq,
                Kind::GpThread | Kind::Kworker | Kind::ExpWorker | Kind::SrcuWorker => {
                    Doing::GracePeriod
                }
            },
        };
        let now = self.now;
        if let Some(camera) = &mut self.camera {
            camera.sees(cpu, now, doing);
        }
    }

    /// The piece that begins now is RCU's soft interrupt.
    pub(crate) fn films_softirq(&mut self) {
        if let Some(camera) = &mut self.camera {
            camera.softirq = true;
        }
    }

    /// `cpu` begins to leave its idle state.
    pub(crate) fn films_waking(&mut self, cpu: CpuId) {
        let now = self.now;
        if let Some(camera) = &mut self.camera {
            camera.sees(cpu, now, Doing::Waking);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Workload;

    fn film(sets: &[(&str, &str)], (from, until): (u64, u64)) -> (Film, crate::Stats) {
        let workload = Workload::named("local-video").unwrap();
        let plan = workload.plan(sets).unwrap();
        let mut machine = plan.machine();
        machine.window(from, until);
        machine.film(from, until);
        machine.run(until + 5_000_000);
        (machine.filmed().unwrap(), machine.stats())
    }

    const STRETCH: (u64, u64) = (2_000_000_000, 2_100_000_000);

    #[test]
    fn spans_cover_the_stretch_without_gap_or_overlap() {
        for rcu in ["default", "offload", "lazy"] {
            let (film, _) = film(&[("rcu", rcu)], STRETCH);
            assert_eq!(film.cpus.len(), 12);
            for spans in &film.cpus {
                let ends = (spans[0].from, spans[spans.len() - 1].until);
                assert_eq!(ends, STRETCH);
                let joined =
                    |it: &[Span<Doing>]| it[0].until == it[1].from && it[0].what != it[1].what;
                assert!(spans.windows(2).all(joined));
            }
            let ends = (
                film.package[0].from,
                film.package[film.package.len() - 1].until,
            );
            assert_eq!(ends, STRETCH);
            assert!(film.package.windows(2).all(|it| it[0].until == it[1].from));
        }
    }

    #[test]
    fn it_shows_what_the_run_counts() {
        let (film, stats) = film(&[("rcu", "lazy")], STRETCH);
        let idled = stats.idled.unwrap();
        for (depth, state) in idled.package.iter().enumerate() {
            assert_eq!(film.package_states[depth], state.name);
            let those = film
                .package
                .iter()
                .filter(|it| usize::from(it.what) == depth);
            assert_eq!(
                those.map(|it| it.until - it.from).sum::<u64>(),
                state.ns,
                "{}",
                state.name
            );
        }
        let idle: u64 = idled
            .cpus
            .iter()
            .filter(|it| !it.name.ends_with("C0"))
            .map(|it| it.ns)
            .sum();
        assert_eq!(film.total(|it| matches!(it, Doing::Idle(_))), idle);
    }

    #[test]
    fn each_kind_of_work_is_seen_where_there_is_some() {
        let seen = |rcu: &str, wanted: &[Doing], missing: &[Doing]| {
            let (film, _) = film(&[("rcu", rcu)], STRETCH);
            for it in wanted {
                assert!(film.total(|doing| doing == *it) > 0, "{rcu}: no {it:?}");
            }
            for it in missing {
                assert_eq!(film.total(|doing| doing == *it), 0, "{rcu}: {it:?}");
            }
        };
        use Doing::{Callbacks, GracePeriod, Interrupt, Scheduler, Softirq, Task, Waking};
        seen(
            "default",
            &[Task, Softirq, GracePeriod, Interrupt, Scheduler, Waking],
            &[Callbacks],
        );
        seen(
            "offload",
            &[Task, Callbacks, GracePeriod, Interrupt, Scheduler, Waking],
            &[],
        );
    }

    #[test]
    fn a_camera_changes_nothing() {
        let workload = Workload::named("local-video").unwrap();
        let plan = workload.plan(&[]).unwrap();
        let run = |filmed: bool| {
            let mut machine = plan.machine();
            if filmed {
                machine.film(STRETCH.0, STRETCH.1);
            }
            machine.run(STRETCH.1);
            assert_eq!(machine.filmed().is_some(), filmed);
            machine.stats()
        };
        assert_eq!(run(true), run(false));
    }
}
