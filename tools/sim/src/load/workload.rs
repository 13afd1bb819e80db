//! Workloads: files that describe a machine's tasks, in words and in numbers.
//!
//! A workload is a file in TOML. It has a subject and its assumptions, settings of the machine and parameters
//! of its own, and a list of tasks. Settings and parameters can both be changed by name. The files in
//! `data/workloads` are part of the program; any other file can be given by its path.
//!
//! ```toml
//! about = "one caller"
//! assumes = ["an idle machine"]
//! until = "tasks"
//! seconds = 10
//! [machine]
//! cpus = 4
//! [parameters]
//! calls = { value = 100, about = "calls of the caller" }
//! [[task]]
//! work = "rounds"
//! name = "caller"
//! calls = "$calls"
//! ```
//!
//! | `work` | what the task does | fields |
//! |---|---|---|
//! | `rounds` | `synchronize_rcu` calls in rounds | `rounds`, `calls`, `awaits`, `pause`, `compute`, `rest` |
//! | `turns` | computes and sleeps by turns, for ever | `compute`, `sleep` |
//! | `queue` | queues callbacks | `rate`, `times`, `compute`, `between`, `stop`, `callbacks` |
//! | `steps` | the steps of a list | `steps`, `times` (0: for ever), `callbacks` |
//! | `read` | one section after the other | `sections` (0: for ever), `inside`, `outside`, `sleeps` |
//! | `switch` | queues one callback, waits for it, rests | `times`, `compute`, `rest`, `callbacks` |
//! | `reclaim` | calls the shrinker | `every` (0: never), `above` (bytes), `lazy` |
//! | `close` | closes buffers at each frame | `rate`, `compute`, `buffers`, `close`, `stop`, `callbacks` |
//! | `plug` | takes CPUs offline in turn and brings each back | `which`, `every`, `away`, `offload` |
//!
//! * `rounds`: `calls`, then `awaits` times its one callback, which is queued and waited for; `rest` follows
//!   each round; `waits` is `normal`, `expedited` or `barrier`.
//! * `steps`: such as `["run 200us", "call_rcu", "sleep 10ms"]`. A step is `run`, `kernel` or `sleep` with a
//!   time (`sleep ~10ms` is drawn with that mean), `call_rcu` or `await` with the function of one of the
//!   callbacks (the first when left out), `synchronize_rcu`, `lock` or `unlock`.
//! * `queue`, `close`: nothing is queued from `stop` on. Each close is a system call of length `close`, and
//!   it queues the callbacks, if the file names any.
//! * All but `reclaim` and `steps` have `vary`.
//! * `plug`: with `offload` the CPUs take their callbacks back, and are offloaded again; they stay online.
//! * `reclaim`: if callbacks hold more than `above` bytes, it asks the shrinker to flush `lazy` callbacks.
//!
//! All have `name`, `cpu` (a list, `any`, `gp` or `none`), `roams` (one task, at each wake-up on any CPU of
//! the list), `tasks`, `start`, `endless` and `srcu` (1: its sections, calls and callbacks are SRCU's).
//! With `vary` pauses, rests and the times between arrivals are memoryless with the given mean.
//!
//! ```
//! use quiescent_sim::Workload;
//!
//! let sync = Workload::named("sync")?;
//! let plan = sync.plan(&[("calls", "5"), ("early_qs", "init")])?;
//! let stats = plan.run(|| false).expect("no caller stopped the plan");
//! assert_eq!(stats.calls.len(), 5);
//! # Ok::<(), quiescent_sim::Error>(())
//! ```

mod function;
mod plan;
mod work;

pub use crate::text::file::Parameter;
pub use plan::Plan;

use crate::base::error::Error;
use crate::input::options::Options;
use crate::load::settings;
use crate::text::fields::Fields;
use crate::text::file::{BuiltIn, Contents, File, built_in, names};
use plan::Group;
use std::cell::RefCell;
use std::path::Path;

/// The files that are part of the program.
const BUILT_IN: BuiltIn = built_in! {
    "workloads":
    "sync" "churn" "fork" "flood" "tab-switch" "bridge" "torture5s" "idle-callbacks" "boot-selinux"
    "ftrace-start-stop" "percpu-ref" "memory-pressure" "nohz-full" "local-video"
    "screen-off" "laptop-idle" "display-pipeline" "home-screen-swipe" "chromeos-idle"
    "android-static-image" "srcu" "barrier" "hotplug" "deoffload" "real-time" "early-qs"
};

/// A workload, as its file has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// Its name.
    pub name: String,
    /// The file, for errors.
    file: File,
    contents: Contents,
}

impl Workload {
    /// The one of this name, or in the file of this path.
    ///
    /// # Errors
    /// If there is neither, or the file is wrong.
    pub fn named(name: impl AsRef<Path>) -> Result<Workload, Error> {
        let path = name.as_ref();
        let file = File::find("workloads", path, BUILT_IN).map_err(|why| Error::NotFound {
            what: "workload",
            name: path.display().to_string(),
            why,
            known: names(BUILT_IN),
        })?;
        let stem = path.file_stem().unwrap_or(path.as_os_str());
        Workload::of(&stem.to_string_lossy(), file)
    }

