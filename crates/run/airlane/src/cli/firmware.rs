//! `airlane firmware`: writes the microcode that airlane's own guests load, for VMs that their user starts.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use airlane_iwl::{Model, microcode};
use anyhow::{Context, Result, bail};
use serde_json::json;

/// What `--help` adds.
pub const EXAMPLES: &str = "\
What for: the vendor's files for these cards declare no management frame protection, so with them Linux joins no network
that requires it (WPA3-SAE, OWE); all else works with them. This file declares it. The card is emulated and runs neither.

Examples:
  airlane firmware                              iwlwifi-5000-5.ucode (models 5100 and 5300), here
  airlane firmware --model 6205 --out /tmp/fw   iwlwifi-6000g2a-6.ucode, in another folder

Into a disk image, while the VM is off:
  virt-customize -a disk.qcow2 --mkdir /usr/lib/firmware/updates --copy-in iwlwifi-5000-5.ucode:/usr/lib/firmware/updates
Or hand it over as a drive, by two more words for QEMU (in the guest: mount -o ro /dev/vda1 /mnt, or the next free letter):
  -drive file=fat:FOLDER,format=raw,if=virtio,readonly=on

In the guest, as root: what lies in updates/ goes before the package's own file, which stays as it is
  install -D -m 644 /mnt/iwlwifi-5000-5.ucode -t /lib/firmware/updates
  modprobe -r iwldvm iwlwifi; modprobe iwlwifi
  iw phy | grep CMAC                            says that management frames can be protected";

/// Arguments of `airlane firmware`.
#[derive(clap::Args)]
pub struct Arguments {
    /// The model of card that the VM sees: 5100, 5300, 6200, 6205 or 6300
    #[arg(long, value_name = "MODEL", default_value = "5300", value_parser = model)]
    model: Model,
    /// The folder that it is written into; made if need be
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
    /// What was written, as JSON on standard output
    #[arg(long)]
    json: bool,
}

fn model(text: &str) -> Result<Model, String> {
    let all = Model::ALL.map(|model| model.to_string()).join(", ");
    let found = text.parse::<Model>();
    found.map_err(|error| format!("{error}; use one of: {all}"))
}

/// Writes the file; says where.
pub fn firmware(arguments: &Arguments) -> Result<()> {
    let (model, name) = (arguments.model, microcode::file_name(arguments.model));
    std::fs::create_dir_all(&arguments.out)
        .with_context(|| format!("cannot make the folder {}", arguments.out.display()))?;
    let path = arguments.out.join(name);
    write_new(&path, &microcode::image(model))?;
    let text = if arguments.json {
        json!({"model": model.to_string(), "name": name, "path": path}).to_string()
    } else {
        format!(
            "{}: for the driver of a {model}; put it into the guest's /lib/firmware/updates (airlane firmware --help says how)",
            path.display()
        )
    };
    writeln!(std::io::stdout().lock(), "{text}")?;
    Ok(())
}

/// Writes a file that is not there; one that is there must be the same. The vendor's, of the same name, is not lost.
fn write_new(path: &Path, content: &[u8]) -> Result<()> {
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    match file {
        Ok(mut file) => file
            .write_all(content)
            .with_context(|| format!("cannot write {}", path.display())),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            if std::fs::read(path).is_ok_and(|there| there == content) {
                return Ok(());
            }
            bail!(
                "{} is there already and is another file, perhaps the vendor's\n  remedy: remove it, or name another folder with --out",
                path.display()
            )
        }
        Err(error) => Err(error).with_context(|| format!("cannot write {}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_the_vendor_is_never_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("iwlwifi-5000-5.ucode");
        for _ in 0..2 {
            write_new(&path, b"ours").unwrap();
        }
        let error = write_new(&path, b"newer").unwrap_err().to_string();
        assert!(error.contains("remedy: remove it"), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), b"ours");
    }

    #[test]
    fn an_unknown_model_is_told_which_there_are() {
        let error = model("4965").unwrap_err();
        assert!(
            error.ends_with("use one of: 5100, 5300, 6200, 6205, 6300"),
            "{error}"
        );
        assert_eq!(model("6205"), Ok(Model::Wifi6205));
    }
}
