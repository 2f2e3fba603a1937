//! The command line. Exit codes: 0 all well; 1 a check failed, or a run or the machine is not as it
//! must be; 2 bad input, nothing started; 128 + n stopped by signal n.

mod act;
mod bench;
mod capture;
mod cp;
mod events;
mod exec;
mod extcap;
mod firmware;
mod output;
mod show;
mod suggest;
mod trace;

use crate::doctor;
use crate::formats::{Files, Open};
use crate::summary::{self, counted};
use airlane_guests::boots::{available, feasible};
use airlane_guests::setup::{REMEDY, Setup};
use airlane_harness::{self as harness, Ended, Hold, Options, Stream};
use airlane_scenario::{Scenario, Vmm};
use output::print;

use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;

/// Bad input.
const BAD_INPUT: u8 = 2;

const EXAMPLES: &str = "\
Examples:
  airlane doctor                                 Is everything there that a run needs?
  airlane run scenarios/two-networks.toml        Two VMs, two networks, one card
  airlane run scenarios/vm-killed.toml --json    The report on standard output
  airlane run SCENARIO --kernel 6.12 --out /tmp/o  Another guest kernel, another output folder
  airlane run scenarios/external.toml            Attach VMs of your own; ends when they have gone, or by Ctrl-C
  airlane run SCENARIO --run-dir /run/airlane --run-group libvirt-qemu   The same for libvirt
  airlane run SCENARIO --junit out/junit.xml     The report for a CI system; or --tap FILE
  airlane check SCENARIO                         Only read and check the scenario
  airlane show --watch                           How the VMs of the run stand, every second
  airlane events --json | jq .event              What happens to them
  airlane capture | wireshark -k -i -            What is on the air, live
  airlane capture --vm it -w it.pcapng           Only one VM's frames, into a file
  airlane exec it -- ip address                  A command in a VM of the run
  airlane cp my-test it:/bin/my-test             A file into a VM of the run, or out of it
  airlane do channel corp 44                     What happens to access points, cards and VMs
  airlane trace --vm it --frames 1000            What each stage of its frames' way takes
  airlane bench all --report out/report.html     What sharing costs, as tables and plots
  airlane firmware --help                        What a VM of your own needs for WPA3

A run writes report.json, air.pcapng and one console log per VM into its output folder.
Exit codes: 0 all well; 1 a check failed or a VM did not come up; 2 bad input, nothing started;
128 + N stopped by signal N, as 130 by Ctrl-C. docs/scenario.md describes scenarios, docs/report.md
the report and what CI reads of it.";

const EXTCAP: &str = "\
In Wireshark's own list of interfaces: link this program into its extcap folder
(Help > About > Folders), as in
  ln -s $(command -v airlane) ~/.local/lib/wireshark/extcap/airlane";

#[derive(Parser)]
#[command(name = "airlane", version, about = "Many virtual machines share one network card", after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Brings up a scenario, makes its checks, and takes all down again
    Run(RunArguments),
    /// Reads and checks a scenario without starting anything
    Check {
        /// The scenario's TOML file
        scenario: PathBuf,
    },
    /// Shows how the VMs of a run stand: network, channel, signal, rates, counters
    Show(show::Arguments),
    /// Shows what happens to the VMs of a run: associations, scans, roams, drops
    Events(events::Arguments),
    /// Captures what is on the air of a run: pcapng with radiotap headers
    #[command(after_help = EXTCAP)]
    Capture(capture::Arguments),
    /// Runs a command in a VM of a run
    #[command(after_help = exec::EXAMPLES)]
    Exec(exec::Arguments),
    /// Lets something happen in a run: access points go, come and change, VMs die and start
    #[command(after_help = act::EXAMPLES)]
    Do(act::Arguments),
    /// Copies a file into a VM of a run, or out of it
    #[command(after_help = cp::EXAMPLES)]
    Cp(cp::Arguments),
    /// Shows what each stage of a frame's way takes, of a run that goes on
    #[command(after_help = trace::EXAMPLES)]
    Trace(trace::Arguments),
    /// Measures what sharing a card costs (a program of its own: airlane-bench)
    #[command(disable_help_flag = true)]
    Bench(bench::Arguments),
    /// Writes the microcode with which a VM of your own can protect management frames (WPA3)
    #[command(after_help = firmware::EXAMPLES)]
    Firmware(firmware::Arguments),
    /// Looks whether everything is there that a run needs
    Doctor {
        /// The findings as JSON on standard output
        #[arg(long)]
        json: bool,
    },
}

