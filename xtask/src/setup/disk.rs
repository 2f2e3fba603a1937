//! The disk of a stranger's VM: Debian 13 with systemd, NetworkManager, Debian's kernel and Debian's firmware files,
//! which boots by its own GRUB. Nothing of airlane is on it.
//!
//! What an owner would have set by hand: root logs in on the serial console without a password.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::apt::Release;
use super::cache::{self, Artefact, Cache, Recipe};
use super::debian::{System, inside};
use super::tool;
use super::tree::Tree;

const IMAGE: &str = "disk.raw";
const SYSTEM: System = System {
    release: Release {
        name: "trixie",
        preferred: None,
    },
    components: "main non-free-firmware",
    packages: "systemd-sysv,udev,dbus,login,network-manager,wpasupplicant,iproute2,iputils-ping,iw,zstd,\
               linux-image-amd64,firmware-iwlwifi,wireless-regdb,e2fsprogs,grub-pc-bin,grub2-common",
    // The initial file system holds what this machine needs, and not the drivers of all others: it boots by emulation.
    prepare: "mkdir -p \"$1\"/etc/initramfs-tools/conf.d && \
              echo MODULES=list > \"$1\"/etc/initramfs-tools/conf.d/airlane && \
              printf '%s\\n' virtio_pci virtio_blk ext4 > \"$1\"/etc/initramfs-tools/modules",
};
/// Files of the system, by their paths.
const FILES: [(&str, &str); 5] = [
    ("etc/hostname", "stranger\n"),
    ("etc/hosts", "127.0.0.1 localhost stranger\n"),
    ("etc/fstab", "/dev/vda1 / ext4 defaults 0 1\n"),
    (
        "etc/systemd/system/serial-getty@ttyS0.service.d/login.conf",
        "[Service]\nExecStart=\nExecStart=-/sbin/agetty --autologin root --keep-baud 115200 - vt102\n",
    ),
    (
        "boot/grub/grub.cfg",
        "set timeout=0\nmenuentry Debian {\n  linux /vmlinuz root=/dev/vda1 console=ttyS0 quiet\n  \
         initrd /initrd.img\n}\n",
    ),
];
const GRUB: &str = "usr/lib/grub/i386-pc";
/// GRUB's parts that find and read `grub.cfg`; it loads the rest itself.
const GRUB_MODULES: [&str; 7] = [
    "biosdisk",
    "part_msdos",
    "ext2",
    "normal",
    "linux",
    "minicmd",
    "serial",
];
const SECTOR: u64 = 512;
/// The size of the disk, most of it a hole.
const SIZE: u64 = 3 << 30;
/// Where its only partition begins; GRUB lies in front of it.
const PARTITION: u64 = 1 << 20;

/// Builds the disk.
pub fn ensure(cache: &Cache) -> Result<Artefact> {
    cache.ensure(&recipe(), |folder| {
        let root = folder.join("root");
        fs::create_dir(&root)?;
        SYSTEM.install(cache, &root)?;
        let release = kernel(&root)?;
        write_files(&root)?;
        write_image(&root, &image(folder))?;
        cache::remove(&root)?;
        Ok(release)
    })
}

/// The disk, if an earlier run made it.
pub fn present(cache: &Cache) -> Result<Option<PathBuf>> {
    Ok(cache.find(&recipe())?.map(|one| image(&one.path)))
}

fn recipe() -> Recipe {
    let inputs = format!("{SYSTEM:?} {FILES:?} {GRUB_MODULES:?} {SIZE} {PARTITION}");
    Recipe::new("own-vm-disk").with(inputs).with("1")
}

fn image(folder: &Path) -> PathBuf {
    folder.join(IMAGE)
}

/// The release of its kernel.
fn kernel(root: &Path) -> Result<String> {
    let link = fs::read_link(root.join("vmlinuz")).context("no kernel was installed")?;
    let name = link.file_name().unwrap_or_default().to_string_lossy();
    Ok(name.trim_start_matches("vmlinuz-").to_owned())
}

