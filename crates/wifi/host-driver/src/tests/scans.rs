//! Many VMs' scans are one scan of the radio.

use airlane_dot11::*;
use airlane_lane::{Instant, Micros};
use airlane_waist::*;

use super::desk::*;
use crate::HostConfig;

fn channel(number: u8) -> Channel {
    Channel::new(Band::Ghz5, u16::from(number)).unwrap()
}

/// An active scan that names these networks; the empty one is the wildcard.
fn request(channels: &[u8], active: bool, ssids: &[&str]) -> ScanRequest {
    let mut probe = vec![0x40; 24];
    probe.push(0);
    probe.push(ssids[0].len() as u8);
    probe.extend(ssids[0].as_bytes());
    ScanRequest {
        channels: channels
            .iter()
            .map(|&number| ScanChannel {
                channel: channel(number),
                active,
                dwell: Micros::from_millis(if active { 24 } else { 110 }),
            })
            .collect(),
        probe,
        ssids: ssids[1..].iter().map(|s| s.as_bytes().to_vec()).collect(),
        rate: Rate::OFDM_6,
        max_away: Micros(0),
        filter: ReceiveFilter::FOREIGN_BEACONS,
    }
}

fn scan(channels: &[u8]) -> Command {
    Command::Scan(Box::new(request(channels, true, &[""])))
}

fn passive(channels: &[u8]) -> Command {
    Command::Scan(Box::new(request(channels, false, &[""])))
}

fn named(channels: &[u8], ssids: &[&str]) -> Command {
    Command::Scan(Box::new(request(channels, true, ssids)))
}

/// A frame of the access point with this number; probe responses go to `to`.
fn frame(kind: u8, to: MacAddr, ap: u8, ssid: &str, number: u8, at: Instant) -> Received {
    let mut bytes = vec![kind << 4, 0, 0, 0];
    bytes.extend(to.0);
    for _ in 0..2 {
        bytes.extend(bssid(ap).0);
    }
    bytes.extend([0; 14]);
    bytes.extend([0, ssid.len() as u8]);
    bytes.extend(ssid.as_bytes());
    Received {
        frame: Buffer::from_slice(&bytes).unwrap(),
        cipher: RxCipher::Clear,
        channel: channel(number),
        rate: Rate::OFDM_6,
        signal: Dbm(-50.0),
        at,
        aggregated: false,
    }
}

fn bssid(ap: u8) -> MacAddr {
    MacAddr([2, 0xa, 0, 0, 0, ap])
}

fn own(number: usize) -> MacAddr {
    MacAddr([2, 0, 0, 0, 0, number as u8])
}

impl Desk {
    /// The scan slot that the NIC is asked for: its channel, and the VMs that take part.
    fn slot(&mut self) -> Option<(u8, Vec<usize>)> {
        self.whole_slot().map(|slot| {
            let participants = slot.participants.iter().map(|v| v.vm.index()).collect();
            (slot.channel.number(), participants)
        })
    }

    fn whole_slot(&mut self) -> Option<ScanSlot> {
        let asked = std::iter::from_fn(|| self.host.next_for_nic());
        asked.into_iter().find_map(|request| match request {
            NicRequest::ScanSlot(slot) => Some(*slot),
            _ => None,
        })
    }

    /// The NIC does the scan slot that it was asked for: these VMs hear these frames.
    fn run_slot(&mut self, heard: &[(usize, Received)]) -> Option<(u8, Vec<usize>)> {
        let (number, participants) = self.slot()?;
        for &vm in &participants {
            self.tell(vm, Event::Scan(ScanEvent::Started(channel(number))));
        }
        for (vm, received) in heard {
            self.tell(*vm, Event::Received(received.clone()));
        }
        for &vm in &participants {
            self.tell(vm, Event::Scan(ScanEvent::Left(channel(number))));
        }
        self.slot_done();
        Some((number, participants))
    }

    /// What one VM is told, in short; frames by SSID and receiver's last octet.
    fn story(&mut self, number: usize) -> String {
        let told = std::iter::from_fn(|| self.host.next_for_vm());
        let mine = told.filter(|(owner, _)| *owner == vm(number));
        let words: Vec<String> = mine.map(|(_, event)| word(&event)).collect();
        words.join(" ")
    }

