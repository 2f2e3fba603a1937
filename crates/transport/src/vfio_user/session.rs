//! One client's conversation: what each request does to the device, and what is answered.
//!
//! No I/O here. A request that makes sense but cannot be done is refused with an error number and
//! counted; one that breaks the protocol is [`Malformed`] and ends the connection.

use std::os::fd::OwnedFd;

use rustix::fs::SealFlags;
use vfio_bindings::bindings::vfio::*;

use super::irq::{self, Interrupts};
use super::maps::{Mapped, Maps};
use super::protocol::{
    self, DmaMap, DmaUnmap, Fds, Header, MAX_FDS, Malformed, Request, SetIrqs, Write,
};
use super::reply::{RegionInfo, Replies};
use crate::pci::{MappableRegion, PciDevice};
use crate::served::Counters;

const REGIONS: u32 = VFIO_PCI_NUM_REGIONS;
const CONFIG: u32 = VFIO_PCI_CONFIG_REGION_INDEX;
/// BAR 0 to 5.
const BARS: u8 = 6;

/// State of one connection.
#[derive(Default)]
pub struct Session {
    agreed: bool,
    maps: Maps,
    /// Interrupt state, for delivery after each batch.
    pub interrupts: Interrupts,
}

/// What one request works on.
pub struct Context<'a> {
    /// The card.
    pub device: &'a mut dyn PciDevice,
    /// Where answers go.
    pub replies: &'a mut Replies,
    /// Messages, accesses and refusals so far, for reports.
    pub counters: &'a mut Counters,
}

impl Session {
    /// Handles one message.
    pub fn handle(
        &mut self,
        header: &Header,
        body: &[u8],
        fds: Fds,
        context: &mut Context<'_>,
    ) -> Result<(), Malformed> {
        context.counters.messages += 1;
        let request = protocol::parse(header, body)?;
        self.check(header, &request, fds.len())?;
        if let Err(errno) = self.perform(header, &request, fds, context) {
            context.counters.refused += 1;
            if header.wants_reply {
                context.replies.error(header, errno);
            }
        }
        Ok(())
    }

    /// Ends the connection: the device keeps none of the client's memory.
    pub fn end(&mut self, device: &mut dyn PciDevice) {
        self.maps.clear(device.memory());
    }

    fn check(&self, header: &Header, request: &Request<'_>, fds: usize) -> Result<(), Malformed> {
        let command = header.command;
        let takes = match request {
            Request::DmaMap(_) => 1,
            Request::SetIrqs(_) => MAX_FDS,
            _ => 0,
        };
        match request {
            Request::Version { .. } if self.agreed => Err(Malformed::SecondVersion),
            Request::Version { .. } => Ok(()),
            _ if !self.agreed => Err(Malformed::BeforeVersion(command)),
            _ if fds > takes => Err(Malformed::Descriptors {
                command,
                count: fds,
            }),
            _ => Ok(()),
        }
    }

    fn perform(
        &mut self,
        header: &Header,
        request: &Request<'_>,
        mut fds: Fds,
        context: &mut Context<'_>,
    ) -> Result<(), i32> {
        match request {
            Request::Version { major, .. } => self.version(header, *major, context),
            Request::DmaMap(map) => self.map(header, map, fds.pop(), context),
            Request::DmaUnmap(unmap) => self.unmap(header, unmap, context),
            Request::GetInfo => device_info(header, context),
            Request::GetRegionInfo { argsz, index } => region_info(header, *argsz, *index, context),
            Request::GetIrqInfo { index } => irq_info(header, *index, context),
            Request::SetIrqs(set) => self.set_irqs(header, set, fds, context),
            Request::Read {
                region,
                offset,
                count,
            } => read(header, *region, *offset, *count, context),
            Request::Write(one) => write(header, one, context),
            Request::WriteMulti(many) => many
                .iter()
                .try_for_each(|one| write_region(&one, context))
                .map(|()| done(header, context)),
            Request::Reset => reset(header, context),
            Request::Unsupported(_) => Err(libc::ENOTSUP),
        }
    }

    fn version(
        &mut self,
        header: &Header,
        major: u16,
        context: &mut Context<'_>,
    ) -> Result<(), i32> {
        if major != 0 {
            return Err(libc::ENOTSUP);
        }
        self.agreed = true;
        context.replies.version(header);
        Ok(())
    }

    fn map(
        &mut self,
        header: &Header,
        map: &DmaMap,
        file: Option<OwnedFd>,
        context: &mut Context<'_>,
    ) -> Result<(), i32> {
        match self.maps.map(context.device.memory(), map, file)? {
            Mapped::Backed => context.counters.maps += 1,
            Mapped::Unbacked => context.counters.maps_without_file += 1,
        }
        done(header, context);
        Ok(())
    }

