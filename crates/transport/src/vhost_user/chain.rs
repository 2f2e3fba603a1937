//! The buffers of a virtqueue's descriptor chain: untrusted addresses and lengths, so each access is checked.

use virtio_queue::DescriptorChain;
use vm_memory::Bytes;

use super::vring::Guest;

/// Fills `target` from the readable descriptors of `chain`, as far as they reach; the filled part.
pub fn copy_in<'a>(
    chain: DescriptorChain<&Guest>,
    memory: &Guest,
    target: &'a mut [u8],
) -> Option<&'a [u8]> {
    let mut done = 0;
    for descriptor in chain.readable() {
        let rest = target.get_mut(done..).unwrap_or_default();
        let take = rest.len().min(descriptor.len() as usize);
        let part = rest.get_mut(..take)?;
        memory.read_slice(part, descriptor.addr()).ok()?;
        done += take;
    }
    target.get(..done)
}

/// Writes `bytes` into the writable descriptors of `chain`; `None` when they hold less.
pub fn copy_out(chain: DescriptorChain<&Guest>, memory: &Guest, bytes: &[u8]) -> Option<()> {
    let mut rest = bytes;
    for descriptor in chain.writable() {
        let (part, behind) = rest
            .split_at_checked(descriptor.len() as usize)
            .unwrap_or((rest, &[]));
        memory.write_slice(part, descriptor.addr()).ok()?;
        rest = behind;
    }
    rest.is_empty().then_some(())
}
