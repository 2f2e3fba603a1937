//! What each request does. Those that set something of one vMAC and nothing else stand in `commands`.

use airlane_dot11::MacAddr;
use airlane_lane::Instant;
use airlane_waist::{
    Capabilities, Event, NicEvent, NicRequest, Refusal, Reply, ScanStyle, Tag, Transmit,
    VifCommand, VifConfig, VmId,
};

use crate::card::{Card, Phy, Radio};
use crate::commands;
use crate::nic::Nic;

impl Nic {
    /// Takes a request. Call [`Nic::step`] after a batch of them.
    pub fn request<P: Phy>(&mut self, now: Instant, request: NicRequest, phy: &mut P) {
        match request {
            NicRequest::Vif(vm, tag, VifCommand::Transmit(transmit)) => {
                return self.transmit(vm, tag, transmit);
            }
            NicRequest::Vif(vm, tag, command) => self.vif_request(now, (vm, tag), command, phy),
            // All VMs agree to it: it holds for the radio.
            NicRequest::PowerSave(schedule) => self.power.set_schedule(schedule),
            NicRequest::ScanSlot(slot) => self.scan.begin(&mut self.card, *slot),
            NicRequest::ScanList(_) => {
                let refused = NicEvent::ScanDone(Err(Refusal::NotSupported));
                self.card.out.tell_host(refused);
            }
            NicRequest::LeaveScan(vm) => {
                let left = self.scan.leave(&mut self.card, vm);
                self.card.out.tell_host(NicEvent::LeftScan(vm, left));
            }
        }
        self.invalidate();
    }

    /// Takes a frame of a VM: [`VifCommand::Transmit`], without a request around it.
    pub fn transmit(&mut self, vm: VmId, tag: Tag, transmit: Transmit) {
        self.tx.accept(&mut self.card, vm, tag, transmit);
        // What has no BSS has a context while it sends.
        if self.card.vmacs.get(vm).is_some_and(|v| v.bssid().is_none()) {
            self.invalidate();
        }
    }

    /// Answers a [`VifCommand::Configure`] whose address a VM of another card has: as if it were one of this card's.
    pub fn refuse_address(&mut self, vm: VmId, tag: Tag, address: MacAddr) {
        let out = &mut self.card.out;
        out.vms[vm].addresses_refused += 1;
        let taken = Reply::Refused(Refusal::AddressTaken(address));
        out.emit(vm, Event::Done(tag, taken));
    }

    fn vif_request<P: Phy>(
        &mut self,
        now: Instant,
        (vm, tag): (VmId, Tag),
        command: VifCommand,
        phy: &mut P,
    ) {
        let radio = &mut Radio::new(self.radio, phy);
        let result = match command {
            VifCommand::Reset => {
                self.tear_down(now, vm, radio);
                return self.card.out.emit(vm, Event::ResetDone);
            }
            VifCommand::Initialize => self.initialize(now, vm, radio),
            _ if self.card.vmacs.get(vm).is_none() => Err(Refusal::NotInitialized),
            VifCommand::Flush(rings) => {
                let card = &mut self.card;
                return self.tx.flush(now, card, (vm, tag, rings), radio);
            }
            VifCommand::Configure(config) => self.configure(now, vm, *config, radio),
            other => commands::set(&mut self.card, now, vm, other),
        };
        let reply = result.unwrap_or_else(Reply::Refused);
        self.card.out.emit(vm, Event::Done(tag, reply));
    }

    /// A vMAC comes into being; what the VM had before goes.
    fn initialize<P: Phy>(
        &mut self,
        now: Instant,
        vm: VmId,
        radio: &mut Radio<'_, P>,
    ) -> Result<Reply, Refusal> {
        self.tear_down(now, vm, radio);
        self.card.vmacs.create(vm);
        self.power.turn(now, true);
        Ok(Reply::Ok)
    }

    fn configure<P: Phy>(
        &mut self,
        now: Instant,
        vm: VmId,
        config: VifConfig,
        radio: &mut Radio<'_, P>,
    ) -> Result<Reply, Refusal> {
        let Card {
            vmacs, keys, out, ..
        } = &mut self.card;
        if let Err(refusal) = vmacs.may_bear(vm, config.address) {
            out.vms[vm].addresses_refused += 1;
            return Err(refusal);
        }
        let vmac = vmacs.get_mut(vm).ok_or(Refusal::NotInitialized)?;
        if config.forget_stations {
            keys.forget(vm);
        }
        vmac.configure(now, config);
        vmacs.refresh();
        radio.listen_for(vmacs);
        Ok(Reply::Ok)
    }

    /// Takes all that this VM has, and its frames out of the air.
    fn tear_down<P: Phy>(&mut self, now: Instant, vm: VmId, radio: &mut Radio<'_, P>) {
        let vmac = self.card.vmacs.take(vm);
        self.card.keys.forget(vm);
        // It need not have taken part in a scan.
        let _ = self.scan.leave(&mut self.card, vm);
        let out = &mut self.card.out;
        self.tx.forget(now, (vm, vmac.as_deref()), out, radio);
        if self.card.vmacs.iter().next().is_none() {
            self.wake(now, radio);
            self.power.turn(now, false);
        }
        self.card.vmacs.refresh();
        radio.listen_for(&self.card.vmacs);
    }
}

impl<P: Phy> airlane_waist::Nic<P> for Nic {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            vifs: airlane_waist::MAX_VMS,
            scan: ScanStyle::Slots,
        }
    }

    fn request(&mut self, now: Instant, request: NicRequest, phy: &mut P) {
        Self::request(self, now, request, phy);
    }

    fn step(&mut self, now: Instant, phy: &mut P) -> Option<Instant> {
        Self::step(self, now, phy)
    }

    fn next_event(&mut self) -> Option<NicEvent> {
        Self::next_event(self)
    }
}