    /// Those that are part of the program.
    pub fn built_in() -> impl Iterator<Item = Workload> {
        let read = |it: &str| Workload::named(it).expect("a test reads them all");
        BUILT_IN.iter().map(move |it| read(it.0))
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// If it is wrong; with the line and the column.
    pub fn read(name: &str, file: &str, text: &str) -> Result<Workload, Error> {
        let (file, text) = (file.into(), text.into());
        Workload::of(name, File { name: file, text })
    }

    fn of(name: &str, file: File) -> Result<Workload, Error> {
        let it = Workload {
            name: name.into(),
            contents: file.workload()?,
            file,
        };
        for parameter in &it.contents.parameters {
            if settings::find(&parameter.name).is_some() {
                let why = format!(
                    "`{}` is a setting of the machine: give the parameter another name",
                    parameter.name
                );
                return Err(it.file.wrong(parameter.value.span().start, why));
            }
        }
        it.about()?;
        it.plan(&[])?;
        Ok(it)
    }

    /// What it is about.
    ///
    /// # Errors
    /// The default, if the file has none.
    pub fn about(&self) -> Result<String, Error> {
        self.top(&[]).need("about")
    }

    /// What it assumes, in words.
    pub fn assumes(&self) -> &[String] {
        &self.contents.assumes
    }

    /// The numbers in it that were fitted to a result, in words.
    pub fn fitted(&self) -> &[String] {
        &self.contents.fitted
    }

    /// Its parameters.
    pub fn parameters(&self) -> &[Parameter] {
        &self.contents.parameters
    }

    /// The workload with these settings of the machine and parameters of its own; the later of two for one
    /// name counts.
    ///
    /// # Errors
    /// If a name is unknown or a value makes no sense.
    pub fn plan(&self, sets: &[(&str, &str)]) -> Result<Plan, Error> {
        let own = |key: &str| self.contents.parameters.iter().any(|it| it.name == key);
        let mut options = Options::kernel_6_12(8, 1000);
        for (key, value) in &self.contents.machine {
            if settings::find(key).is_none() {
                let why = settings::unknown(key, std::iter::empty()).to_string();
                return Err(self.file.wrong(value.span().start, why));
            }
        }
        let machine = self.contents.machine.iter();
        let machine = machine.map(|(key, value)| (key.as_str(), value.get_ref().0.as_str()));
        let given = sets.iter().copied().filter(|it| !own(it.0));
        for (key, _) in given.clone() {
            if settings::find(key).is_none() {
                let own = self.contents.parameters.iter().map(|it| it.name.as_str());
                return Err(settings::unknown(key, own));
            }
        }
        let all: Vec<_> = machine.chain(given).collect();
        settings::apply(&mut options, &all).map_err(|why| self.where_it_stands(why, sets))?;
        let top = self.top(sets);
        let groups = Group::all(self, sets, &options)?;
        let seconds = top.count("seconds", 10)?.clamp(1, 86_400);
        let until = top.word("until", &["tasks", "time"])?;
        let parameters = self.contents.parameters.iter().map(|it| {
            let set = sets.iter().rev().find(|set| set.0 == it.name);
            let value = set.map_or(it.value(), |set| set.1);
            (it.name.clone(), value.to_owned())
        });
        Ok(Plan {
            groups,
            parameters: parameters.collect(),
            length: seconds * 1_000_000_000,
            until_tasks: until == Some(0),
            warm_up: top.time("warm_up", 0)?,
            options,
        })
    }

    /// The fields that do not belong to a task.
    fn top<'a>(&'a self, sets: &'a [(&'a str, &'a str)]) -> Fields<'a> {
        Fields {
            file: &self.file,
            at: 0,
            fields: &self.contents.top,
            parameters: &self.contents.parameters,
            sets,
            cpus: 1,
            asked: RefCell::default(),
        }
    }

    /// An error about a setting that stands in the file gets its place; so does one about settings that do
    /// not go together, if all of them are the file's. Settings are known by several names.
    fn where_it_stands(&self, why: Error, sets: &[(&str, &str)]) -> Error {
        let setting = |name: &str| settings::find(name).map(|it| it.key);
        let key = match &why {
            Error::Value { key, .. } => setting(key),
            Error::Machine(_) => None,
            _ => return why,
        };
        let mut given = sets.iter().filter_map(|it| setting(it.0));
        let machine = || self.contents.machine.iter();
        let is = |it: &(&String, _)| key.is_some() && setting(it.0) == key;
        let field = match machine().rfind(is) {
            Some(field) if !given.any(|it| Some(it) == key) => Some(field),
            Some(_) => None,
            None => machine().next().filter(|_| given.next().is_none()),
        };
        field.map_or(why.clone(), |(_, value)| {
            self.file.wrong(value.span().start, why.to_string())
        })
    }
}

#[cfg(test)]
mod tests;
