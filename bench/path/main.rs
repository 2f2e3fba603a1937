//! What a frame costs on its way from a guest's doorbell to the NIC and back, and from the medium into
//! a guest's buffer: time-stamp ticks and allocations, in one thread. First without airtime and with warm
//! caches, which is the least that a frame can take; then with the real medium, and with cold caches.
//!
//! Real descriptors in fake guest memory, the daemon's own state machines, the rings of its lanes.
//! Not here: sockets, wake-ups, threads, and the guest.
//!
//! `cargo bench`, `cargo bench -- --json`, `cargo bench -- --quick`.

mod behind;
mod caches;
mod cases;
mod found;
mod frames;
mod probe;
mod report;
mod translation;
mod world;

use std::process::ExitCode;

use cases::measure;
use found::Effort;
use probe::Ticks;
use report::Findings;

const FULL: Effort = Effort {
    rounds: 21,
    frames: 1_600,
};
const QUICK: Effort = Effort {
    rounds: 5,
    frames: 320,
};

struct Options {
    json: bool,
    effort: Effort,
}

fn main() -> ExitCode {
    match options(std::env::args().skip(1)) {
        Ok(options) => {
            run(&options);
            ExitCode::SUCCESS
        }
        Err(unknown) => {
            eprintln!("unknown option {unknown}: there are --json and --quick");
            ExitCode::from(2)
        }
    }
}

/// Cargo passes `--bench` when it benchmarks and nothing when it tests: then a quick run will do.
fn options(arguments: impl Iterator<Item = String>) -> Result<Options, String> {
    let (mut json, mut quick, mut bench) = (false, false, false);
    for argument in arguments {
        match argument.as_str() {
            "--bench" => bench = true,
            "--json" => json = true,
            "--quick" => quick = true,
            _ => return Err(argument),
        }
    }
    let effort = if bench && !quick { FULL } else { QUICK };
    Ok(Options { json, effort })
}

fn run(options: &Options) {
    let ticks = Ticks::new();
    let (outcomes, baselines) = measure(&ticks, options.effort);
    let translations = translation::measure(&ticks, options.effort);
    let findings = Findings {
        outcomes,
        translations,
        baselines,
        rounds: options.effort.rounds,
        frames: options.effort.frames,
    };
    if options.json {
        findings.print_json(&ticks);
    } else {
        findings.print(&ticks);
    }
}
