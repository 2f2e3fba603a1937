//! Some VMs, their cards brought up by the fake driver, one access point, and the way of a frame
//! between them as the daemon's threads go it, one after the other in a single thread.

use std::sync::{Arc, Mutex};

use airlane_air::{AirMode, RadioId, Transmission};
use airlane_dma::{Backing, Memory, Translation};
use airlane_dot11::{Band, Buffer, Channel, MacAddr, OfdmRate, Rate};
use airlane_iwl::{Device, Identity, Model};
use airlane_iwl_driver::{FakeDriver, Station, TxOptions};
use airlane_lane::ring::{NoWake, Receiver, Sender};
use airlane_lane::{Instant, LaneMessage, Micros};
use airlane_waist::{Event, Request, VmId};

use crate::behind::{Behind, radio};
use crate::frames::{KEY, Shape};
use crate::probe::Stage::{Completion, Doorbell, Fetch, Ring};
use crate::probe::{Probe, Unwatched};

const AP: MacAddr = MacAddr([2, 0, 0, 0, 1, 0]);
/// Best effort.
const QUEUE: u8 = 2;
/// As the daemon has them.
const LANE_RING: usize = 1_024;
/// 54 Mb/s, as a rate word; no rate matters on a medium without airtime.
const RATE: u32 = 0x4003;
/// Time between two frames.
const PACE: Micros = Micros(20);
/// Longer than a frame alone on the medium takes with its back-off and its ACK, and shorter than the wait for
/// anything that has nothing to do with it.
const EXCHANGE: Micros = Micros(2_000);

/// Ranges that a VMM maps beside main memory: ROMs, the frame buffer, hot-plugged pieces.
const RANGES: u64 = 11;

/// One VM: its guest's driver, its card, its rings.
struct Vm {
    id: VmId,
    address: MacAddr,
    driver: FakeDriver,
    to_radio: Sender<LaneMessage<Request>>,
    requests: Receiver<LaneMessage<Request>>,
    to_card: Sender<Event>,
    events: Receiver<Event>,
}

/// All of them.
pub struct World<B> {
    behind: B,
    vms: Vec<Vm>,
    access_point: RadioId,
    mode: AirMode,
    now: Instant,
    turn: usize,
}

/// A frame, made for each VM.
pub struct Load {
    uplinks: Vec<Vec<u8>>,
    downlinks: Vec<Buffer>,
    options: TxOptions,
}

impl<B: Behind> World<B> {
    /// `vms` associated stations, each with a CCMP key.
    pub fn new(vms: usize, mode: AirMode) -> Self {
        Self::translated(vms, Translation::default(), mode)
    }

    /// The same with addresses translated this way.
    pub fn translated(vms: usize, way: Translation, mode: AirMode) -> Self {
        let mut behind = B::new(mode);
        let air = behind.air();
        let access_point = air.add_radio(radio("access point"));
        air.tune(Instant(0), access_point, Some(channel()));
        air.set_addresses(access_point, &[AP]);
        let shared = Arc::new(Mutex::new((behind, Instant(0))));
        let join = |number| join(&shared, VmId::new(number).expect("at most 16"), way);
        let vms = (0..vms).map(join).collect();
        let shared = Arc::into_inner(shared).expect("no driver holds it any more");
        let (behind, now) = shared.into_inner().expect("nobody has panicked");
        Self {
            behind,
            vms,
            access_point,
            mode,
            now,
            turn: 0,
        }
    }

    /// A frame of this shape for each VM.
    pub fn load(&self, shape: Shape) -> Load {
        let addresses = || self.vms.iter().map(|vm| vm.address);
        let downlink = |own| Buffer::from_slice(&shape.downlink(own, AP)).expect("it fits");
        Load {
            uplinks: addresses().map(|own| shape.uplink(own, AP)).collect(),
            downlinks: addresses().map(downlink).collect(),
            options: TxOptions {
                ccmp: shape.ccmp.then_some(KEY),
                ..TxOptions::DATA
            },
        }
    }

    /// The next VM's guest sends one frame. Its driver fills the descriptor and handles the interrupt
    /// unwatched; what is watched goes from the doorbell to the response in the receive ring.
    pub fn transmit(&mut self, load: &Load, probe: &impl Probe) {
        let at = self.begin();
        let Some(vm) = self.vms.get_mut(at) else {
            return;
        };
        vm.driver.transmit_quietly(&load.uplinks[at], &load.options);
        probe.whole(|| {
            probe.stage(Doorbell, || vm.driver.ring(QUEUE));
            vm.ask(probe);
            vm.pass_on(self.now, &mut self.behind, probe);
            self.now = exchange(&mut self.behind, self.mode, self.now, probe);
            vm.bring_back(&mut self.behind, probe);
            vm.tell(probe);
        });
        vm.driver.handle_interrupts();
        let responses = vm.driver.tx_responses();
        assert_eq!(responses.len(), 1, "one response for one frame");
        assert_eq!(responses[0].status, 1, "sent and acknowledged");
    }

