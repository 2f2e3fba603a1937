//! A device as the vhost-user framework sees it: features, queues, events.
//!
//! Locks: the [`Backend`] and each virtqueue stand behind a mutex, as the framework wants. One worker
//! thread takes them for the data path; the connection's thread takes them only while the front
//! end configures the device, so they are free whenever frames move. No error leaves
//! [`VhostUserBackend::handle_event`]: it would end the worker.

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use vhost::vhost_user::Backend as Requests;
use vhost::vhost_user::message::{VhostUserProtocolFeatures, VhostUserVirtioFeatures};
use vhost_user_backend::{ShutdownHandle, VhostUserBackend};
use virtio_bindings::virtio_config::VIRTIO_F_VERSION_1;
use virtio_bindings::virtio_ring::{VIRTIO_RING_F_EVENT_IDX, VIRTIO_RING_F_INDIRECT_DESC};
use vmm_sys_util::epoll::EventSet;
use vmm_sys_util::event::{
    EventConsumer, EventFlag, EventNotifier, new_event_consumer_and_notifier,
};
use vmm_sys_util::eventfd::EventFd;
use vmm_sys_util::timerfd::TimerFd;

use super::{Atomic, Backend, Event, QUEUES, Vring};
use crate::wake::drain;

/// Entries per queue at most.
const QUEUE_SIZE: usize = 1024;
/// The event number of the radio's wake-up: the first that the framework leaves free.
pub const WAKE: u16 = QUEUES as u16 + 1;
/// That of the timer that ends a rest.
pub const TIMER: u16 = WAKE + 1;

/// The device.
pub struct Device<B> {
    backend: Mutex<B>,
    wake: EventFd,
    timer: Mutex<Option<TimerFd>>,
    connection: Mutex<Option<ShutdownHandle>>,
    /// The front end's ear for requests of ours. There are none; User Mode Linux must have it all the same, for its virtqueues'
    /// interrupts share the number of this one, and takes its closing for the end of the device.
    requests: Mutex<Option<Requests>>,
}

impl<B> Device<B> {
    /// `wake` is what the radio fires.
    pub fn new(backend: B, wake: EventFd) -> Self {
        Self {
            backend: Mutex::new(backend),
            wake,
            timer: Mutex::new(None),
            connection: Mutex::new(None),
            requests: Mutex::new(None),
        }
    }

    /// The connection that is being served from now on, if any.
    pub fn set_connection(&self, handle: Option<ShutdownHandle>) {
        if handle.is_none() {
            self.set_requests(None);
        }
        *self
            .connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = handle;
    }

    /// The descriptor of a new timer.
    pub fn timer(&self) -> io::Result<RawFd> {
        let timer = TimerFd::new()?;
        let fd = timer.as_raw_fd();
        *self.timer.lock().unwrap_or_else(PoisonError::into_inner) = Some(timer);
        Ok(fd)
    }

    /// Has the device looked at again after `limit`.
    fn rest(&self, limit: Duration) {
        let mut timer = self.timer.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(timer) = timer.as_mut() {
            // A timer of zero would never fire.
            let _ = timer.reset(limit.max(Duration::from_nanos(1)), None);
        }
    }

    /// Takes note that the timer has fired.
    fn rested(&self) {
        let mut timer = self.timer.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(timer) = timer.as_mut() {
            let _ = timer.wait();
        }
    }

    fn set_requests(&self, requests: Option<Requests>) {
        *self.requests.lock().unwrap_or_else(PoisonError::into_inner) = requests;
    }

    /// Ends the connection that is being served.
    pub fn end_connection(&self) {
        let connection = self.connection.lock();
        if let Some(handle) = connection.unwrap_or_else(PoisonError::into_inner).as_ref() {
            handle.shutdown();
        }
    }

    /// What the radio fires.
    pub fn wake(&self) -> &EventFd {
        &self.wake
    }

    /// The state. A thread that died while it held the lock does not take the others with it.
    pub fn backend(&self) -> MutexGuard<'_, B> {
        self.backend.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<B: Backend> VhostUserBackend for Device<B> {
    type Bitmap = ();
    type Vring = Vring;

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
        VhostUserProtocolFeatures::MQ
            | VhostUserProtocolFeatures::REPLY_ACK
            | VhostUserProtocolFeatures::BACKEND_REQ
    }

    fn set_backend_req_fd(&self, requests: Requests) {
        self.set_requests(Some(requests));
    }

    fn set_event_idx(&self, _enabled: bool) {}

    fn update_memory(&self, memory: Atomic) -> io::Result<()> {
        self.backend().memory(memory);
        Ok(())
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
        let [first, second] = vrings else {
            return Ok(());
        };
        match event {
            WAKE => drain(&self.wake),
            TIMER => self.rested(),
            _ => {}
        }
        let event = match event {
            WAKE | TIMER => Event::Woken,
            queue => Event::Notified(usize::from(queue)),
        };
        let mut backend = self.backend();
        backend.event(event, [first, second]);
        let (broken, limit) = (backend.is_broken(), backend.sleep_limit());
        drop(backend);
        if let Some(limit) = limit {
            self.rest(limit);
        }
        if broken {
            self.end_connection();
        }
        Ok(())
    }
}