#[derive(clap::Args)]
struct RunArguments {
    /// The scenario's TOML file
    scenario: PathBuf,
    /// Where report, capture and console logs go [default: out/NAME]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The report on standard output, progress on standard error
    #[arg(long)]
    json: bool,
    /// The guests' kernel, such as 6.1 or 6.12, unless a VM names its own
    #[arg(long, value_name = "VERSION")]
    kernel: Option<String>,
    /// What VMs run in, unless a VM names its own: qemu or uml
    #[arg(long, value_name = "VMM")]
    vmm: Option<Vmm>,
    /// Keep everything up after the checks, until Ctrl-C
    #[arg(long)]
    hold: bool,
    /// End with the last check also where VMs of your own are attached: for CI
    #[arg(long, conflicts_with = "hold")]
    no_hold: bool,
    /// Where external VMs find their cards, by a path that stays the same: DIR/NAME.sock
    #[arg(long, value_name = "DIR")]
    run_dir: Option<PathBuf>,
    /// The group whose members may attach there, such as libvirt-qemu
    #[arg(long, value_name = "GROUP", requires = "run_dir")]
    run_group: Option<String>,
    #[command(flatten)]
    files: Files,
    /// Record when each frame passes each stage of its way, as Chrome trace events, for Perfetto
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
}

/// The program.
pub fn main() -> ExitCode {
    log_to_standard_error();
    let arguments: Vec<_> = std::env::args_os().collect();
    if extcap::asked(&arguments) {
        return done(extcap::answer(&arguments));
    }
    match suggest::parse::<Cli>(arguments).command {
        Command::Run(arguments) => run(&arguments),
        Command::Check { scenario } => check(&scenario),
        Command::Show(arguments) => done(show::show(&arguments)),
        Command::Events(arguments) => done(events::events(&arguments)),
        Command::Capture(arguments) => done(capture::capture(&arguments)),
        Command::Exec(arguments) => exec::exec(&arguments),
        Command::Do(arguments) => match act::act(&arguments) {
            Ok(code) => code,
            Err(error) => done(Err(error)),
        },
        Command::Cp(arguments) => done(cp::cp(&arguments)),
        Command::Trace(arguments) => done(trace::trace(&arguments)),
        Command::Bench(arguments) => done(bench::bench(&arguments)),
        Command::Firmware(arguments) => done(firmware::firmware(&arguments)),
        Command::Doctor { json } => doctor(json),
    }
}

/// Only what went wrong, unless AIRLANE_LOG asks for more.
fn log_to_standard_error() {
    use tracing_subscriber::EnvFilter;
    let filter = EnvFilter::try_from_env("AIRLANE_LOG").unwrap_or_else(|_| EnvFilter::new("error"));
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .try_init();
}

fn fail(error: impl std::fmt::Display, code: u8) -> ExitCode {
    eprintln!("airlane: {error}");
    ExitCode::from(code)
}

/// A reader that has gone is no error of ours.
fn done(result: anyhow::Result<()>) -> ExitCode {
    let Err(error) = result else {
        return ExitCode::SUCCESS;
    };
    let io = error.downcast_ref::<std::io::Error>();
    match io.map(std::io::Error::kind) {
        Some(std::io::ErrorKind::BrokenPipe) => ExitCode::SUCCESS,
        _ => fail(format!("{error:#}"), 1),
    }
}

fn check(path: &std::path::Path) -> ExitCode {
    let scenario = match Scenario::load(path) {
        Ok(scenario) => scenario,
        Err(error) => return fail(error, BAD_INPUT),
    };
    if let Err(error) = feasible(&scenario) {
        return fail(error, BAD_INPUT);
    }
    match Setup::load() {
        Ok(setup) => {
            if let Err(error) = available(&scenario, &setup, None) {
                return fail(format!("{error:#}"), BAD_INPUT);
            }
        }
        Err(_) => eprintln!(
            "airlane: nothing is set up yet, so nobody has looked whether its kernels are there ({REMEDY})"
        ),
    }
    print(&format!("{}: {}", path.display(), contents(&scenario)));
    ExitCode::SUCCESS
}

