//! One VM's lane: the card as its VMM sees it, and the rings to and from the radio. Runs in a
//! thread of its own; nothing in it is shared with another VM.

use std::path::Path;
use std::sync::{Arc, Mutex};

use airlane_dma::Memory;
use airlane_iwl::{Counters, Device, Identity};
use airlane_lane::ring::{Receiver, Sender};
use airlane_lane::{DeviceEnd, LaneMessage, PollCounters};
use airlane_transport::{Ended, EventFd, LaneEnd, PciDevServer, VfioUserServer};
use airlane_waist::stamp::{FrameId, Point, Stamps};
use airlane_waist::{Command, Event, Request};

use super::config::Transport;
use super::reactor::BusyPoller;

/// What a lane reports. Written by the lane when it goes to sleep, read by whoever asks.
pub type LaneReport = Arc<Mutex<LaneCounters>>;

/// Counters of one lane.
#[derive(Clone, Copy, Debug, Default)]
pub struct LaneCounters {
    /// Of the card.
    pub card: Counters,
    /// Of its connection.
    pub transport: airlane_transport::Counters,
    /// Of its thread's polling.
    pub polling: PollCounters,
    /// Times that the radio had to wake its thread.
    pub wakes: u64,
}

/// Events that go into receive buffers together: fewer than the frames that a card lets wait for them.
pub(super) const DELIVERY: usize = 64;

/// With so many frames of a queue under way the radio is in time for the next when it has sent one.
const BACKLOG: usize = 4;

/// The card of one VM and its rings.
pub struct CardPort {
    device: Device,
    to_radio: Sender<LaneMessage<Request>>,
    from_radio: Receiver<Event>,
    report: LaneReport,
    poller: BusyPoller,
    transport: airlane_transport::Counters,
    /// A VMM is connected.
    attached: bool,
    /// The engine knows of a VMM, this one or one before it.
    told_attached: bool,
    /// A VMM has come since the engine was last told of one.
    is_new: bool,
}

impl CardPort {
    /// A card that has not been attached yet.
    pub fn new(
        identity: Identity,
        memory: Memory,
        lane: DeviceEnd<LaneMessage<Request>, Event>,
        report: LaneReport,
        stamps: Stamps,
        poller: BusyPoller,
    ) -> Self {
        let mut device = Device::new(identity).with_memory(memory);
        *device.stamps() = stamps;
        Self {
            device,
            to_radio: lane.requests,
            from_radio: lane.events,
            report,
            poller,
            transport: airlane_transport::Counters::default(),
            attached: false,
            told_attached: false,
            is_new: false,
        }
    }

    /// Opens the socket to which the VMM attaches. `wake` is what the radio fires.
    pub fn bind(
        self,
        transport: Transport,
        socket: &Path,
        wake: EventFd,
    ) -> anyhow::Result<BoundCard> {
        Ok(match transport {
            Transport::VfioUser => BoundCard::VfioUser {
                server: Box::new(VfioUserServer::bind(socket)?),
                port: Box::new(self),
                wake,
            },
            Transport::PciDev => {
                BoundCard::PciDev(Box::new(PciDevServer::bind(socket, self, wake)?))
            }
        })
    }

    fn stamp(&mut self, point: Point, frame: Option<FrameId>) {
        if let Some(frame) = frame {
            self.device.stamps().own(point, frame);
        }
    }

    /// Takes the events of one delivery; true when there were any.
    fn take_events(&mut self) -> bool {
        let mut any = false;
        for _ in 0..DELIVERY {
            let Some(event) = self.from_radio.pop() else {
                break;
            };
            self.stamp(Point::Returned, event.frame());
            self.device.accept(event);
            any = true;
        }
        if any {
            self.poller.found();
        }
        any
    }

    /// False when the ring is full. A frame behind others of its queue wakes nobody: the radio looks for more
    /// when one of them ends.
    fn pass_on(&mut self, request: Request) -> bool {
        let is_frame = matches!(request.command, Command::Transmit(_));
        let quiet = is_frame && self.device.outstanding(request.tag) > BACKLOG;
        let message = LaneMessage::Request(request);
        let pushed = match quiet {
            true => self.to_radio.push_quietly(message),
            false => self.to_radio.push(message),
        };
        pushed.is_ok()
    }

    /// Tells the engine that a VMM has come or gone, if it does not know. False when the ring is full. A VMM that comes
    /// before the engine has been told that the last one has gone takes its place, and is told of all the same: the
    /// last one may have been refused, and this one need not be.
    fn tell_attached(&mut self) -> bool {
        let message = match self.attached {
            true if self.is_new => LaneMessage::Attached,
            false if self.told_attached => LaneMessage::Detached,
            _ => return true,
        };
        let told = self.to_radio.push(message).is_ok();
        if told {
            self.told_attached = self.attached;
            self.is_new = false;
        }
        told
    }

    /// The VMM is gone: the card forgets its memory and tells the radio.
    fn detach(&mut self) {
        self.attached = false;
        self.device.reset();
        self.poll();
        self.publish();
    }

    fn publish_transport(&self, counters: airlane_transport::Counters) {
        if let Ok(mut report) = self.report.lock() {
            report.transport = counters;
        }
    }

