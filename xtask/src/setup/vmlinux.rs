//! Takes the kernel proper out of a `bzImage`.
//!
//! QEMU starts it directly (PVH boot): the very same kernel, but the guest need not unpack it first, which
//! takes most of the boot time under emulation. Layout: Linux x86 boot protocol, `Documentation/arch/x86/boot.rst`.

use std::fs::File;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, bail};

use super::tool;
use super::tree::Tree;

const MAGIC: (usize, &[u8]) = (0x202, b"HdrS");
const SETUP_SECTORS: usize = 0x1f1;
const PAYLOAD_OFFSET: usize = 0x248;
const PAYLOAD_LENGTH: usize = 0x24c;
const SECTOR: usize = 512;
/// The build appends the unpacked size to the payload.
const SIZE_FIELD: usize = 4;

/// Unpacks `image` into the file `vmlinux`, with the unpackers of `tools`.
pub fn extract(image: &Path, vmlinux: &Path, tools: &Tree) -> Result<()> {
    let bytes = std::fs::read(image).with_context(|| format!("cannot read {}", image.display()))?;
    let (payload, size) =
        payload(&bytes).with_context(|| format!("{} is not a kernel image", image.display()))?;
    let packed = vmlinux.with_extension("packed");
    std::fs::write(&packed, payload)
        .with_context(|| format!("cannot write {}", packed.display()))?;

    let unpacker = unpacker(payload)?;
    let out =
        File::create(vmlinux).with_context(|| format!("cannot make {}", vmlinux.display()))?;
    let mut command = tools.command(unpacker)?;
    command
        .arg("-dc")
        .stdin(File::open(&packed)?)
        .stdout(Stdio::from(out));
    tool::run_quietly(&mut command)?;
    std::fs::remove_file(&packed)?;

    let unpacked = std::fs::metadata(vmlinux)?.len();
    if unpacked != u64::from(size) {
        bail!(
            "{unpacker} made {unpacked} bytes of {}, {size} were expected",
            image.display()
        );
    }
    Ok(())
}

/// The packed kernel and its unpacked size.
fn payload(image: &[u8]) -> Option<(&[u8], u32)> {
    if !image.get(MAGIC.0..)?.starts_with(MAGIC.1) {
        return None;
    }
    let setup = (usize::from(*image.get(SETUP_SECTORS)?) + 1) * SECTOR;
    let start = setup + word(image, PAYLOAD_OFFSET)? as usize;
    let length = word(image, PAYLOAD_LENGTH)? as usize;
    let payload = image.get(start..start.checked_add(length)?)?;
    let end = length.checked_sub(SIZE_FIELD)?;
    Some((&payload[..end], word(payload, end)?))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes(*bytes))
}

fn unpacker(payload: &[u8]) -> Result<&'static str> {
    match payload {
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Ok("xz"),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Ok("zstd"),
        _ => bail!("the kernel is packed in an unknown way"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image() -> Vec<u8> {
        let mut image = vec![0; 1024 + 16];
        image[MAGIC.0..MAGIC.0 + 4].copy_from_slice(MAGIC.1);
        image[SETUP_SECTORS] = 1;
        image[PAYLOAD_OFFSET] = 4;
        image[PAYLOAD_LENGTH] = 12;
        image[1028..1036].copy_from_slice(b"payload!");
        image[1036] = 77;
        image
    }

    #[test]
    fn the_payload_ends_before_the_size() {
        assert_eq!(payload(&image()), Some((&b"payload!"[..], 77)));
    }

    #[test]
    fn no_prefix_of_an_image_panics() {
        let image = image();
        assert!((0..image.len()).all(|end| payload(&image[..end]).is_none()));
    }
}
