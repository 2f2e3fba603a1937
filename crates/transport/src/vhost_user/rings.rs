//! What a front end sets up, message by message: features, guest memory, virtqueues. What the device has to hear of it is
//! kept as [`Change`]s, for who serves it.
//!
//! Source: docs/interop/vhost-user in QEMU. Lengths, numbers of descriptors and whether a message was negotiated are
//! checked by the `vhost` crate before a request comes here.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustix::fs::OFlags;
use vhost::vhost_user::VhostUserBackendReqHandlerMut;
use vhost::vhost_user::message::{
    VhostTransferStateDirection, VhostTransferStatePhase, VhostUserConfigFlags, VhostUserInflight,
    VhostUserLog, VhostUserMemoryRegion, VhostUserProtocolFeatures, VhostUserShMemConfig,
    VhostUserSharedMsg, VhostUserSingleMemoryRegion, VhostUserVirtioFeatures,
    VhostUserVringAddrFlags, VhostUserVringState,
};
use vhost::vhost_user::{Backend as Requests, Error, GpuBackend, Result};
use virtio_bindings::virtio_config::VIRTIO_F_VERSION_1;
use virtio_bindings::virtio_ring::{VIRTIO_RING_F_EVENT_IDX, VIRTIO_RING_F_INDIRECT_DESC};
use virtio_queue::QueueT;
use vm_memory::{GuestAddress, GuestRegionMmap};

use super::backend::Backend;
use super::vring::{Guest, MAX_ENTRIES, Vring};

/// What a device has to hear.
pub enum Change {
    /// See [`Backend::memory`].
    Memory(Arc<Guest>),
    /// See [`Backend::negotiated`].
    Negotiated(u64),
    /// See [`Backend::stopped`].
    Stopped,
}

/// A region of guest memory: addresses of the front end's process, and of the guest.
struct Mapping {
    front_end: u64,
    size: u64,
    guest: u64,
}

/// One front end's set-up.
pub struct Rings {
    /// The virtqueues.
    pub vrings: Vec<Vring>,
    features: u64,
    config: Vec<u8>,
    memory: Option<Arc<Guest>>,
    mappings: Vec<Mapping>,
    changes: Vec<Change>,
    /// The front end's ear for requests of ours. There are none; User Mode Linux must have it all the same, for its virtqueues'
    /// interrupts share the number of this one, and takes its closing for the end of the device.
    requests: Option<Requests>,
}

impl Rings {
    /// Those of a device that nobody has set up.
    pub fn new(device: &impl Backend) -> io::Result<Self> {
        let vrings = (0..device.queues()).map(|_| Vring::new());
        let vrings = vrings.collect::<std::result::Result<_, _>>();
        Ok(Self {
            vrings: vrings.map_err(io::Error::other)?,
            features: device.features()
                | 1 << VIRTIO_F_VERSION_1
                | 1 << VIRTIO_RING_F_INDIRECT_DESC
                | 1 << VIRTIO_RING_F_EVENT_IDX
                | VhostUserVirtioFeatures::PROTOCOL_FEATURES.bits(),
            config: device.config().to_vec(),
            memory: None,
            mappings: Vec::new(),
            changes: Vec::new(),
            requests: None,
        })
    }

    /// What has changed since the last call, in order.
    pub fn take_changes(&mut self) -> Vec<Change> {
        std::mem::take(&mut self.changes)
    }

    fn vring(&mut self, index: impl Into<u32>) -> Result<&mut Vring> {
        let index = index.into() as usize;
        self.vrings.get_mut(index).ok_or(Error::InvalidParam)
    }

    /// The guest's address of what the front end knows by an address of its own.
    fn guest_address(&self, address: u64) -> Result<u64> {
        let mapping = self.mappings.iter().find_map(|mapping| {
            let offset = address.checked_sub(mapping.front_end)?;
            (offset < mapping.size).then(|| mapping.guest.checked_add(offset))?
        });
        mapping.ok_or(Error::InvalidParam)
    }
}

