//! Settings of idle states: the table, the governor, what limits it, and what states cost.

use super::table::{Setting, word, word_of};
use crate::idling::{Governor, Profile, Table};
use crate::text::values::{time, time_text};

/// Nothing of a kind.
pub(super) const NONE: &str = "none";

const WORDS: &[(&str, Governor)] = &[
    ("menu", Governor::Menu),
    ("deepest", Governor::Deepest),
    ("shallowest", Governor::Shallowest),
];

/// The setting of what a file says: one that is part of the program, or any other by its path.
macro_rules! file {
    ($key:literal, $field:ident, $of:ty, $allowed:literal, $about:literal) => {
        Setting {
            key: $key,
            about: $about,
            allowed: $allowed,
            read: |it, text| {
                it.idle.$field = match text {
                    NONE => None,
                    text => Some(<$of>::named(text).ok()?),
                };
                Some(())
            },
            write: |it| match &it.idle.$field {
                Some(it) => it.name.clone(),
                None => NONE.into(),
            },
        }
    };
}

/// The table of states.
pub(super) const TABLE: Setting = file!(
    "idle_table",
    table,
    Table,
    "`none`, a name such as alder-lake or sandy-bridge, or the path of a file",
    "idle states of CPUs and of the package; none: a CPU that halts wakes at once (data/idle has them, with what each assumes)"
);

/// Who chooses.
pub(super) const GOVERNOR: Setting = Setting {
    key: "governor",
    about: "who chooses among a CPU's idle states, and whether its tick goes on",
    allowed: "menu (the kernel's), deepest or shallowest (always the same; the tick stops)",
    read: |it, text| {
        it.idle.governor = word(text, WORDS)?;
        Some(())
    },
    write: |it| word_of(it.idle.governor, WORDS),
};

/// The longest exit.
pub(super) const LATENCY: Setting = Setting {
    key: "cpu_dma_latency",
    about: "no idle state is chosen that takes longer to leave (PM QoS)",
    allowed: "a time such as 50us, or `any`",
    read: |it, text| {
        it.idle.latency_limit = match text {
            "any" => None,
            text => Some(time(text).filter(|ns| *ns <= 60_000_000_000)?),
        };
        Some(())
    },
    write: |it| it.idle.latency_limit.map_or("any".into(), time_text),
};

/// The deepest state of the package.
pub(super) const PACKAGE_LIMIT: Setting = Setting {
    key: "package_limit",
    about: "the deepest state of the package that devices allow, such as a screen that is on",
    allowed: "`none`, or a state of the table such as PC8",
    read: |it, text| {
        it.idle.package_limit = Some(text).filter(|it| *it != NONE).map(str::to_owned);
        Some(())
    },
    write: |it| it.idle.package_limit.clone().unwrap_or(NONE.into()),
};

/// The profile of power.
pub(super) const POWER: Setting = file!(
    "power",
    power,
    Profile,
    "`none`, a name such as two-states, or the path of a file",
    "what states cost: a profile of power (data/power has them, with what each assumes)"
);
