//! What a host driver may ask of a NIC, and what the NIC tells it.
//!
//! A NIC is asked for less than a card is, and for other things: it knows vMACs and one radio. What a VM's driver asks
//! for its own vMAC is handed on as a [`VifCommand`]; what touches the whole radio, a scan or its sleep, comes from the
//! host driver alone and is a request of its own.

use std::sync::Arc;

use airlane_dot11::{Channel, EdcaParameters, MacAddr, PeerHt, RateTable};
use airlane_lane::{Instant, Micros};

use crate::{
    AggregationLimits, BlockAck, ChannelSwitch, Event, Key, PowerSave, Refusal, ScanChannel,
    ScanRequest, StationIndex, Tag, Timing, Transmit, VifConfig, VmId,
};

/// A NIC: the back end. `P` is what it sends into and is lent for each call: a medium for an emulated NIC, `()` for one
/// whose radio is its own. It never blocks and reads no clock.
///
/// ```
/// use std::collections::VecDeque;
///
/// use airlane_dot11::Rate;
/// use airlane_lane::{Instant, Micros};
/// use airlane_waist::*;
///
/// /// A NIC without a radio: it answers every request, and does nothing.
/// #[derive(Default)]
/// struct NoRadio(VecDeque<NicEvent>);
///
/// impl Nic<()> for NoRadio {
///     fn capabilities(&self) -> Capabilities {
///         Capabilities { vifs: 1, scan: ScanStyle::Slots }
///     }
///
///     fn request(&mut self, _: Instant, request: NicRequest, _: &mut ()) {
///         let not_sent = TxReport {
///             status: TxStatus::Refused,
///             retries: 0,
///             rts_failures: 0,
///             rate: Rate::OFDM_6,
///             sequence_control: 0,
///             airtime: Micros(0),
///         };
///         let refused = Err(Refusal::NotSupported);
///         self.0.push_back(match request {
///             NicRequest::Vif(vm, _, VifCommand::Reset) => NicEvent::Vif(vm, Event::ResetDone),
///             NicRequest::Vif(vm, tag, VifCommand::Transmit(_)) => {
///                 NicEvent::Vif(vm, Event::Transmitted(tag, not_sent))
///             }
///             NicRequest::Vif(vm, tag, _) => NicEvent::Vif(vm, Event::Done(tag, Reply::Ok)),
///             NicRequest::ScanSlot(_) | NicRequest::ScanList(_) => NicEvent::ScanDone(refused),
///             NicRequest::LeaveScan(vm) => NicEvent::LeftScan(vm, refused),
///             NicRequest::PowerSave(_) => return,
///         });
///     }
///
///     fn step(&mut self, _: Instant, _: &mut ()) -> Option<Instant> {
///         None
///     }
///
///     fn next_event(&mut self) -> Option<NicEvent> {
///         self.0.pop_front()
///     }
/// }
///
/// let (mut nic, vm) = (NoRadio::default(), VmId::new(0)?);
/// nic.request(Instant(0), NicRequest::Vif(vm, Tag(1), VifCommand::Initialize), &mut ());
/// assert_eq!(nic.step(Instant(0), &mut ()), None);
/// let event = nic.next_event();
/// assert!(matches!(event, Some(NicEvent::Vif(_, Event::Done(Tag(1), Reply::Ok)))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Nic<P> {
    /// What it can do; the same for its whole life.
    fn capabilities(&self) -> Capabilities;
    /// Takes a request. Call [`Nic::step`] after a batch of them.
    fn request(&mut self, now: Instant, request: NicRequest, phy: &mut P);
    /// Does what is due. Returns when to come back unless something else happens first; `None` when no timer runs.
    fn step(&mut self, now: Instant, phy: &mut P) -> Option<Instant>;
    /// The next event, oldest first.
    fn next_event(&mut self) -> Option<NicEvent>;
}

/// What a NIC can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// vMACs at a time.
    pub vifs: usize,
    /// How it is sent to other channels to look for access points.
    pub scan: ScanStyle,
}

/// How a NIC scans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanStyle {
    /// One [`NicRequest::ScanSlot`] after the other: the host driver chooses each channel.
    Slots,
    /// One [`NicRequest::ScanList`]: it goes through the list by itself, as nl80211's TRIGGER_SCAN does.
    List,
}

/// What a host driver asks of a NIC.
#[derive(Debug)]
pub enum NicRequest {
    /// Something of one VM's vMAC. Answered by an event for this VM: [`Event::Transmitted`] with the tag for a frame,
    /// [`Event::ResetDone`] for a reset, [`Event::Done`] with the tag for all else.
    Vif(VmId, Tag, VifCommand),
    /// How the radio may sleep, as all VMs agree. Not answered.
    PowerSave(PowerSave),
    /// Listen on one channel. Answered by [`NicEvent::ScanDone`].
    ScanSlot(Box<ScanSlot>),
    /// Listen on these channels. Answered by [`NicEvent::ScanDone`].
    ScanList(Box<ScanList>),
    /// This VM takes part in the scan no longer. Answered by [`NicEvent::LeftScan`]; with its last participant the scan
    /// is over, and is answered as well.
    LeaveScan(VmId),
}

/// What a NIC tells its host driver.
#[derive(Clone, Debug)]
pub enum NicEvent {
    /// For a VM.
    Vif(VmId, Event),
    /// The scan slot or list is over, or was not begun.
    ScanDone(Result<(), Refusal>),
    /// The VM takes part no longer, or did not.
    LeftScan(VmId, Result<(), Refusal>),
}

/// One thing to do for one vMAC. The fields are those of the [`crate::Command`] of the same name.
#[derive(Debug)]
#[allow(missing_docs)]
pub enum VifCommand {
    Reset,
    Initialize,
    Configure(Box<VifConfig>),
    Timing(Timing),
    Edca([EdcaParameters; 4]),
    AddStation(StationIndex, MacAddr, PeerHt),
    RemoveStation(MacAddr),
    ModifyStation(StationIndex, PeerHt),
    SetKey(Box<Key>),
    RemoveKey(StationIndex, u8),
    BlockAck(BlockAck),
    RateTable(StationIndex, Box<RateTable>, AggregationLimits),
    TxPower(i8),
    Statistics { clear: bool },
    SwitchChannel(ChannelSwitch),
    Flush(u32),
    Transmit(Transmit),
}

/// One channel of a scan that several VMs' scans were merged into. It outlives a reset of any of its VMs.
#[derive(Clone, Debug)]
pub struct ScanSlot {
    /// Where to listen.
    pub channel: Channel,
    /// How long to stay; shorter where connected VMs need the radio.
    pub dwell: Micros,
    /// Longest time away from an operating channel at a stretch; zero when nobody has bounded it.
    pub max_away: Micros,
    /// The first of its scan.
    pub begins: bool,
    /// The VMs that take part, once each.
    pub participants: Vec<Participant>,
}

/// A whole scan that several VMs' scans were merged into.
#[derive(Clone, Debug)]
pub struct ScanList {
    /// Where to listen, in order, and how long at least.
    pub channels: Vec<ScanChannel>,
    /// Longest time away from an operating channel at a stretch; zero when nobody has bounded it.
    pub max_away: Micros,
    /// The VMs that take part, once each.
    pub participants: Vec<Participant>,
}

/// One VM's part in a scan.
#[derive(Clone, Debug)]
pub struct Participant {
    /// The VM that scans.
    pub vm: VmId,
    /// Send its probe requests.
    pub active: bool,
    /// What it asked for.
    pub request: Arc<ScanRequest>,
}
