//! `COMMAND --help-metrics`. It needs no other argument, so it is found before all of them are parsed.

use clap::{Arg, ArgAction};
use std::ffi::OsString;

pub const NAME: &str = "help-metrics";

/// The option, for the help of each command.
pub fn option() -> Arg {
    let option = Arg::new(NAME).long(NAME).action(ArgAction::SetTrue);
    let help = "Explain each metric and column that the command prints, and exit";
    option.global(true).help(help)
}

/// The command whose metrics these arguments ask for, if they do.
pub fn asked(arguments: impl Iterator<Item = OsString>) -> Option<String> {
    let text = arguments.map(|it| it.to_string_lossy().into_owned());
    // What follows is not for this program.
    let own: Vec<String> = text.take_while(|it| it != "--").collect();
    let asks = own.iter().any(|it| it.strip_prefix("--") == Some(NAME));
    let command = own.into_iter().find(|it| !it.starts_with('-'));
    command.filter(|_| asks)
}
