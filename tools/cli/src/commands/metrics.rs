//! `COMMAND --help-metrics`: what each metric of a command is. The texts stand beside the code that measures.

use crate::show::output::{self, DONE, Printed};
use clap::{Arg, ArgAction};
use quiescent_report::Error;
use quiescent_report::text::folded;
use std::ffi::OsString;

const NAME: &str = "help-metrics";

/// The option. Its command needs no other argument then, so it is found before they are parsed ([`asked`]).
pub fn option() -> Arg {
    let option = Arg::new(NAME).long(NAME).action(ArgAction::SetTrue);
    let help = "Explain each metric and column that the command prints, and exit";
    option.global(true).help(help)
}

/// The command whose metrics these arguments ask for, if they do.
pub fn asked(arguments: impl Iterator<Item = OsString>) -> Option<String> {
    // What follows is not for this program.
    let text = arguments.map(|it| it.to_string_lossy().into_owned());
    let own: Vec<String> = text.take_while(|it| it != "--").collect();
    let asks = own.iter().any(|it| it.strip_prefix("--") == Some(NAME));
    let command = own.into_iter().find(|it| !it.starts_with('-'));
    command.filter(|_| asks)
}

pub fn run(command: &str) -> Result<u8, Error> {
    let text = match command {
        "bench" => quiescent_bench::METRICS.to_owned(),
        "sim" => quiescent_sim::report::METRICS.to_owned(),
        "trace" => quiescent_trace::METRICS.to_owned(),
        "whatif" => quiescent_sim::whatif::METRICS.to_owned(),
        #[cfg(target_os = "linux")]
        "doctor" | "record" => quiescent_live::METRICS.to_owned(),
        #[cfg(target_os = "linux")]
        "top" => quiescent_top::METRICS.to_owned(),
        #[cfg(target_os = "linux")]
        "torture" => [quiescent_torture::METRICS, quiescent_sim::torture::METRICS].join("\n"),
        _ => {
            let known = "bench, sim, trace, whatif, doctor, record, top and torture have metrics";
            return Err(Error::Usage(format!("{command} --{NAME}: {known}")));
        }
    };
    output::print(&Printed::text(folded(&text, output::columns(), 4))).map(|()| DONE)
}
