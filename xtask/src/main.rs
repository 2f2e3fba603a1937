//! Chores of the airlane workspace. `cargo xtask setup` fetches and builds what airlane runs on:
//! a private QEMU, guest kernels and guest images.

// Chores run in real time: they show how long a step took and give up on a guest that does not boot.
#![allow(clippy::disallowed_methods)]

mod setup;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(about = "Chores of the airlane workspace")]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Fetches and builds QEMU, guest kernels and guest images into the user's cache folder.
    Setup(setup::Options),
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().chore {
        Chore::Setup(options) => setup::run(&options),
    }
}