    fn publish(&self) {
        // Never waits: whoever reads the report must not hold up the lane.
        if let Ok(mut report) = self.report.try_lock() {
            report.card = self.device.counters();
            report.transport = self.transport;
            report.polling = self.poller.counters();
            report.wakes = self.from_radio.wakes();
        }
    }
}

/// A card and the socket at which it waits.
pub enum BoundCard {
    /// For QEMU.
    VfioUser {
        /// The card.
        port: Box<CardPort>,
        /// The socket.
        server: Box<VfioUserServer>,
        /// What the radio fires.
        wake: EventFd,
    },
    /// For User Mode Linux.
    PciDev(Box<PciDevServer<CardPort>>),
}

impl BoundCard {
    /// Serves one VMM after the other until `stop`.
    pub fn serve(mut self, vm: &str, stop: &EventFd) {
        loop {
            match self.one_vmm(stop) {
                Ok(Ended::Stopped) => return,
                Ok(Ended::Disconnected) => tracing::info!(vm, "the VM has detached its card"),
                Err(error) => tracing::warn!(vm, %error, "the card's connection was closed"),
            }
        }
    }

    fn one_vmm(&mut self, stop: &EventFd) -> anyhow::Result<Ended> {
        match self {
            Self::VfioUser { port, server, wake } => {
                let ended = server.serve(port.as_mut(), wake, stop);
                port.detach();
                port.publish_transport(*server.counters());
                Ok(ended?)
            }
            Self::PciDev(server) => {
                let ended = server.serve(stop);
                let counters = server.counters();
                server.with_card(|port| {
                    port.detach();
                    port.publish_transport(counters);
                });
                Ok(ended?)
            }
        }
    }
}

crate::pci_device!(CardPort, device, messages_read: |port| {
    port.device.stamps().mark(Point::Read);
    port.poller.found();
});

impl LaneEnd for CardPort {
    fn attached(&mut self) {
        self.attached = true;
        self.is_new = true;
    }

    fn poll(&mut self) {
        while self.take_events() {
            self.device.deliver();
        }
        // Before what a VM asks for, the engine knows that it is there.
        if self.attached && !self.tell_attached() {
            return;
        }
        while self.to_radio.free() > 0 {
            let Some(request) = self.device.next_request() else {
                // After the last that a VM has asked for, its reset, that it is gone.
                self.tell_attached();
                break;
            };
            self.stamp(Point::Queued, request.frame());
            if !self.pass_on(request) {
                break;
            }
        }
    }

    fn counted(&mut self, counters: &airlane_transport::Counters) {
        self.transport = *counters;
    }

    fn wants_poll_before_sleep(&mut self) -> bool {
        if self.poller.again(self.device.awaits_answers()) {
            return true;
        }
        self.publish();
        !self.from_radio.announce_sleep()
    }
}

#[cfg(test)]
mod tests {
    use airlane_dot11::MacAddr;
    use airlane_iwl::Model;
    use airlane_lane::ring::NoWake;
    use airlane_lane::{EngineEnd, Lane, Polling};

    use super::*;
    use crate::clock::Clock;

    /// A card whose ring to the engine has room for one message.
    fn narrow() -> (CardPort, EngineEnd<LaneMessage<Request>, Event>) {
        let Lane { device, engine } = Lane::new(1, Arc::new(NoWake), Arc::new(NoWake));
        let identity = Identity {
            model: Model::Wifi5300,
            address: MacAddr([2, 0, 0, 0, 0, 1]),
        };
        let port = CardPort::new(
            identity,
            Memory::new(),
            device,
            LaneReport::default(),
            Stamps::default(),
            BusyPoller::new(Clock::start(), Polling::default()),
        );
        (port, engine)
    }

    /// What the engine is told of VMMs from now on.
    fn told(
        port: &mut CardPort,
        engine: &mut EngineEnd<LaneMessage<Request>, Event>,
    ) -> Vec<&'static str> {
        let messages = std::iter::from_fn(|| {
            let message = engine.requests.pop();
            port.poll();
            message.or_else(|| engine.requests.pop())
        });
        let of_vmms = messages.filter_map(|message| match message {
            LaneMessage::Attached => Some("attached"),
            LaneMessage::Detached => Some("detached"),
            LaneMessage::Request(_) => None,
        });
        of_vmms.collect()
    }

    #[test]
    fn a_vmm_that_comes_when_the_engine_does_not_know_that_the_last_one_has_gone_is_told_of() {
        let (mut port, mut engine) = narrow();
        port.attached();
        port.poll();
        // Nobody has taken out that it has come: there is no room to say that it goes.
        port.detach();
        port.attached();
        assert_eq!(told(&mut port, &mut engine), ["attached", "attached"]);
        port.detach();
        assert_eq!(told(&mut port, &mut engine), ["detached"]);
    }

    #[test]
    fn a_vmm_that_has_gone_before_it_was_told_of_does_not_hide_that_the_last_one_has() {
        let (mut port, mut engine) = narrow();
        port.attached();
        port.poll();
        port.detach();
        port.attached();
        port.detach();
        assert_eq!(told(&mut port, &mut engine), ["attached", "detached"]);
    }
}