/// Reads of this descriptor, and writes to it, are never to wait.
fn never_waiting(file: File) -> Result<OwnedFd> {
    let set = |file: &File| {
        let flags = rustix::fs::fcntl_getfl(file)?;
        rustix::fs::fcntl_setfl(file, flags | OFlags::NONBLOCK)
    };
    let set = set(&file).map_err(|errno: rustix::io::Errno| Error::ReqHandlerError(errno.into()));
    set.map(|()| file.into())
}

const NOT_OFFERED: Error = Error::InvalidOperation("not offered");

impl VhostUserBackendReqHandlerMut for Rings {
    fn set_owner(&mut self) -> Result<()> {
        Ok(())
    }

    fn reset_owner(&mut self) -> Result<()> {
        Ok(())
    }

    fn reset_device(&mut self) -> Result<()> {
        Err(NOT_OFFERED)
    }

    fn get_features(&mut self) -> Result<u64> {
        Ok(self.features)
    }

    fn set_features(&mut self, features: u64) -> Result<()> {
        if features & !self.features != 0 {
            return Err(Error::InvalidParam);
        }
        // "If VHOST_USER_F_PROTOCOL_FEATURES has not been negotiated, the ring starts directly in the enabled state."
        let starts_enabled = features & VhostUserVirtioFeatures::PROTOCOL_FEATURES.bits() == 0;
        for vring in &mut self.vrings {
            vring
                .queue
                .set_event_idx(features & (1 << VIRTIO_RING_F_EVENT_IDX) != 0);
            if starts_enabled {
                vring.set_enabled(true);
            }
        }
        self.changes.push(Change::Negotiated(features));
        Ok(())
    }

    fn set_mem_table(
        &mut self,
        regions: &[VhostUserMemoryRegion],
        files: Vec<File>,
        _postcopy: Option<bool>,
    ) -> Result<Option<Vec<u64>>> {
        let mut mapped = Vec::new();
        let mut mappings = Vec::new();
        for (region, file) in regions.iter().zip(files) {
            let base = GuestAddress(region.guest_phys_addr);
            let region_mapped = GuestRegionMmap::new(region.mmap_region(file)?, base);
            mapped.push(region_mapped.ok_or(Error::InvalidParam)?);
            mappings.push(Mapping {
                front_end: region.user_addr,
                size: region.memory_size,
                guest: region.guest_phys_addr,
            });
        }
        let memory = Guest::from_regions(mapped);
        let memory = memory.map_err(|error| Error::ReqHandlerError(io::Error::other(error)))?;
        let memory = Arc::new(memory);
        self.changes.push(Change::Memory(Arc::clone(&memory)));
        (self.memory, self.mappings) = (Some(memory), mappings);
        Ok(None)
    }

    fn set_vring_num(&mut self, index: u32, entries: u32) -> Result<()> {
        let entries = u16::try_from(entries).ok();
        let entries = entries.filter(|entries| (1..=MAX_ENTRIES).contains(entries));
        self.vring(index)?
            .queue
            .set_size(entries.ok_or(Error::InvalidParam)?);
        Ok(())
    }

    fn set_vring_addr(
        &mut self,
        index: u32,
        _flags: VhostUserVringAddrFlags,
        descriptors: u64,
        used: u64,
        available: u64,
        _log: u64,
    ) -> Result<()> {
        let descriptors = self.guest_address(descriptors)?;
        let available = self.guest_address(available)?;
        let used = self.guest_address(used)?;
        let memory = self.memory.clone().ok_or(Error::InvalidParam)?;
        let queue = &mut self.vring(index)?.queue;
        let set = queue
            .try_set_desc_table_address(GuestAddress(descriptors))
            .and_then(|()| queue.try_set_avail_ring_address(GuestAddress(available)))
            .and_then(|()| queue.try_set_used_ring_address(GuestAddress(used)));
        set.map_err(|_| Error::InvalidParam)?;
        // SET_VRING_BASE tells the index of the available ring only; that of the used ring is where the driver has it.
        let next = queue.used_idx(&*memory, Ordering::Relaxed);
        queue.set_next_used(next.map_err(|_| Error::InvalidParam)?.0);
        Ok(())
    }

