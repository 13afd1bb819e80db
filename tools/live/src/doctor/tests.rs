//! Machines that are made up, for every rule: once as it is meant, once as it goes wrong, once hidden.

use super::{Finding, Severity, diagnose};
use crate::Machine;
use crate::state::files::Root;
use std::fs;

mod copied;
mod group;
mod idle;
mod offload;
mod seen;
mod twice;
mod versions;

/// A machine that is being made up. The folder goes away with it.
struct Made {
    folder: tempfile::TempDir,
}

impl Made {
    /// Four CPUs, HZ 1000, threads to be seen, nothing asked for, all as usual.
    fn usual() -> Made {
        let folder = tempfile::tempdir().unwrap();
        Made { folder }
            .with("proc/sys/kernel/osrelease", "6.12.9-made\n")
            .with("proc/cmdline", "quiet\n")
            .config(
                "CONFIG_HZ=1000\nCONFIG_RCU_NOCB_CPU=y\nCONFIG_NO_HZ_IDLE=y\nCONFIG_PSI=y\n\
             CONFIG_MEMBARRIER=y\nCONFIG_RCU_TRACE=y\n",
            )
            .with("proc/pressure/memory", "some avg10=0.00\n")
            .with("sys/kernel/rcu_expedited", "0\n")
            .with("sys/kernel/rcu_normal", "0\n")
            .cpu("possible", "0-3")
            .cpu("online", "0-3")
            .cpu("isolated", "")
            .parameter("rcutree", "jiffies_till_first_fqs", "3")
            .parameter("rcutree", "jiffies_till_next_fqs", "3")
            .parameter("rcutree", "rcu_normal_wake_from_gp", "1")
            .event("rcu/rcu_grace_period")
            .event("rcu/rcu_callback")
            .event("rcu/rcu_invoke_callback")
            .thread(15, "rcu_preempt")
    }