fn write_files(root: &Path) -> Result<()> {
    for (path, content) in FILES {
        let path = root.join(path);
        let folder = path.parent().context("a file in no folder")?;
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&path, content))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    // Empty, not "uninitialized": the first start asks nobody for a time zone.
    fs::write(root.join("etc/machine-id"), "")?;
    // What `grub-install` does, but for the disk, which it would look for in this machine.
    let modules = root.join("boot/grub/i386-pc");
    fs::create_dir_all(&modules)?;
    for entry in fs::read_dir(root.join(GRUB))? {
        let from = entry?.path();
        let wanted = from
            .extension()
            .is_some_and(|end| end == "mod" || end == "lst");
        if let (true, Some(name)) = (wanted, from.file_name()) {
            fs::copy(&from, modules.join(name))?;
        }
    }
    let mut core = inside(root, "grub-mkimage");
    core.args([
        "-O",
        "i386-pc",
        "-p",
        "(hd0,msdos1)/boot/grub",
        "-o",
        "/core.img",
    ]);
    tool::run(core.args(GRUB_MODULES))?;
    Ok(())
}

/// A partition table, GRUB behind it, and the partition, filled from the folder.
fn write_image(root: &Path, image: &Path) -> Result<()> {
    let core = root.join("core.img");
    let boot = fs::read(root.join(GRUB).join("boot.img")).context("GRUB's boot.img")?;
    let grub = fs::read(&core).context("GRUB's core.img")?;
    fs::remove_file(&core)?;
    anyhow::ensure!(
        SECTOR + (grub.len() as u64) < PARTITION,
        "GRUB does not fit in front of the partition"
    );
    let mut file = File::create(image)?;
    file.set_len(SIZE)?;
    file.write_all(&boot_sector(&boot)?)?;
    file.seek(SeekFrom::Start(SECTOR))?;
    file.write_all(&grub)?;
    drop(file);
    let kibibytes = (SIZE - PARTITION) >> 10;
    // The program of the system itself: this machine may have none, or one that knows no folders.
    let mut format = Tree::new(root).command("mkfs.ext4")?;
    format
        .args(["-q", "-F", "-m", "0", "-L", "stranger", "-d"])
        .arg(root)
        .args(["-E", &format!("offset={PARTITION}")])
        .arg(image)
        .arg(format!("{kibibytes}k"));
    tool::run(&mut format)?;
    Ok(())
}

/// GRUB's boot sector with a table of one partition, which a BIOS may start.
fn boot_sector(boot: &[u8]) -> Result<[u8; 512]> {
    const TABLE: usize = 446;
    const LINUX: u8 = 0x83;
    let code = boot.get(..440).context("GRUB's boot.img is short")?;
    let (start, sectors) = (PARTITION / SECTOR, (SIZE - PARTITION) / SECTOR);
    let mut sector = [0; 512];
    sector[..440].copy_from_slice(code);
    sector[TABLE] = 0x80;
    sector[TABLE + 4] = LINUX;
    sector[TABLE + 8..TABLE + 12].copy_from_slice(&u32::try_from(start)?.to_le_bytes());
    sector[TABLE + 12..TABLE + 16].copy_from_slice(&u32::try_from(sectors)?.to_le_bytes());
    sector[510..].copy_from_slice(&[0x55, 0xaa]);
    Ok(sector)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_boot_sector_is_grubs_with_one_partition_behind_it() {
        let sector = boot_sector(&[7; 512]).unwrap();
        assert!(sector[..440].iter().all(|byte| *byte == 7));
        assert_eq!(sector[446..454], [0x80, 0, 0, 0, 0x83, 0, 0, 0]);
        assert_eq!(sector[454..458], 2048_u32.to_le_bytes());
        assert_eq!(sector[458..462], (6_291_456_u32 - 2048).to_le_bytes());
        assert_eq!(sector[510..], [0x55, 0xaa]);
        assert!(boot_sector(&[0; 439]).is_err());
    }
}
