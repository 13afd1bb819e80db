//! The arguments of `bench`: each measurement's table says which it has.

use super::Measured;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches, Subcommand};
use quiescent_bench::cases;
use quiescent_bench::cases::plan::Bench;
use quiescent_bench::cases::setting::{Kind, Setting};

/// A request to measure.
#[derive(Debug)]
pub struct Request {
    /// What.
    pub bench: &'static Bench,
    /// What every measurement has.
    pub measured: Measured,
    /// The values of its settings, by their names.
    pub values: Vec<(&'static str, Vec<u64>)>,
}

impl Subcommand for Request {
    fn augment_subcommands(command: Command) -> Command {
        // Their words are read when one of them is wanted, and not at each start of the program.
        command.defer(|it| it.subcommands(cases::all().into_iter().map(subcommand)))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        cases::all().iter().any(|bench| bench.name == name)
    }
}

impl FromArgMatches for Request {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let found = matches.subcommand().and_then(|(name, matches)| {
            let bench = cases::all().into_iter().find(|bench| bench.name == name);
            bench.zip(Some(matches))
        });
        let (bench, matches) = found.ok_or_else(|| Error::new(ErrorKind::MissingSubcommand))?;
        let values = settings(bench).map(|it| (it.name, values(it, matches)));
        Ok(Request {
            bench,
            measured: Measured::from_arg_matches(matches)?,
            values: values.collect(),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Those of the command line.
fn settings(bench: &'static Bench) -> impl Iterator<Item = &'static Setting> {
    bench.settings.iter().filter(|it| !it.option.is_empty())
}

fn subcommand(bench: &'static Bench) -> Command {
    let command = Measured::augment_args(Command::new(bench.name));
    // What they have in common has a help of its own, which is not the command's.
    command
        .about(bench.about())
        .long_about(None)
        .args(settings(bench).map(|it| argument(bench, it)))
}

fn argument(bench: &Bench, setting: &'static Setting) -> Arg {
    let argument = Arg::new(setting.name)
        .long(setting.option)
        .help(bench.help(setting));
    let valued = || {
        let valued = argument
            .clone()
            .value_name(setting.value)
            .default_value(setting.default);
        valued
            .allow_negative_numbers(true)
            .value_parser(|text: &str| setting.parse(text))
    };
    match setting.kind {
        Kind::Flag => argument.action(ArgAction::SetTrue),
        Kind::Count | Kind::Seconds => valued(),
        Kind::Counts => valued().value_delimiter(',').action(ArgAction::Append),
    }
}

fn values(setting: &Setting, matches: &ArgMatches) -> Vec<u64> {
    match setting.kind {
        Kind::Flag => vec![matches.get_flag(setting.name).into()],
        _ => {
            let given = matches.get_many::<u64>(setting.name);
            given.map_or_else(Vec::new, |given| given.copied().collect())
        }
    }
}