    /// The access point sends one frame to the next VM. What is watched goes from the medium to the
    /// receive ring.
    pub fn receive(&mut self, load: &Load, probe: &impl Probe) {
        let at = self.begin();
        let Some(vm) = self.vms.get_mut(at) else {
            return;
        };
        let frame = load.downlinks[at].clone();
        let rate = Rate::Ofdm(OfdmRate::M54);
        let sent = Transmission::new(u64::MAX, frame, channel(), rate);
        probe.whole(|| {
            let (now, from) = (self.now, self.access_point);
            self.behind.inject(now, from, sent, probe);
            self.now = exchange(&mut self.behind, self.mode, now, probe);
            vm.bring_back(&mut self.behind, probe);
            vm.tell(probe);
        });
        vm.driver.handle_interrupts();
        let frames = vm.driver.received();
        assert_eq!(frames.len(), 1, "one frame");
        let protected = load.options.ccmp.is_some();
        let status = if protected { 0xa43 } else { 0x003 };
        assert_eq!(frames[0].status, status, "clear or decrypted");
    }

    /// Whose turn it is.
    fn begin(&mut self) -> usize {
        self.now += PACE;
        self.turn = (self.turn + 1) % self.vms.len();
        self.turn
    }
}

impl Vm {
    /// The lane's thread asks the card until it has nothing more.
    fn ask(&mut self, probe: &impl Probe) {
        while let Some(request) = probe.stage(Fetch, || self.driver.device().next_request()) {
            let pushed = probe.stage(Ring, || {
                self.to_radio.push(LaneMessage::Request(request)).is_ok()
            });
            assert!(pushed, "the ring has room");
        }
    }

    /// The radio's thread takes what the lane has asked for.
    fn pass_on(&mut self, now: Instant, behind: &mut impl Behind, probe: &impl Probe) {
        while let Some(LaneMessage::Request(request)) = probe.stage(Ring, || self.requests.pop()) {
            behind.request(now, self.id, request, probe);
        }
    }

    /// The radio's thread hands out events; they are all this VM's.
    fn bring_back(&mut self, behind: &mut impl Behind, probe: &impl Probe) {
        while let Some(event) = behind.next_for_vm(self.id, probe) {
            let pushed = probe.stage(Ring, || self.to_card.push(event));
            assert!(pushed.is_ok(), "the ring has room");
        }
    }

    /// The lane's thread tells the card, then asks it again as it does whenever it is woken.
    fn tell(&mut self, probe: &impl Probe) {
        while let Some(event) = probe.stage(Ring, || self.events.pop()) {
            probe.stage(Completion, || self.driver.device().event(event));
        }
        self.ask(probe);
    }
}

/// Runs what is due until the frame is acknowledged; when that is. A medium without airtime is done at once.
fn exchange(
    behind: &mut impl Behind,
    mode: AirMode,
    mut now: Instant,
    probe: &impl Probe,
) -> Instant {
    let quiet = now + EXCHANGE;
    while let Some(due) = behind.step(now, probe)
        && mode != AirMode::Infinite
        && now < due
        && due < quiet
    {
        now = due;
    }
    now
}

fn channel() -> Channel {
    Channel::new(Band::Ghz5, 36).expect("a channel")
}

fn address_of(vm: VmId) -> MacAddr {
    MacAddr([2, 0, 0, 0, 0, vm.index() as u8])
}

/// From power-off to an associated station with a key, by the driver's own commands.
fn join<B: Behind>(shared: &Arc<Mutex<(B, Instant)>>, vm: VmId, way: Translation) -> Vm {
    let address = address_of(vm);
    let model = Model::Wifi5300;
    let mut memory = Memory::translated(way, vm.index(), "bench");
    map_others(&mut memory);
    let device = Device::new(Identity { model, address }).with_memory(memory);
    let mut driver = FakeDriver::new(device);
    let behind = Arc::clone(shared);
    driver.set_radio(Some(Box::new(move |request| {
        answer(
            &mut behind.lock().expect("nobody has panicked"),
            vm,
            request,
        )
    })));
    driver.power_on();
    associate(&mut driver, address);
    driver.set_radio(None);
    let rings = airlane_lane::Lane::new(LANE_RING, Arc::new(NoWake), Arc::new(NoWake));
    Vm {
        id: vm,
        address,
        driver,
        to_radio: rings.device.requests,
        requests: rings.engine.requests,
        to_card: rings.engine.events,
        events: rings.device.events,
    }
}

fn associate(driver: &mut FakeDriver, address: MacAddr) {
    let mut station = Station {
        address,
        bssid: AP,
        channel: channel(),
        association_id: None,
    };
    driver.configure(&station);
    driver.add_station(0, AP);
    driver.link_quality(0, &[RATE; 16]);
    station.association_id = Some(1);
    driver.configure(&station);
    assert_eq!(driver.set_key(0, 0, None, KEY), 1, "the key is installed");
}

/// Lets some time pass until the request is answered.
fn answer<B: Behind>((behind, now): &mut (B, Instant), vm: VmId, request: Request) -> Vec<Event> {
    behind.request(*now, vm, request, &Unwatched);
    let mut events = Vec::new();
    for _ in 0..8 {
        behind.step(*now, &Unwatched);
        while let Some(event) = behind.next_for_vm(vm, &Unwatched) {
            events.push(event);
        }
        *now += Micros::from_millis(10);
    }
    events
}

/// Maps what a VMM maps beside main memory.
pub fn map_others(memory: &mut Memory) {
    for number in 0..RANGES {
        let address = (4 << 30) + number * 0x10_0000;
        memory
            .map(address, 0x1_0000, Backing::Anonymous, number % 2 == 0)
            .expect("a few pages can be mapped");
    }
}
