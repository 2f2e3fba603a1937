//! What the NIC says of one VM reaches that VM and no other, whatever the others do meanwhile.

use airlane_dot11::*;
use airlane_lane::Micros;
use airlane_waist::*;
use proptest::prelude::*;

use super::desk::*;

/// Something happens to a VM: it asks, or the NIC tells.
#[derive(Clone, Debug)]
enum Step {
    Reset,
    ResetDone,
    Scan,
    Abort,
    Sleep(u32),
    Led,
    SlotDone,
    /// The NIC reports on this VM: the number comes back.
    Report(Kind, u16),
}

/// Kinds of feedback, each able to carry a number.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Transmitted,
    Missed,
    Statistics,
    Delayed,
}

fn steps() -> impl Strategy<Value = Vec<(usize, Step)>> {
    let kind = prop_oneof![
        Just(Kind::Transmitted),
        Just(Kind::Missed),
        Just(Kind::Statistics),
        Just(Kind::Delayed),
    ];
    let step = prop_oneof![
        1 => Just(Step::Reset),
        1 => Just(Step::ResetDone),
        1 => Just(Step::Scan),
        1 => Just(Step::Abort),
        1 => (0..9u32).prop_map(Step::Sleep),
        1 => Just(Step::Led),
        1 => Just(Step::SlotDone),
        6 => (kind, 0..0x7000u16).prop_map(|(kind, number)| Step::Report(kind, number)),
    ];
    prop::collection::vec((0..4usize, step), 1..200)
}

fn report(kind: Kind, number: u16) -> Event {
    let transmitted = TxReport {
        status: TxStatus::NoAck,
        retries: 7,
        rts_failures: 0,
        rate: Rate::OFDM_6,
        sequence_control: 0,
        airtime: Micros(1),
    };
    let statistics = Statistics {
        retries: u32::from(number),
        ..Statistics::default()
    };
    match kind {
        Kind::Transmitted => Event::Transmitted(Tag(number), transmitted),
        Kind::Missed => Event::MissedBeacons(MissedBeacons {
            total: u32::from(number),
            ..MissedBeacons::default()
        }),
        Kind::Statistics => Event::Done(Tag(number), Reply::Statistics(Box::new(statistics))),
        Kind::Delayed => Event::Done(Tag(number), Reply::Refused(Refusal::UnknownStation)),
    }
}

fn take(desk: &mut Desk, number: usize, step: &Step, expected: &mut Vec<(usize, String)>) {
    let ask = |desk: &mut Desk, command| {
        desk.ask(number, command);
    };
    match step {
        Step::Reset => {
            ask(desk, Command::Reset);
            ask(desk, Command::Initialize);
        }
        Step::ResetDone => desk.tell(number, Event::ResetDone),
        Step::Scan => ask(desk, one_channel()),
        Step::Abort => ask(desk, Command::AbortScan),
        Step::Sleep(interval) => ask(desk, sleep(*interval)),
        Step::Led => ask(desk, Command::Led),
        Step::SlotDone => desk.slot_done(),
        Step::Report(kind, told) => {
            let event = report(*kind, *told);
            expected.push(said(number, &event));
            desk.tell(number, event);
        }
    }
}

fn one_channel() -> Command {
    let channel = Channel::new(Band::Ghz5, 36).unwrap();
    Command::Scan(Box::new(ScanRequest {
        channels: vec![ScanChannel {
            channel,
            active: true,
            dwell: Micros(1),
        }],
        probe: Vec::new(),
        ssids: Vec::new(),
        rate: Rate::OFDM_6,
        max_away: Micros(0),
        filter: ReceiveFilter::FOREIGN_BEACONS,
    }))
}

/// Told by the NIC rather than by the host driver itself.
fn is_feedback(told: &(usize, String)) -> bool {
    let own = ["Scan(", "ResetDone"];
    let answer = told.1.starts_with("Done(") && !told.1.contains("Statistics");
    let refused = told.1.contains("UnknownStation");
    !own.iter().any(|word| told.1.starts_with(word)) && (!answer || refused)
}

proptest! {
    #[test]
    fn feedback_reaches_the_vm_that_it_concerns_and_in_order(steps in steps()) {
        let mut desk = Desk::new(4);
        let mut expected = Vec::new();
        for (number, step) in &steps {
            take(&mut desk, *number, step, &mut expected);
        }
        let told: Vec<_> = desk.vms().into_iter().filter(is_feedback).collect();
        prop_assert_eq!(told, expected);
    }

    #[test]
    fn what_the_host_driver_answers_itself_reaches_who_asked(steps in steps()) {
        let mut desk = Desk::new(4);
        let mut asked = std::collections::BTreeMap::new();
        for (number, step) in &steps {
            match step {
                Step::Led => {
                    asked.insert(desk.ask(*number, Command::Led).0, *number);
                }
                Step::Scan => {
                    asked.insert(desk.ask(*number, one_channel()).0, *number);
                }
                Step::SlotDone => desk.slot_done(),
                _ => {}
            }
        }
        while let Some((owner, event)) = desk.host.next_for_vm() {
            if let Event::Done(tag, _) = event {
                prop_assert_eq!(asked.remove(&tag.0), Some(owner.index()));
            }
        }
        prop_assert!(asked.is_empty(), "unanswered: {:?}", asked);
    }
}