    fn set_vring_base(&mut self, index: u32, base: u32) -> Result<()> {
        let base = u16::try_from(base).map_err(|_| Error::InvalidParam)?;
        self.vring(index)?.queue.set_next_avail(base);
        Ok(())
    }

    fn get_vring_base(&mut self, index: u32) -> Result<VhostUserVringState> {
        let base = self.vring(index)?.stop();
        self.changes.push(Change::Stopped);
        Ok(VhostUserVringState::new(index, base.into()))
    }

    fn set_vring_kick(&mut self, index: u8, file: Option<File>) -> Result<()> {
        let kick = file.map(never_waiting).transpose()?;
        self.vring(index)?.set_kick(kick);
        Ok(())
    }

    fn set_vring_call(&mut self, index: u8, file: Option<File>) -> Result<()> {
        let call = file.map(never_waiting).transpose()?;
        self.vring(index)?.set_call(call);
        Ok(())
    }

    fn set_vring_err(&mut self, index: u8, _file: Option<File>) -> Result<()> {
        self.vring(index).map(|_| ())
    }

    fn get_protocol_features(&mut self) -> Result<VhostUserProtocolFeatures> {
        let mut features = VhostUserProtocolFeatures::MQ
            | VhostUserProtocolFeatures::REPLY_ACK
            | VhostUserProtocolFeatures::BACKEND_REQ;
        features.set(VhostUserProtocolFeatures::CONFIG, !self.config.is_empty());
        Ok(features)
    }

    fn set_protocol_features(&mut self, _features: u64) -> Result<()> {
        Ok(())
    }

    fn get_queue_num(&mut self) -> Result<u64> {
        Ok(self.vrings.len() as u64)
    }

    fn set_vring_enable(&mut self, index: u32, enable: bool) -> Result<()> {
        self.vring(index)?.set_enabled(enable);
        Ok(())
    }

    fn get_config(&mut self, offset: u32, size: u32, _: VhostUserConfigFlags) -> Result<Vec<u8>> {
        let part = self.config.get(offset as usize..);
        let part = part.and_then(|part| part.get(..size as usize));
        part.map(<[u8]>::to_vec).ok_or(Error::InvalidParam)
    }

    fn set_config(&mut self, _offset: u32, _bytes: &[u8], _: VhostUserConfigFlags) -> Result<()> {
        Err(NOT_OFFERED)
    }

    fn set_backend_req_fd(&mut self, requests: Requests) {
        self.requests = Some(requests);
    }

    fn set_gpu_socket(&mut self, _socket: GpuBackend) -> Result<()> {
        Err(NOT_OFFERED)
    }

    fn get_shared_object(&mut self, _object: VhostUserSharedMsg) -> Result<File> {
        Err(NOT_OFFERED)
    }

    fn get_inflight_fd(&mut self, _: &VhostUserInflight) -> Result<(VhostUserInflight, File)> {
        Err(NOT_OFFERED)
    }

    fn set_inflight_fd(&mut self, _inflight: &VhostUserInflight, _file: File) -> Result<()> {
        Err(NOT_OFFERED)
    }

    fn get_max_mem_slots(&mut self) -> Result<u64> {
        Err(NOT_OFFERED)
    }

    fn add_mem_region(
        &mut self,
        _region: &VhostUserSingleMemoryRegion,
        _file: File,
        _postcopy: Option<bool>,
    ) -> Result<Option<u64>> {
        Err(NOT_OFFERED)
    }

    fn remove_mem_region(&mut self, _region: &VhostUserSingleMemoryRegion) -> Result<()> {
        Err(NOT_OFFERED)
    }

    fn set_device_state_fd(
        &mut self,
        _direction: VhostTransferStateDirection,
        _phase: VhostTransferStatePhase,
        _file: File,
    ) -> Result<Option<File>> {
        Err(NOT_OFFERED)
    }

    fn check_device_state(&mut self) -> Result<()> {
        Err(NOT_OFFERED)
    }

    fn get_shmem_config(&mut self) -> Result<VhostUserShMemConfig> {
        Err(NOT_OFFERED)
    }

    fn set_log_base(&mut self, _log: &VhostUserLog, _file: File) -> Result<()> {
        Err(NOT_OFFERED)
    }
}