    fn unmap(
        &mut self,
        header: &Header,
        unmap: &DmaUnmap,
        context: &mut Context<'_>,
    ) -> Result<(), i32> {
        self.maps.unmap(context.device.memory(), unmap)?;
        context.counters.unmaps += 1;
        if header.wants_reply {
            context.replies.unmapped(header, unmap);
        }
        Ok(())
    }

    fn set_irqs(
        &mut self,
        header: &Header,
        set: &SetIrqs<'_>,
        events: Fds,
        context: &mut Context<'_>,
    ) -> Result<(), i32> {
        let vectors = context.device.msix_vectors();
        self.interrupts.set(set, events, vectors)?;
        done(header, context);
        Ok(())
    }
}

fn done(header: &Header, context: &mut Context<'_>) {
    if header.wants_reply {
        context.replies.words(header, &[]);
    }
}

fn device_info(header: &Header, context: &mut Context<'_>) -> Result<(), i32> {
    let flags = VFIO_DEVICE_FLAGS_RESET | VFIO_DEVICE_FLAGS_PCI;
    let words = [16, flags, REGIONS, irq::TYPES];
    context.replies.words(header, &words);
    Ok(())
}

fn region_info(
    header: &Header,
    argsz: u32,
    index: u32,
    context: &mut Context<'_>,
) -> Result<(), i32> {
    if argsz < 32 {
        return Err(libc::EINVAL);
    }
    let size = region_size(context.device, index).ok_or(libc::EINVAL)?;
    let info = RegionInfo { index, size };
    match bar(index).and_then(|bar| context.device.mappable(bar)) {
        None => context.replies.region_info(header, info),
        Some(region) => {
            let file = given_away(&region)?;
            context
                .replies
                .mappable_region(header, argsz, info, &region, file);
        }
    }
    Ok(())
}

/// A descriptor of the region's file for the client, who may do with the file what its seals allow.
fn given_away(region: &MappableRegion<'_>) -> Result<OwnedFd, i32> {
    let seals = rustix::fs::fcntl_get_seals(region.file);
    if !seals.is_ok_and(|seals| seals.contains(SealFlags::SHRINK)) {
        tracing::error!("a card's mappable region is not sealed against shrinking: it is kept");
        return Err(libc::EPERM);
    }
    let copy = region.file.try_clone_to_owned();
    copy.map_err(|error| error.raw_os_error().unwrap_or(libc::EMFILE))
}

fn irq_info(header: &Header, index: u32, context: &mut Context<'_>) -> Result<(), i32> {
    let vectors = context.device.msix_vectors();
    let (flags, count) = irq::info(index, vectors).ok_or(libc::EINVAL)?;
    context.replies.words(header, &[16, flags, index, count]);
    Ok(())
}

/// Size of a region, 0 when the device lacks it, `None` when VFIO knows no such region.
fn region_size(device: &dyn PciDevice, index: u32) -> Option<u64> {
    match (bar(index), index) {
        (Some(bar), _) => Some(device.bar_size(bar)),
        (None, CONFIG) => Some(device.config_size()),
        (None, _) if index < REGIONS => Some(0),
        (None, _) => None,
    }
}

/// The BAR that a region is.
fn bar(index: u32) -> Option<u8> {
    u8::try_from(index).ok().filter(|&bar| bar < BARS)
}

fn check_access(device: &dyn PciDevice, region: u32, offset: u64, count: usize) -> Result<(), i32> {
    let size = region_size(device, region).ok_or(libc::EINVAL)?;
    match offset.checked_add(count as u64) {
        Some(end) if end <= size => Ok(()),
        _ => Err(libc::EINVAL),
    }
}

fn read(
    header: &Header,
    region: u32,
    offset: u64,
    count: usize,
    context: &mut Context<'_>,
) -> Result<(), i32> {
    check_access(context.device, region, offset, count)?;
    context.counters.reads += 1;
    let data = context.replies.access(header, region, offset, count, count);
    match bar(region) {
        None => context.device.config_read(offset, data),
        Some(bar) => context.device.bar_read(bar, offset, data),
    }
    Ok(())
}

fn write(header: &Header, one: &Write<'_>, context: &mut Context<'_>) -> Result<(), i32> {
    write_region(one, context)?;
    if header.wants_reply {
        let count = one.data.len();
        let replies = &mut context.replies;
        replies.access(header, one.region, one.offset, count, 0);
    }
    Ok(())
}

fn write_region(one: &Write<'_>, context: &mut Context<'_>) -> Result<(), i32> {
    check_access(context.device, one.region, one.offset, one.data.len())?;
    context.counters.writes += 1;
    match bar(one.region) {
        None => context.device.config_write(one.offset, one.data),
        Some(bar) => context.device.bar_write(bar, one.offset, one.data),
    }
    Ok(())
}

fn reset(header: &Header, context: &mut Context<'_>) -> Result<(), i32> {
    context.device.reset();
    context.counters.resets += 1;
    done(header, context);
    Ok(())
}
