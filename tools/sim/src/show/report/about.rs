//! The subject of a figure, and its name in a report's case.

use quiescent_kernel::CpuId;

/// What a figure is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    /// The whole run.
    Run,
    /// A thread.
    Thread(String),
    /// Threads whose names differ in a number: `rcuog/*`.
    Family(String),
    /// Callbacks of a function.
    Function(String),
    /// A CPU.
    Cpu(CpuId),
    /// An idle state of CPUs, or their being busy.
    CpuState(String),
    /// The same of cores, where these have several threads.
    CoreState(String),
    /// A state of the package.
    PackageState(String),
    /// Idle times of this length.
    IdlePeriods(String),
    /// The time that the package was kept out of a state, and the cause.
    Blocked(String, String),
    /// The cause that ended the package's rest.
    PackageWaker(String),
    /// What it took, by this profile.
    Power(String),
}

impl About {
    /// The case of a report's row: the workload and variant, and what else it is about.
    ///
    /// ```
    /// use quiescent_sim::report::About;
    /// assert_eq!(About::Run.case("sync early_qs=off"), "sync early_qs=off");
    /// assert_eq!(About::Thread("rcuog/0".into()).case("churn"), "churn, thread rcuog/0");
    /// assert_eq!(About::Family("rcuog".into()).case("churn"), "churn, threads rcuog/*");
    /// ```
    pub fn case(&self, case: &str) -> String {
        match self {
            About::Run => case.to_owned(),
            About::Thread(name) => format!("{case}, thread {name}"),
            About::Family(name) => format!("{case}, threads {name}/*"),
            About::Function(name) => format!("{case}, function {name}"),
            About::Cpu(cpu) => format!("{case}, cpu {cpu}"),
            About::CpuState(state) => format!("{case}, state {state}"),
            About::CoreState(state) => format!("{case}, core state {state}"),
            About::PackageState(state) => format!("{case}, package state {state}"),
            About::IdlePeriods(length) => format!("{case}, idle for {length}"),
            About::Blocked(state, by) => format!("{case}, kept out of {state} by {by}"),
            About::PackageWaker(by) => format!("{case}, package woken by {by}"),
            About::Power(profile) => format!("{case}, power {profile}"),
        }
    }
}
