//! Chores of the airlane workspace. `cargo xtask setup` fetches and builds what airlane runs on:
//! a private QEMU, guest kernels and guest images. `cargo xtask test` runs all tests, stage by stage.

// Chores run in real time: they show how long a step took and give up on a guest that does not boot.
#![allow(clippy::disallowed_methods)]

mod setup;
mod test;

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
    /// Runs all tests, or the stages that are named, and closes with a table.
    Test(test::Options),
}

fn main() -> anyhow::Result<()> {
    match Cli::parse().chore {
        Chore::Setup(options) => setup::run(&options),
        Chore::Test(options) => test::run(&options),
    }
}
