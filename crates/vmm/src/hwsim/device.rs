//! The device as the vhost-user framework sees it: features, queues, events.
//!
//! Locks: [`Backend`] and each virtqueue stand behind a mutex, as the framework wants. One worker
//! thread takes them for the data path; the connection's thread takes them only while the front
//! end configures the device, so they are free whenever frames move. No error leaves
//! [`VhostUserBackend::handle_event`]: it would end the worker.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use vhost::vhost_user::message::{VhostUserProtocolFeatures, VhostUserVirtioFeatures};
use vhost_user_backend::{ShutdownHandle, VhostUserBackend, VringMutex};
use virtio_bindings::virtio_config::VIRTIO_F_VERSION_1;
use virtio_bindings::virtio_ring::{VIRTIO_RING_F_EVENT_IDX, VIRTIO_RING_F_INDIRECT_DESC};
use vmm_sys_util::epoll::EventSet;
use vmm_sys_util::event::{
    EventConsumer, EventFlag, EventNotifier, new_event_consumer_and_notifier,
};
use vmm_sys_util::eventfd::EventFd;

use super::backend::{Atomic, Backend, RX, TX};
use crate::wake::drain;

const QUEUES: usize = 2;
/// Entries per queue at most.
const QUEUE_SIZE: usize = 1024;
/// The event number of the medium's wake-up: the first that the framework leaves free.
pub const WAKE: u16 = QUEUES as u16 + 1;

/// The device.
pub struct Device {
    backend: Mutex<Backend>,
    wake: EventFd,
    connection: Mutex<Option<ShutdownHandle>>,
}

impl Device {
    /// `wake` is what the medium fires.
    pub fn new(backend: Backend, wake: EventFd) -> Self {
        Self {
            backend: Mutex::new(backend),
            wake,
            connection: Mutex::new(None),
        }
    }

    /// The connection that is being served from now on, if any.
    pub fn set_connection(&self, handle: Option<ShutdownHandle>) {
        *self
            .connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = handle;
    }

    /// Ends the connection that is being served.
    pub fn end_connection(&self) {
        let connection = self.connection.lock();
        if let Some(handle) = connection.unwrap_or_else(PoisonError::into_inner).as_ref() {
            handle.shutdown();
        }
    }

    /// What the medium fires.
    pub fn wake(&self) -> &EventFd {
        &self.wake
    }

    /// The state. A thread that died while it held the lock does not take the others with it.
    pub fn backend(&self) -> MutexGuard<'_, Backend> {
        self.backend.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl VhostUserBackend for Device {
    type Bitmap = ();
    type Vring = VringMutex<Atomic>;

    fn num_queues(&self) -> usize {
        QUEUES
    }

    fn max_queue_size(&self) -> usize {
        QUEUE_SIZE
    }

    fn features(&self) -> u64 {
        1 << VIRTIO_F_VERSION_1
            | 1 << VIRTIO_RING_F_INDIRECT_DESC
            | 1 << VIRTIO_RING_F_EVENT_IDX
            | VhostUserVirtioFeatures::PROTOCOL_FEATURES.bits()
    }

    fn protocol_features(&self) -> VhostUserProtocolFeatures {
        VhostUserProtocolFeatures::MQ | VhostUserProtocolFeatures::REPLY_ACK
    }

    fn set_event_idx(&self, _enabled: bool) {}

    fn update_memory(&self, memory: Atomic) -> io::Result<()> {
        if self.backend().memory(memory) {
            return Ok(());
        }
        Err(io::Error::from_raw_os_error(libc::EPERM))
    }

    fn stop_vring(&self, _queue: u32) -> io::Result<()> {
        self.backend().stopped();
        Ok(())
    }

    fn exit_event(&self, _thread: usize) -> Option<(EventConsumer, EventNotifier)> {
        let flags = EventFlag::CLOEXEC | EventFlag::NONBLOCK;
        new_event_consumer_and_notifier(flags).ok()
    }

    fn handle_event(
        &self,
        event: u16,
        _events: EventSet,
        vrings: &[Self::Vring],
        _thread: usize,
    ) -> io::Result<()> {
        let (Some(tx), Some(rx)) = (vrings.get(TX), vrings.get(RX)) else {
            return Ok(());
        };
        let mut backend = self.backend();
        if event == WAKE {
            drain(&self.wake);
        } else {
            backend.started();
        }
        backend.exchange((usize::from(event) == TX).then_some(tx), rx);
        let broken = backend.is_broken();
        drop(backend);
        if broken {
            self.end_connection();
        }
        Ok(())
    }
}