/// `2 VMs, 1 access point, 10 checks`
fn contents(scenario: &Scenario) -> String {
    let cards = Some(scenario.cards.len()).filter(|cards| *cards > 1);
    let counts = [
        cards.map(|cards| counted(cards, "card")),
        Some(counted(scenario.vms.len(), "VM")),
        Some(counted(scenario.access_points.len(), "access point")),
        Some(counted(scenario.checks.len(), "check")),
    ];
    let counts: Vec<String> = counts.into_iter().flatten().collect();
    counts.join(", ")
}

fn run(arguments: &RunArguments) -> ExitCode {
    let mut scenario = match Scenario::load(&arguments.scenario) {
        Ok(scenario) => scenario,
        Err(error) => return fail(error, BAD_INPUT),
    };
    if let Some(vmm) = arguments.vmm {
        scenario.run.vmm = vmm;
    }
    if arguments.run_dir.is_some() && !scenario.vms.iter().any(|vm| vm.external) {
        let error = "--run-dir is where VMs with `external = true` find their cards, and the scenario has none";
        return fail(format!("{error}\n  remedy: run without it"), BAD_INPUT);
    }
    if let Err(error) = feasible(&scenario) {
        return fail(format!("{error:#}"), BAD_INPUT);
    }
    let setup = match Setup::load() {
        Ok(setup) => setup,
        Err(error) => return fail(format!("{error:#}"), 1),
    };
    if let Err(error) = available(&scenario, &setup, arguments.kernel.as_deref()) {
        return fail(format!("{error:#}"), BAD_INPUT);
    }
    let options = Options {
        out: arguments
            .out
            .clone()
            .unwrap_or_else(|| harness::default_output(&scenario)),
        kernel: arguments.kernel.clone(),
        stream: if arguments.json {
            Stream::Error
        } else {
            Stream::Out
        },
        hold: match (arguments.hold, arguments.no_hold) {
            (true, _) => Hold::UntilInterrupted,
            (false, true) => Hold::No,
            (false, false) => Hold::WhileExternal,
        },
        trace: arguments.trace.clone(),
        run_dir: arguments
            .run_dir
            .clone()
            .map(|folder| (folder, arguments.run_group.clone())),
    };
    let files = match arguments.files.open() {
        Ok(files) => files,
        Err(error) => return fail(format!("{error:#}"), BAD_INPUT),
    };
    match harness::run(&scenario, &setup, &options) {
        Ok(ended) => conclude(&ended, arguments.json, files, &options),
        Err(error) => fail(format!("{error:#}"), 1),
    }
}

/// The last words of a run, and its exit code.
fn conclude(ended: &Ended, json: bool, mut files: Open, options: &Options) -> ExitCode {
    let report = &ended.report;
    let written = files.write(report);
    if json {
        print(&serde_json::to_string_pretty(report).unwrap_or_default());
    } else {
        if let Some(figures) = &ended.trace {
            print(&figures.text(&std::io::stdout()));
        }
        print(&summary::line(report, &options.out));
    }
    match ended.too_busy() {
        Some(line) if json => eprintln!("airlane: {line}"),
        Some(line) => print(&line),
        None => {}
    }
    match &ended.stop {
        Some(stop) => fail(stop, stop.exit_code()),
        None if written.is_err() => done(written),
        None if report.passed => ExitCode::SUCCESS,
        None => ExitCode::FAILURE,
    }
}

fn doctor(json: bool) -> ExitCode {
    let findings = doctor::examine();
    print(&if json {
        doctor::json(&findings)
    } else {
        doctor::text(&findings)
    });
    ExitCode::from(u8::from(findings.iter().any(|finding| !finding.ok)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn help_shows_examples() {
        let help = Cli::command().render_long_help().to_string();
        assert!(
            help.contains("airlane run scenarios/two-networks.toml"),
            "{help}"
        );
    }
}
