//! `cargo xtask setup`: every step is skipped when its result is already in the cache.

mod accel;
mod apt;
mod boot;
pub mod cache;
mod debian;
mod disk;
mod image;
mod initramfs;
mod kernel;
mod libvirt_host;
mod manifest;
mod mirror;
mod modules;
mod passt;
mod progress;
mod qemu;
mod tool;
mod tree;
mod tshark;
mod uml;
mod userland;
mod vmlinux;

use anyhow::Result;
use clap::ValueEnum;

use cache::Cache;
use manifest::Manifest;
use progress::Progress;

/// What `cargo xtask setup` is asked for.
#[derive(clap::Args)]
pub struct Options {
    /// Which guest kernels to set up.
    #[arg(long, value_enum, default_value_t = KernelChoice::V6_1)]
    kernel: KernelChoice,
    /// Also set up a private tshark, which some tests use to check captures.
    #[arg(long)]
    with_tshark: bool,
    /// Also build User Mode Linux, a guest kernel that runs without QEMU: some 12 minutes of processor time.
    #[arg(long)]
    uml: bool,
    /// Also install, as root, what a test of a VM of one's own needs: a Debian 13 disk with NetworkManager, and a Debian 13
    /// machine with libvirt, each in a file or folder of the cache.
    #[arg(long)]
    own_vm: bool,
    /// Build everything again from the newest packages, whatever the cache holds.
    #[arg(long)]
    refresh: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum KernelChoice {
    #[value(name = "6.1")]
    V6_1,
    #[value(name = "6.12")]
    V6_12,
    All,
}

impl KernelChoice {
    fn wants(self, series: &kernel::Series) -> bool {
        match self {
            Self::V6_1 => series.version == "6.1",
            Self::V6_12 => series.version == "6.12",
            Self::All => true,
        }
    }
}

/// Sets up what is asked for and describes everything that the cache holds in `setup.json`.
pub fn run(options: &Options) -> Result<()> {
    let cache = Cache::open(options.refresh)?;
    let _lock = cache.lock()?;
    cache.remove_leftovers()?;

    let wanted = kernel::SERIES
        .iter()
        .filter(|series| options.kernel.wants(series));
    let wanted: Vec<_> = wanted.collect();
    let pairs = usize::from(options.uml) + usize::from(options.own_vm);
    let extra = usize::from(options.with_tshark) + 2 * pairs;
    let mut progress = Progress::new(5 + wanted.len() + extra);

    let qemu = progress.step("QEMU", || qemu::ensure(&cache))?;
    let userland = progress.step("guest programs", || userland::ensure(&cache))?;
    let base = progress.step("guest image", || image::ensure(&cache, &userland))?;
    for series in wanted {
        let name = format!("guest kernel {}", series.version);
        progress.step(&name, || kernel::ensure(&cache, series, &userland))?;
    }
    progress.step("passt", || passt::ensure(&cache))?;
    if options.with_tshark {
        progress.step("tshark", || tshark::ensure(&cache))?;
    }
    if options.uml {
        progress.step("User Mode Linux", || uml::ensure(&cache, &userland))?;
        let trial = || uml::try_out(&cache, &image::base(&base));
        progress.step("trial of User Mode Linux", trial)?;
    }
    if options.own_vm {
        progress.step("disk of a VM of one's own", || disk::ensure(&cache))?;
        progress.step("machine with libvirt", || libvirt_host::ensure(&cache))?;
    }
    let kernels = kernel::present(&cache)?;
    let accel = progress.step("accelerator", || {
        accel::ensure(&cache, &qemu, &kernels, &base)
    })?;

    let tshark = tshark::present(&cache)?;
    let passt = passt::present(&cache)?;
    let manifest = Manifest::new(&qemu, accel, &kernels, &base)?
        .with_tshark(tshark.as_ref())?
        .with_passt(passt.as_ref())?
        .with_uml(uml::present(&cache)?.as_ref())
        .with_own_vm(disk::present(&cache)?, libvirt_host::present(&cache)?);
    let path = manifest.write(&cache)?;
    eprintln!("ready: {}", path.display());
    Ok(())
}
