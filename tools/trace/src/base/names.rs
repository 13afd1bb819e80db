//! Which thread is which, by name.

/// Bytes of a name that are kept. The kernel's own are shorter: 15 of a task (64 of its workers), and
/// functions rarely reach 100.
pub(crate) const NAME_BYTES: usize = 256;

/// The start of a name: a damaged trace may have one as long as a line.
#[inline]
pub(crate) fn short(name: &str) -> &str {
    if name.len() <= NAME_BYTES {
        return name;
    }
    let mut end = NAME_BYTES;
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}

/// What a thread does for RCU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// `rcu_preempt` (`rcu_sched` without preemption): runs grace periods.
    GracePeriods,
    /// `rcuog/N`: grace periods for the offloaded CPUs of a group.
    OffloadGroup,
    /// `rcuop/N` (`rcuos/N`, on old kernels `rcuob/N`): invokes the callbacks of an offloaded CPU.
    OffloadInvoker,
    /// Another thread of RCU's: boost, expedited workers, tasks flavours.
    OtherRcu,
    /// None of RCU's.
    Other,
}

impl Role {
    /// It runs grace periods or invokes callbacks.
    pub(crate) fn serves_callbacks(self) -> bool {
        !matches!(self, Role::OtherRcu | Role::Other)
    }
}

/// The role of the thread of this name.
///
/// ```
/// use quiescent_trace::{Role, role};
///
/// assert_eq!(role("rcuog/4"), Role::OffloadGroup);
/// assert_eq!(role("rcu_preempt"), Role::GracePeriods);
/// assert_eq!(role("cbload/0"), Role::Other);
/// ```
pub fn role(task: &str) -> Role {
    match task {
        "rcu_preempt" | "rcu_sched" => Role::GracePeriods,
        _ if task.starts_with("rcuog/") => Role::OffloadGroup,
        _ if ["rcuop/", "rcuos/", "rcuob/"]
            .iter()
            .any(|it| task.starts_with(it)) =>
        {
            Role::OffloadInvoker
        }
        _ if task.starts_with("rcu_") || task.starts_with("rcub/") || task.starts_with("rcuc/") => {
            Role::OtherRcu
        }
        _ => Role::Other,
    }
}

/// A thread's name without the number of its CPU: `kworker/3:1` is `kworker/N`, `kworker/u34:1` stays.
///
/// ```
/// assert_eq!(quiescent_trace::kind_of("rcuop/12"), ("rcuop", true));
/// assert_eq!(quiescent_trace::kind_of("kworker/u34:1"), ("kworker/u34:1", false));
/// ```
pub fn kind_of(task: &str) -> (&str, bool) {
    match task.split_once('/') {
        Some((kind, rest)) if rest.starts_with(|c: char| c.is_ascii_digit()) => (kind, true),
        _ => (task, false),
    }
}

/// The kind as a key of tables: with `/N` for what has a number.
pub(crate) fn key(task: &str) -> String {
    let (kind, has_number) = kind_of(short(task));
    numbered(kind, has_number)
}

/// A kind whose threads have numbers, or have none.
pub(crate) fn numbered(kind: &str, has_number: bool) -> String {
    let end = if has_number { "/N" } else { "" };
    kind.to_owned() + end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_is_cut_between_characters() {
        let (fits, long) = ("a".repeat(NAME_BYTES), "a".repeat(NAME_BYTES + 1));
        assert_eq!((short(&fits), short(&long)), (fits.as_str(), fits.as_str()));
        let wide = format!("a{}", "\u{1f980}".repeat(NAME_BYTES));
        assert_eq!(short(&wide), &wide[..NAME_BYTES - 3]);
    }

    #[test]
    fn every_thread_of_rcu_has_its_role() {
        for (name, expected) in [
            ("rcu_preempt", Role::GracePeriods),
            ("rcu_sched", Role::GracePeriods),
            ("rcuog/12", Role::OffloadGroup),
            ("rcuop/3", Role::OffloadInvoker),
            ("rcuos/3", Role::OffloadInvoker),
            ("rcuob/3", Role::OffloadInvoker),
            ("rcu_exp_gp_kthr", Role::OtherRcu),
            ("rcub/1", Role::OtherRcu),
            ("rcuc/1", Role::OtherRcu),
            ("rcub", Role::Other),
            ("a", Role::Other),
        ] {
            assert_eq!(role(name), expected, "{name}");
        }
    }
}