    fn configure(&mut self, number: usize, bss: MacAddr) {
        self.ask(
            number,
            Command::Configure(Box::new(VifConfig {
                address: own(number),
                bssid: bss,
                mode: Mode::Station,
                channel: channel(36),
                associated: true,
                association_id: 1,
                filter: ReceiveFilter::empty(),
                short_slot: true,
                short_preamble: true,
                protect: false,
                forget_stations: false,
            })),
        );
    }
}

fn word(event: &Event) -> String {
    match event {
        Event::Done(_, Reply::Ok) => "ok".to_owned(),
        Event::Done(_, reply) => format!("{reply:?}"),
        Event::Scan(ScanEvent::Started(channel)) => format!("+{}", channel.number()),
        Event::Scan(ScanEvent::Left(channel)) => format!("-{}", channel.number()),
        Event::Scan(ScanEvent::Complete {
            channels, aborted, ..
        }) => format!("{}{channels}", if *aborted { "aborted" } else { "all" }),
        Event::Received(received) => {
            let ssid = String::from_utf8_lossy(&received.frame[38..]).into_owned();
            format!("{ssid}@{}", received.frame[9])
        }
        other => format!("{other:?}"),
    }
}

#[test]
fn scans_of_several_vms_are_one_sweep_and_each_is_told_its_own() {
    let mut desk = Desk::new(2);
    desk.ask(0, scan(&[36, 40]));
    desk.ask(1, scan(&[44, 40]));
    let beacon = frame(8, MacAddr::BROADCAST, 1, "net", 40, NOW);
    assert_eq!(desk.run_slot(&[]), Some((36, vec![0])));
    assert_eq!(desk.run_slot(&[]), Some((44, vec![1])));
    let heard = [(0, beacon.clone()), (1, beacon)];
    assert_eq!(desk.run_slot(&heard), Some((40, vec![0, 1])));
    assert_eq!(desk.slot(), None);
    let told: Vec<_> = std::iter::from_fn(|| desk.host.next_for_vm()).collect();
    let of = |number: usize| {
        let mine = told.iter().filter(|(owner, _)| *owner == vm(number));
        mine.map(|(_, event)| word(event))
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(of(0), "ok +36 -36 +40 net@255 -40 all2");
    assert_eq!(of(1), "ok +44 -44 +40 net@255 -40 all2");
    let counters = desk.host.counters();
    assert_eq!((counters.sweeps, counters.visits), (1, 3));
    assert_eq!(counters.merged_scans, 1);
}

#[test]
fn a_slot_lasts_as_long_as_the_longest_asked_and_is_bounded_by_the_tightest() {
    let mut desk = Desk::new(3);
    let bounded = |channels: &[u8], bound| {
        let mut request = request(channels, true, &[""]);
        request.max_away = Micros(bound);
        Command::Scan(Box::new(request))
    };
    desk.ask(0, scan(&[36]));
    desk.slot();
    desk.ask(0, Command::AbortScan);
    desk.ask(0, passive(&[40]));
    desk.ask(1, bounded(&[40], 300));
    desk.ask(2, bounded(&[40], 200));
    desk.nic();
    desk.slot_done();
    let slot = desk.whole_slot().unwrap();
    assert_eq!(slot.max_away, Micros(200));
    // Two probe for themselves: what the second adds is added.
    assert_eq!(slot.dwell, Micros::from_millis(110 + 2));
    let active: Vec<bool> = slot.participants.iter().map(|v| v.active).collect();
    assert_eq!(active, [false, true, true]);
}

#[test]
fn one_that_comes_later_joins_what_remains_and_gets_the_rest_from_the_cache() {
    let mut desk = Desk::new(2);
    desk.ask(0, scan(&[36, 40]));
    desk.ask(1, scan(&[36, 40]));
    let beacon = frame(8, MacAddr::BROADCAST, 1, "net", 36, NOW);
    assert_eq!(desk.run_slot(&[(0, beacon)]), Some((36, vec![0])));
    assert_eq!(desk.run_slot(&[]), Some((40, vec![0, 1])));
    assert_eq!(desk.story(1), "ok +36 net@255 -36 +40 -40 all2");
    assert_eq!(desk.host.counters().cached_channels, 1);
}

#[test]
fn without_a_cache_the_radio_scans_again() {
    let config = HostConfig {
        scan_cache: Micros(0),
        ..HostConfig::default()
    };
    let mut desk = Desk::with(2, config);
    desk.ask(0, scan(&[36, 40]));
    desk.ask(1, scan(&[36, 40]));
    let slots: Vec<_> = std::iter::from_fn(|| desk.run_slot(&[])).collect();
    assert_eq!(slots, [(36, vec![0]), (36, vec![1]), (40, vec![0, 1])]);
    assert_eq!(desk.story(1), "ok +36 -36 +40 -40 all2");
}

#[test]
fn what_was_heard_a_moment_ago_needs_no_radio_and_what_is_older_does() {
    let mut desk = Desk::new(2);
    desk.configure(1, MacAddr::ZERO);
    desk.ask(0, scan(&[36]));
    let at = Instant::from_millis(10);
    let answer = frame(5, own(0), 1, "net", 36, at);
    desk.run_slot(&[(0, answer)]);
    desk.now = Instant::from_millis(5_000);
    desk.ask(1, scan(&[36]));
    assert_eq!(desk.slot(), None);
    // The answer to VM 0 is readdressed.
    assert_eq!(desk.story(1), "ok +36 net@1 -36 all1");
    assert_eq!(desk.host.counters().cached_scans, 1);
    desk.now = Instant::from_millis(5_001);
    desk.ask(1, scan(&[36]));
    assert_eq!(desk.slot(), Some((36, vec![1])));
}

#[test]
fn a_cached_frame_is_what_was_received() {
    let mut desk = Desk::new(1);
    desk.ask(0, scan(&[36]));
    let heard = frame(8, MacAddr::BROADCAST, 1, "net", 36, Instant(77));
    desk.run_slot(&[(0, heard.clone())]);
    desk.vms();
    desk.now = Instant::from_millis(1_000);
    desk.ask(0, scan(&[36]));
    let told = std::iter::from_fn(|| desk.host.next_for_vm());
    let frames: Vec<Received> = told
        .filter_map(|(_, event)| match event {
            Event::Received(received) => Some(received),
            _ => None,
        })
        .collect();
    let [cached] = frames.as_slice() else {
        panic!("one frame, not {}", frames.len());
    };
    assert_eq!(cached.frame[..], heard.frame[..]);
    assert_eq!(
        (cached.at, cached.signal, cached.rate),
        (heard.at, heard.signal, heard.rate)
    );
}

#[test]
fn a_short_dwell_does_not_answer_a_long_one() {
    let mut desk = Desk::new(2);
    desk.ask(0, scan(&[36]));
    desk.run_slot(&[]);
    desk.ask(1, passive(&[36]));
    assert_eq!(desk.run_slot(&[]), Some((36, vec![1])));
    desk.ask(0, passive(&[36]));
    assert_eq!(desk.slot(), None, "and a long one answers a long one");
}

#[test]
fn the_own_bss_is_never_answered_from_the_cache() {
    let mut desk = Desk::new(2);
    desk.configure(1, bssid(1));
    desk.ask(0, scan(&[36]));
    let frames = [1, 2].map(|ap| (0, frame(8, MacAddr::BROADCAST, ap, "net", 36, NOW)));
    desk.run_slot(&frames);
    desk.ask(1, scan(&[36]));
    assert_eq!(desk.story(1), "ok +36 net@255 -36 all1", "one of two");
}

#[test]
fn an_answer_to_one_who_asked_by_name_stays_its_own() {
    let mut desk = Desk::new(2);
    desk.configure(1, MacAddr::ZERO);
    desk.ask(0, named(&[36], &["secret", ""]));
    let answer = frame(5, own(0), 1, "secret", 36, NOW);
    desk.run_slot(&[(0, answer)]);
    desk.ask(1, scan(&[36]));
    assert_eq!(
        desk.run_slot(&[]),
        Some((36, vec![1])),
        "it must ask itself"
    );
    assert_eq!(desk.story(1), "ok +36 -36 all1");
    desk.ask(1, passive(&[36]));
    desk.run_slot(&[]);
    assert_eq!(desk.story(1), "ok +36 -36 all1");
}

#[test]
fn an_answer_to_one_participant_serves_all_that_asked_for_all() {
    let mut desk = Desk::new(3);
    for number in 0..3 {
        desk.configure(number, MacAddr::ZERO);
    }
    desk.ask(0, scan(&[44]));
    desk.ask(0, Command::AbortScan);
    desk.ask(0, scan(&[36]));
    desk.ask(1, scan(&[36]));
    desk.ask(2, passive(&[36]));
    desk.nic();
    desk.vms();
    desk.slot_done();
    let answer = frame(5, own(1), 1, "net", 36, NOW);
    assert_eq!(desk.run_slot(&[(1, answer)]), Some((36, vec![0, 1, 2])));
    let told: Vec<_> = desk.vms().into_iter().map(|(vm, _)| vm).collect();
    let frames = |number| told.iter().filter(|&&vm| vm == number).count() - 3;
    assert_eq!(
        [0, 1, 2].map(frames),
        [1, 1, 0],
        "each once; a listener did not ask"
    );
}

#[test]
fn a_name_that_a_beacon_tells_is_no_secret() {
    let mut desk = Desk::new(2);
    desk.configure(1, MacAddr::ZERO);
    desk.ask(0, named(&[36], &["net", ""]));
    let beacon = frame(8, MacAddr::BROADCAST, 1, "net", 36, NOW);
    let answer = frame(5, own(0), 1, "net", 36, Instant(1));
    desk.run_slot(&[(0, beacon), (0, answer)]);
    desk.ask(1, scan(&[36]));
    assert_eq!(desk.story(1), "ok +36 net@255 net@1 -36 all1");
}

#[test]
fn a_name_counts_as_asked_for_only_by_who_asked() {
    let mut desk = Desk::new(2);
    desk.ask(0, named(&[36], &["secret"]));
    desk.run_slot(&[]);
    desk.ask(1, named(&[36], &["secret"]));
    assert_eq!(desk.run_slot(&[]), Some((36, vec![1])));
    desk.ask(0, named(&[36], &["secret"]));
    assert_eq!(desk.slot(), None, "it knows already");
    desk.ask(0, scan(&[36]));
    assert_eq!(desk.slot(), Some((36, vec![0])), "nobody has asked all");
}

#[test]
fn a_driver_that_starts_afresh_inherits_no_answers_of_its_own() {
    let mut desk = Desk::new(1);
    desk.ask(0, named(&[36], &["secret"]));
    desk.run_slot(&[]);
    desk.ask(0, Command::Reset);
    desk.ask(0, Command::Initialize);
    desk.tell(0, Event::ResetDone);
    desk.ask(0, named(&[36], &["secret"]));
    assert_eq!(desk.slot(), Some((36, vec![0])));
}

#[test]
fn the_cache_is_bounded_and_what_it_lost_is_scanned_again() {
    let mut desk = Desk::new(1);
    desk.ask(0, scan(&[36]));
    let frames = (0..200u8).map(|ap| (0, frame(8, MacAddr::BROADCAST, ap, "n", 36, NOW)));
    desk.run_slot(&frames.collect::<Vec<_>>());
    assert_eq!(desk.host.cache.len(), 128);
    desk.ask(0, scan(&[40]));
    let newer = frame(8, MacAddr::BROADCAST, 1, "n", 40, Instant(1));
    desk.run_slot(&[(0, newer)]);
    desk.ask(0, scan(&[36]));
    assert_eq!(desk.slot(), Some((36, vec![0])));
}

#[test]
fn an_abort_ends_the_own_scan_at_once_and_leaves_the_others() {
    let mut desk = Desk::new(2);
    desk.ask(0, passive(&[36, 40]));
    desk.ask(1, scan(&[40, 36]));
    desk.run_slot(&[]);
    let (number, participants) = desk.slot().unwrap();
    assert_eq!((number, participants.len()), (40, 2));
    desk.vms();
    let tag = desk.ask(0, Command::AbortScan);
    assert_eq!(desk.vms(), [ok(0, tag), said(0, &aborted(1, 36))]);
    let nic = desk.nic();
    assert_eq!(nic, [("0: LeaveScan".to_owned(), None)]);
    desk.tell(0, Event::Scan(ScanEvent::Left(channel(40))));
    desk.tell(1, Event::Scan(ScanEvent::Left(channel(40))));
    desk.slot_done();
    desk.run_slot(&[]);
    assert_eq!(desk.host.counters().discarded, 1, "a late step");
    assert_eq!(desk.story(1), "-40 +36 -36 all2");
}

fn aborted(channels: u8, last: u8) -> Event {
    Event::Scan(ScanEvent::Complete {
        channels,
        last: Some(channel(last)),
        aborted: true,
    })
}

#[test]
fn aborting_nothing_is_refused() {
    let mut desk = Desk::new(1);
    let tag = desk.ask(0, Command::AbortScan);
    assert_eq!(desk.vms(), [refused(0, tag, Refusal::NoScan)]);
}

#[test]
fn a_second_scan_of_one_vm_is_busy() {
    let mut desk = Desk::new(1);
    desk.ask(0, scan(&[36]));
    desk.vms();
    let tag = desk.ask(0, scan(&[40]));
    assert_eq!(desk.vms(), [refused(0, tag, Refusal::Busy)]);
}

#[test]
fn a_reset_withdraws_only_the_own_part() {
    let mut desk = Desk::new(2);
    desk.ask(0, scan(&[36, 40, 44]));
    desk.slot();
    desk.ask(1, scan(&[40]));
    desk.ask(0, Command::Reset);
    assert_eq!(desk.nic().len(), 1, "the reset");
    // The NIC ends a scan slot that nobody is left for.
    desk.slot_done();
    desk.tell(0, Event::ResetDone);
    assert_eq!(desk.run_slot(&[]), Some((40, vec![1])));
    assert_eq!(desk.story(1), "ok +40 -40 all1");
    assert_eq!(desk.slot(), None);
}

#[test]
fn a_slot_from_before_a_reset_ends_nothing_after_it() {
    let mut desk = Desk::new(1);
    desk.ask(0, scan(&[36]));
    desk.slot();
    desk.ask(0, Command::Reset);
    desk.ask(0, Command::Initialize);
    desk.ask(0, scan(&[36]));
    assert_eq!(desk.slot(), None, "the NIC is not done with the first");
    desk.tell(0, Event::Scan(ScanEvent::Left(channel(36))));
    desk.slot_done();
    desk.tell(0, Event::ResetDone);
    assert_eq!(desk.story(0), "ok ResetDone ok");
    assert_eq!(desk.run_slot(&[]), Some((36, vec![0])));
    assert_eq!(desk.story(0), "+36 -36 all1");
}

#[test]
fn a_long_list_of_one_vm_holds_up_nobody() {
    let mut desk = Desk::new(2);
    let long: Vec<u8> = (7..=196).collect();
    desk.ask(0, scan(&long));
    desk.ask(1, scan(&[36, 40, 44]));
    for _ in 0..6 {
        desk.run_slot(&[]);
    }
    assert!(desk.story(1).ends_with("all3"));
}

#[test]
fn sixteen_vms_with_the_same_list_cost_little_more_than_one() {
    let mut desk = Desk::new(16);
    for number in 0..16 {
        desk.ask(number, scan(&[36, 40, 44, 48]));
    }
    let slots = std::iter::from_fn(|| desk.run_slot(&[])).count();
    assert_eq!(slots, 4, "the first channel is answered from the cache");
    let told = std::iter::from_fn(|| desk.host.next_for_vm());
    let complete = told.filter(|(_, event)| word(event) == "all4").count();
    assert_eq!(complete, 16);
}

#[test]
fn a_scan_that_takes_too_long_is_ended_before_the_driver_gives_it_up() {
    let mut desk = Desk::new(2);
    desk.ask(0, scan(&[36]));
    desk.slot();
    desk.now = Instant::from_millis(1_000);
    desk.ask(1, scan(&[40]));
    desk.vms();
    let due = Instant::from_millis(14_000);
    assert_eq!(desk.host.step(desk.now), Some(due));
    desk.now = due;
    assert_eq!(desk.host.step(due), Some(due + Micros::from_millis(1_000)));
    assert_eq!(desk.story(0), "aborted0");
    assert_eq!(desk.nic(), [("0: LeaveScan".to_owned(), None)]);
    desk.slot_done();
    assert_eq!(desk.slot(), Some((40, vec![1])));
    assert_eq!(desk.host.counters().overdue_scans, 1);
}
