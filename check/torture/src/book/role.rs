//! The actors: the roles of the threads of a run.

use strum::{EnumCount, VariantArray};

/// The number of roles.
pub const ROLES: usize = Role::COUNT;

/// Those that read: the process's, those of `Srcu`s, those of domains.
pub const READERS: [Role; 3] = [Role::Reader, Role::SrcuReader, Role::DomainReader];

/// What a thread does.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    strum::EnumCount,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
#[repr(u8)]
pub enum Role {
    /// Reads, in sections of every shape.
    Reader,
    /// Updates, in every way that its scenario has.
    Writer,
    /// Requests grace periods and needs none.
    Fake,
    /// Calls `barrier`.
    Barrier,
    /// Calls `drain`.
    Drain,
    /// Updates, then does nothing for a while.
    Quiet,
    /// Queues lazily and waits until all entries have run.
    Lazy,
    /// Starts short-lived threads.
    Churn,
    /// Queues as fast as it can, and waits until all callbacks have run.
    Flood,
    /// Retires values whose destructors lock, retire, panic, fork, end their thread.
    Dropper,
    /// Stays in a section until a report names it.
    Stall,
    /// Forks; the child checks itself.
    Fork,
    /// Reports low memory.
    Pressure,
    /// Changes the budget.
    Budget,
    /// Moves reclaiming and running callbacks to other threads and back, and changes flush times.
    Toggle,
    /// Sends signals whose handler reads.
    Signal,
    /// Reads under an `Srcu`: sleeps inside, and passes its guards to other threads.
    SrcuReader,
    /// Updates, requests and waits under `Srcu`s, in every way that its scenario has.
    SrcuWriter,
    /// As [`Flood`](Role::Flood), under an `Srcu`.
    SrcuFlood,
    /// Stays in a section of an `Srcu`, and checks that it delays no other domain.
    SrcuStall,
    /// Runs tasks that hold guards while they wait.
    SrcuTask,
    /// Makes and drops `Srcu`s that others use.
    SrcuMaker,
    /// Reads under domains of the program's own: in many in turn, in one inside the other.
    DomainReader,
    /// As [`SrcuWriter`](Role::SrcuWriter), under domains.
    DomainWriter,
    /// As [`Flood`](Role::Flood), under a domain.
    DomainFlood,
    /// Stays in a section of a domain, and checks that it delays no other domain.
    DomainStall,
    /// Makes and drops domains that others use; their cells outlive some.
    DomainMaker,
    /// Changes budgets and flush times of domains, and drains some for a while.
    DomainPolicy,
}

impl Role {
    /// All of them.
    pub const ALL: [Role; ROLES] = *Role::VARIANTS.first_chunk().expect("so many");

    /// Its name in reports and scenarios, which is also the threads'.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The name of the actions that it counts.
    pub fn counts(self) -> &'static str {
        match self {
            Role::Reader | Role::SrcuReader | Role::DomainReader => "sections",
            Role::Writer | Role::SrcuWriter | Role::DomainWriter => "rounds of updates",
            Role::Fake => "grace periods requested",
            Role::Barrier => "calls of barrier",
            Role::Drain => "calls of drain",
            Role::Quiet => "silences",
            Role::Lazy => "lazy batches that were run",
            Role::Churn => "threads",
            Role::Flood | Role::SrcuFlood | Role::DomainFlood => "floods that were run",
            Role::Dropper => "rounds of retired values",
            Role::Stall => "stalls that were reported",
            Role::Fork => "children",
            Role::Pressure => "reports of low memory",
            Role::Budget => "budgets",
            Role::Toggle | Role::DomainPolicy => "settings changed",
            Role::Signal => "handlers",
            Role::SrcuStall | Role::DomainStall => "stalls that delayed no other domain",
            Role::SrcuTask => "tasks",
            Role::SrcuMaker => "`Srcu`s made and dropped",
            Role::DomainMaker => "domains made and dropped",
        }
    }
}

/// The number of threads of each role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cast(pub [usize; ROLES]);

impl Cast {
    /// The number of threads of this role.
    pub fn of(&self, role: Role) -> usize {
        self.0[role as usize]
    }

    /// Sets the number of threads of this role.
    pub fn set(&mut self, role: Role, count: usize) {
        self.0[role as usize] = count;
    }

    /// Does an actor read under an `Srcu`, or update there?
    pub fn has_srcus(&self) -> bool {
        let roles = Role::SrcuReader as usize..Role::DomainReader as usize;
        self.0[roles].iter().any(|&count| count > 0)
    }

    /// The same for domains of the program's own.
    pub fn has_domains(&self) -> bool {
        let roles = &self.0[Role::DomainReader as usize..];
        roles.iter().any(|&count| count > 0)
    }

    /// Shares this many threads between readers and writers in their present ratio; a role that was present
    /// keeps at least one.
    pub fn share(&mut self, threads: usize) {
        let (readers, writers) = (self.of(Role::Reader), self.of(Role::Writer));
        if readers + writers == 0 {
            return;
        }
        let shared = threads * readers / (readers + writers);
        let readers = shared.max(usize::from(readers > 0));
        let writers = (threads - shared.min(threads)).max(usize::from(writers > 0));
        self.set(Role::Reader, readers);
        self.set(Role::Writer, writers);
    }
}

impl Default for Cast {
    /// Some of each role under the global domain, except those that stop the others: stalls, and forks.
    fn default() -> Cast {
        let mut cast = Cast([0; ROLES]);
        cast.0[..Role::SrcuReader as usize].fill(1);
        for (role, count) in [
            (Role::Reader, 3),
            (Role::Writer, 4),
            (Role::Quiet, 2),
            (Role::Churn, 2),
            (Role::Stall, 0),
            (Role::Fork, 0),
        ] {
            cast.set(role, count);
        }
        cast
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_shared_and_no_role_disappears() {
        let shared = |readers, writers, threads| {
            let mut cast = Cast([0; ROLES]);
            cast.set(Role::Reader, readers);
            cast.set(Role::Writer, writers);
            cast.share(threads);
            (cast.of(Role::Reader), cast.of(Role::Writer))
        };
        assert_eq!(shared(3, 4, 14), (6, 8));
        assert_eq!(shared(3, 4, 1), (1, 1));
        assert_eq!(shared(0, 4, 9), (0, 9));
        assert_eq!(shared(2, 0, 9), (9, 0));
        assert_eq!(shared(0, 0, 9), (0, 0));
    }
}