    fn with(self, file: &str, text: &str) -> Made {
        let path = self.folder.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn less(self, file: &str) -> Made {
        let path = self.folder.path().join(file);
        match path.is_dir() {
            true => fs::remove_dir_all(path).unwrap(),
            false => fs::remove_file(path).unwrap(),
        }
        self
    }

    /// More of the build configuration.
    fn config(self, lines: &str) -> Made {
        let file = "boot/config-6.12.9-made";
        let before = fs::read_to_string(self.folder.path().join(file)).unwrap_or_default();
        self.with(file, &format!("{before}{lines}\n"))
    }

    /// A line of the configuration is another one.
    fn configured(self, before: &str, after: &str) -> Made {
        let file = "boot/config-6.12.9-made";
        let text = fs::read_to_string(self.folder.path().join(file)).unwrap();
        assert!(text.contains(before));
        self.with(file, &text.replace(before, after))
    }

    /// Another release of the kernel. The configuration keeps its name, so it is not found any more.
    fn release(self, release: &str) -> Made {
        self.with("proc/sys/kernel/osrelease", &format!("{release}\n"))
    }

    /// The same, with the configuration.
    fn configured_release(self, release: &str) -> Made {
        let folder = self.folder.path();
        let before = folder.join("boot/config-6.12.9-made");
        fs::rename(before, folder.join(format!("boot/config-{release}"))).unwrap();
        self.release(release)
    }

    fn command(self, line: &str) -> Made {
        self.with("proc/cmdline", &format!("quiet {line}\n"))
    }

    fn cpu(self, file: &str, text: &str) -> Made {
        self.with(
            &format!("sys/devices/system/cpu/{file}"),
            &format!("{text}\n"),
        )
    }

    fn parameter(self, module: &str, name: &str, value: &str) -> Made {
        let file = format!("sys/module/{module}/parameters/{name}");
        self.with(&file, &format!("{value}\n"))
    }

    fn event(self, name: &str) -> Made {
        self.with(&format!("sys/kernel/tracing/events/{name}/enable"), "0\n")
    }

    fn thread(self, pid: u32, name: &str) -> Made {
        self.thread_at(pid, name, "0-3", 0)
    }

    fn thread_at(self, pid: u32, name: &str, allowed: &str, fifo: u32) -> Made {
        let blank = "0 ".repeat(37);
        let policy = u32::from(fifo > 0);
        self.with(&format!("proc/{pid}/comm"), &format!("{name}\n"))
            .with(
                &format!("proc/{pid}/status"),
                &format!("Name:\t{name}\nCpus_allowed_list:\t{allowed}\n"),
            )
            .with(
                &format!("proc/{pid}/stat"),
                &format!("{pid} ({name}) {blank}{fifo} {policy} 0\n"),
            )
    }

    /// Threads of offloading for these CPUs.
    fn offloaded(mut self, cpus: &[u32]) -> Made {
        self = self.thread(100, "rcuog/0");
        for cpu in cpus {
            self = self.thread(200 + cpu, &format!("rcuop/{cpu}"));
        }
        self
    }

    /// The kernel's threads are not to be seen.
    fn contained(self) -> Made {
        self.less("proc/15/comm")
    }

    fn machine(&self) -> Machine {
        Machine::read(Root::new(self.folder.path()))
    }

    /// What is said about it.
    #[track_caller]
    fn says(&self, about: &str) -> Vec<Finding> {
        let mut all = diagnose(&self.machine());
        all.retain(|it| it.about == about);
        all
    }

    /// The one thing that is said about it is of this kind, and has this in what is in force or in the
    /// remedy.
    #[track_caller]
    fn is(&self, about: &str, severity: Severity, part: &str) {
        let all = self.says(about);
        assert_eq!(all.len(), 1, "{about}: {all:#?}");
        let it = &all[0];
        assert_eq!(it.severity, severity, "{it:#?}");
        assert!(
            it.in_force.contains(part) || it.remedy.contains(part),
            "`{part}` in {it:#?}"
        );
        let has_remedy = !it.remedy.is_empty();
        assert_eq!(has_remedy, severity != Severity::Fine, "{it:#?}");
        assert!(!it.asked.is_empty() && !it.in_force.is_empty(), "{it:#?}");
    }

    /// Nothing is said about it.
    #[track_caller]
    fn is_silent(&self, about: &str) {
        assert_eq!(self.says(about), [], "{about}");
    }
}

const FINE: Severity = Severity::Fine;
const NOTE: Severity = Severity::Note;
const WITHOUT: Severity = Severity::WithoutEffect;
const CANNOT: Severity = Severity::CannotTell;

#[test]
fn nothing_is_wrong_with_a_usual_machine() {
    let made = Made::usual();
    let all = diagnose(&made.machine());
    assert!(all.iter().all(|it| it.severity == FINE), "{all:#?}");
    assert!(all.len() >= 6);
}

#[test]
fn of_an_empty_folder_nothing_is_known_and_nothing_is_found() {
    let made = Made {
        folder: tempfile::tempdir().unwrap(),
    };
    let all = diagnose(&made.machine());
    assert!(all.iter().all(|it| it.severity == CANNOT), "{all:#?}");
    assert!(all.iter().any(|it| it.about == "files"));
}

#[test]
fn the_worst_comes_first_and_everything_is_counted() {
    let made = Made::usual().command("rcu_nocb_poll psi=1 idle=poll");
    let machine = made.machine();
    let all = diagnose(&machine);
    assert!(all.is_sorted_by_key(|it| it.severity));
    assert_eq!(all[0].severity, WITHOUT);
    let text = super::text(&machine, &all, 110);
    assert!(text.contains("without effect: polling"), "{text}");
    let last = text.lines().last().unwrap();
    assert!(
        last.starts_with("1 without effect, 0 cannot tell, 1 note"),
        "{last}"
    );
    assert!(text.contains("rcu_preempt") && text.contains("Linux 6.12.9-made; CPUs on line 0-3"));
}
