//! `airlane do`: lets something happen in a run that goes on, in the words of a scenario's `[[step]]`.

use std::io::BufRead;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Subcommand;

use super::output::print;
use crate::client::choose;
use airlane_control::{DoneLine, Request};
use airlane_scenario::ActWords;

pub const EXAMPLES: &str = "\
Examples:
  airlane do ap-off corp                    The access point `corp` dies without a farewell
  airlane do ap-on corp                     It comes back
  airlane do channel corp 44                It announces channel 44, and goes there
  airlane do passphrase corp 'a new one'    It wants to hear another passphrase from now on
  airlane do deauthenticate it              The VM's access point sends it away
  airlane do rekey it                       The VM's access point replaces its keys
  airlane do move-card card 20 0            The card stands 20 m east from now on
  airlane do move-ap corp 5 -3              The access point stands 5 m east, 3 m south
  airlane do kill it                        The VM dies
  airlane do start it                       It starts again, and joins its network

Each waits until it has happened. The same things happen by themselves at [[step]] of a scenario: docs/scenario.md.
Exit codes: 0 it has happened; 1 it has not.";

/// Arguments of `airlane do`.
#[derive(clap::Args)]
pub struct Arguments {
    /// Which run, when several go on
    #[arg(long, value_name = "NAME", global = true)]
    run: Option<String>,
    /// What came of it as one JSON object
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    act: Word,
}

#[derive(Subcommand)]
enum Word {
    /// An access point dies without a farewell
    ApOff { access_point: String },
    /// An access point comes back
    ApOn { access_point: String },
    /// An access point announces another channel, and goes there
    Channel { access_point: String, channel: i64 },
    /// An access point wants another passphrase from now on; all must come anew
    Passphrase {
        access_point: String,
        passphrase: String,
    },
    /// A VM's access point sends it away
    Deauthenticate {
        vm: String,
        /// IEEE 802.11-2020 table 9-49 [default: 2]
        #[arg(long)]
        reason: Option<u16>,
    },
    /// A VM's access point replaces the VM's own key, then the group's
    Rekey { vm: String },
    /// A card goes elsewhere, with all VMs on it
    MoveCard {
        card: String,
        /// Metres east, north and, if wanted, up
        #[arg(num_args = 2..=3, required = true, allow_negative_numbers = true, value_name = "METRES")]
        to: Vec<f64>,
    },
    /// An access point goes elsewhere
    MoveAp {
        access_point: String,
        /// Metres east, north and, if wanted, up
        #[arg(num_args = 2..=3, required = true, allow_negative_numbers = true, value_name = "METRES")]
        to: Vec<f64>,
    },
    /// A VM dies
    Kill { vm: String },
    /// A VM starts: one that was killed, or that the scenario starts later
    Start { vm: String },
}

/// Has it done in the run; says what was seen.
pub fn act(arguments: &Arguments) -> Result<ExitCode> {
    let run = choose(arguments.run.as_deref())?;
    let act = words(&arguments.act);
    let answer = run.ask(&Request::Do { act })?.lines().next();
    let line = answer.context("the run has ended")??;
    let done: DoneLine = serde_json::from_str(&line).context("the answer is not understood")?;
    match (arguments.json, done.done) {
        (true, _) => print(&line),
        (false, true) => print(&done.detail),
        (false, false) => eprintln!("airlane: it has not happened: {}", done.detail),
    }
    Ok(ExitCode::from(u8::from(!done.done)))
}

/// In the words of a scenario.
fn words(word: &Word) -> ActWords {
    let about = |act: &str| ActWords {
        act: act.to_owned(),
        ..ActWords::default()
    };
    let to_ap = |act: &str, access_point: &String| ActWords {
        access_point: Some(access_point.clone()),
        ..about(act)
    };
    let to_vm = |act: &str, vm: &String| ActWords {
        vm: Some(vm.clone()),
        ..about(act)
    };
    match word {
        Word::ApOff { access_point } => to_ap("ap-off", access_point),
        Word::ApOn { access_point } => to_ap("ap-on", access_point),
        Word::Channel {
            access_point,
            channel,
        } => ActWords {
            channel: Some(*channel),
            ..to_ap("channel", access_point)
        },
        Word::Passphrase {
            access_point,
            passphrase,
        } => ActWords {
            passphrase: Some(passphrase.clone()),
            ..to_ap("passphrase", access_point)
        },
        Word::Deauthenticate { vm, reason } => ActWords {
            reason: *reason,
            ..to_vm("deauthenticate", vm)
        },
        Word::Rekey { vm } => to_vm("rekey", vm),
        Word::MoveCard { card, to } => ActWords {
            card: Some(card.clone()),
            to: Some(to.clone()),
            ..about("move")
        },
        Word::MoveAp { access_point, to } => ActWords {
            to: Some(to.clone()),
            ..to_ap("move", access_point)
        },
        Word::Kill { vm } => to_vm("kill", vm),
        Word::Start { vm } => to_vm("start", vm),
    }
}
