//! The actors: the roles of the threads of a run.

/// The number of roles.
pub const ROLES: usize = 28;

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    pub const ALL: [Role; ROLES] = [
        Role::Reader,
        Role::Writer,
        Role::Fake,
        Role::Barrier,
        Role::Drain,
        Role::Quiet,
        Role::Lazy,
        Role::Churn,
        Role::Flood,
        Role::Dropper,
        Role::Stall,
        Role::Fork,
        Role::Pressure,
        Role::Budget,
        Role::Toggle,
        Role::Signal,
        Role::SrcuReader,
        Role::SrcuWriter,
        Role::SrcuFlood,
        Role::SrcuStall,
        Role::SrcuTask,
        Role::SrcuMaker,
        Role::DomainReader,
        Role::DomainWriter,
        Role::DomainFlood,
        Role::DomainStall,
        Role::DomainMaker,
        Role::DomainPolicy,
    ];

    /// Its name in reports and scenarios, which is also the threads'.
    pub fn name(self) -> &'static str {
        match self {
            Role::Reader => "reader",
            Role::Writer => "writer",
            Role::Fake => "fake",
            Role::Barrier => "barrier",
            Role::Drain => "drain",
            Role::Quiet => "quiet",
            Role::Lazy => "lazy",
            Role::Churn => "churn",
            Role::Flood => "flood",
            Role::Dropper => "dropper",
            Role::Stall => "stall",
            Role::Fork => "fork",
            Role::Pressure => "pressure",
            Role::Budget => "budget",
            Role::Toggle => "toggle",
            Role::Signal => "signal",
            Role::SrcuReader => "srcu-reader",
            Role::SrcuWriter => "srcu-writer",
            Role::SrcuFlood => "srcu-flood",
            Role::SrcuStall => "srcu-stall",
            Role::SrcuTask => "srcu-task",
            Role::SrcuMaker => "srcu-maker",
            Role::DomainReader => "domain-reader",
            Role::DomainWriter => "domain-writer",
            Role::DomainFlood => "domain-flood",
            Role::DomainStall => "domain-stall",
            Role::DomainMaker => "domain-maker",
            Role::DomainPolicy => "domain-policy",
        }
    }

    /// The name of the actions that it counts.
    pub fn counts(self) -> &'static str {
        match self {
            Role::Reader => "sections",
            Role::Writer => "rounds of updates",
            Role::Fake => "grace periods requested",
            Role::Barrier => "calls of barrier",
            Role::Drain => "calls of drain",
            Role::Quiet => "silences",
            Role::Lazy => "lazy batches that were run",
            Role::Churn => "threads",
            Role::Flood => "floods that were run",
            Role::Dropper => "rounds of retired values",
            Role::Stall => "stalls that were reported",
            Role::Fork => "children",
            Role::Pressure => "reports of low memory",
            Role::Budget => "budgets",
            Role::Toggle => "settings changed",
            Role::Signal => "handlers",
            Role::SrcuReader => "sections",
            Role::SrcuWriter => "rounds of updates",
            Role::SrcuFlood => "floods that were run",
            Role::SrcuStall => "stalls that delayed no other domain",
            Role::SrcuTask => "tasks",
            Role::SrcuMaker => "`Srcu`s made and dropped",
            Role::DomainReader => "sections",
            Role::DomainWriter => "rounds of updates",
            Role::DomainFlood => "floods that were run",
            Role::DomainStall => "stalls that delayed no other domain",
            Role::DomainMaker => "domains made and dropped",
            Role::DomainPolicy => "settings changed",
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
        let mut cast = Cast([1; ROLES]);
        for (role, count) in [
            (Role::Reader, 3),
            (Role::Writer, 4),
            (Role::Quiet, 2),
            (Role::Churn, 2),
            (Role::Stall, 0),
            (Role::Fork, 0),
            (Role::SrcuReader, 0),
            (Role::SrcuWriter, 0),
            (Role::SrcuFlood, 0),
            (Role::SrcuStall, 0),
            (Role::SrcuTask, 0),
            (Role::SrcuMaker, 0),
            (Role::DomainReader, 0),
            (Role::DomainWriter, 0),
            (Role::DomainFlood, 0),
            (Role::DomainStall, 0),
            (Role::DomainMaker, 0),
            (Role::DomainPolicy, 0),
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
    fn the_list_is_in_order() {
        for (index, role) in Role::ALL.into_iter().enumerate() {
            assert_eq!(role as usize, index);
        }
    }

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
