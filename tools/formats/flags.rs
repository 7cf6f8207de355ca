//! The flags that choose formats, made from the table.

use std::path::PathBuf;
use std::sync::LazyLock;

use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Args, Command, FromArgMatches, value_parser};

use super::{FORMATS, Format, Row};

/// What the command line says about formats and weights.
#[derive(Clone, Default, Debug)]
pub struct Flags {
    /// The format of the input; absent: what its name says.
    pub import: Option<Format>,
    /// The format of the output; absent: what its name says.
    pub export: Option<Format>,
    /// The file for the larger constants.
    pub weights: Option<PathBuf>,
    /// Whether the larger constants go into the ops.
    pub inline_weights: bool,
}

const HEADING: &str = "Formats";

/// A flag for a format.
struct Choice {
    way: &'static str,
    flag: String,
    row: &'static Row,
}

static CHOICES: LazyLock<Vec<Choice>> = LazyLock::new(|| {
    let read = FORMATS.iter().filter(|row| row.reader.is_some()).map(|row| (IMPORT, row));
    let written = FORMATS.iter().filter(|row| row.writer.is_some()).map(|row| (EXPORT, row));
    let choice =
        |(way, row): (&'static str, &'static Row)| Choice { way, flag: format!("{way}-{}", row.name), row };
    read.chain(written).map(choice).collect()
});

const IMPORT: &str = "import";
const EXPORT: &str = "export";

impl Args for Flags {
    fn augment_args(mut command: Command) -> Command {
        for way in [IMPORT, EXPORT] {
            command = command.group(ArgGroup::new(way).multiple(false));
        }
        for Choice { way, flag, row } in CHOICES.iter() {
            let endings: Vec<String> = row.extensions.iter().map(|e| format!(".{e}")).collect();
            let verb = if *way == IMPORT { "Reads" } else { "Writes" };
            let help = format!("{verb} {}; the default for {}", row.what, endings.join(", "));
            let arg = Arg::new(flag.as_str()).long(flag.as_str()).help(help).group(*way);
            command = command.arg(arg.action(ArgAction::SetTrue).help_heading(HEADING));
        }
        let weights = Arg::new("weights").long("weights").value_name("FILE.safetensors");
        let inline = Arg::new("inline-weights").long("inline-weights").action(ArgAction::SetTrue);
        command
            .arg(weights.value_parser(value_parser!(PathBuf)).help_heading(HEADING).help(
                "Puts the larger constants into this file, beside the output or below it, instead of into the text",
            ))
            .arg(inline.conflicts_with("weights").help_heading(HEADING).help(
                "Writes the larger constants into the ops, not into the text's resource section",
            ))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Flags::augment_args(command)
    }
}

impl FromArgMatches for Flags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Flags, clap::Error> {
        let chosen = |way: &str| {
            let mut choices = CHOICES.iter().filter(|choice| choice.way == way);
            choices.find(|choice| matches.get_flag(&choice.flag)).map(|choice| choice.row.format)
        };
        Ok(Flags {
            import: chosen(IMPORT),
            export: chosen(EXPORT),
            weights: matches.get_one("weights").cloned(),
            inline_weights: matches.get_flag("inline-weights"),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Flags::from_arg_matches(matches)?;
        Ok(())
    }
}
