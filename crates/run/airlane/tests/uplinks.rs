//! Uplinks of the built-in access point, for real: a VM of the stories joins, gets its address, and reaches what is
//! behind its access point, and is reached from there. Each test makes a network namespace of its own, so nothing
//! leaves the machine and nothing of it is changed.
#![allow(dead_code, reason = "the stories' parts serve other stories, too")]

#[path = "../../daemon/tests/stories/access_point.rs"]
mod access_point;
#[path = "../../daemon/tests/stories/ccmp.rs"]
mod ccmp;
#[path = "../../daemon/tests/stories/cell.rs"]
mod cell;
mod common;
#[path = "../../daemon/tests/stories/drive.rs"]
mod drive;
#[path = "../../daemon/tests/stories/frames.rs"]
mod frames;
#[path = "../../daemon/tests/stories/guest.rs"]
mod guest;
#[path = "../../daemon/tests/stories/story.rs"]
mod story;
#[path = "../../daemon/tests/stories/vm.rs"]
mod vm;
#[path = "../../daemon/tests/stories/world.rs"]
mod world;

use std::net::{Ipv4Addr, UdpSocket};
use std::process::Command;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use airlane_daemon::uplink::{self, Uplink, UplinkEnds, UserNetwork};
use airlane_dot11::MacAddr;
use airlane_lane::{Micros, ring::NoWake};
use airlane_transport::EventFd;

use cell::{Cell, gateway};
use drive::Drive;

/// Set in the process that runs in the namespace.
const INSIDE: &str = "AIRLANE_TEST_INSIDE";
const STEP: Micros = Micros::from_millis(1);
const PASSPHRASE: Option<&str> = Some("a passphrase");

/// As root of a network namespace.
const NAMESPACES: [&str; 3] = ["--user", "--map-root-user", "--net"];
/// What the tests call there.
const TOOLS: [&str; 2] = ["ip -V >/dev/null", "test -c /dev/net/tun"];

/// Runs the test of this name again in a network namespace, as its root, if it can have one; `true` there. What it prints there
/// is shown when it fails: the counts of that inner run are not those of this one.
fn in_a_namespace(test: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    if !common::has_namespaces(test, &NAMESPACES, &TOOLS) {
        return false;
    }
    let inner = Command::new("unshare")
        .args(NAMESPACES)
        .arg("--")
        .arg(std::env::current_exe().expect("a program"))
        .args(["--exact", test, "--ignored", "--nocapture"])
        .env(INSIDE, "1")
        .output()
        .expect("unshare starts");
    let text = [inner.stdout, inner.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(inner.status.success(), "in the namespace: {text}");
    false
}

fn ip(line: &str) {
    let status = Command::new("ip").args(line.split(' ')).status();
    assert!(status.expect("ip starts").success(), "ip {line}");
}

/// Hardware addresses that the host knows.
fn neighbours() -> String {
    let output = Command::new("ip").args(["neigh", "show"]).output();
    String::from_utf8_lossy(&output.expect("ip starts").stdout).into_owned()
}

/// A cell and what is behind its access point, in real time.
struct Wired {
    cell: Cell,
    ends: UplinkEnds,
    stop: EventFd,
    thread: Option<JoinHandle<()>>,
}

impl Wired {
    fn new(cell: Cell, uplink: Uplink) -> Self {
        let stop = EventFd::new(0).expect("an eventfd");
        let wake: Arc<dyn airlane_lane::ring::Wake> = Arc::new(NoWake);
        let started = uplink::start(0, uplink, &wake, stop.try_clone().expect("an eventfd"));
        let (ends, thread) = started.unwrap_or_else(|error| panic!("{error:#}"));
        let thread = Some(thread);
        Self {
            cell,
            ends,
            stop,
            thread,
        }
    }

    /// Until `done`, ten seconds at most.
    fn until(&mut self, what: &str, mut done: impl FnMut(&mut Cell) -> bool) {
        for _ in 0..10_000 {
            self.cell.advance(STEP);
            self.exchange();
            if done(&mut self.cell) {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        panic!("not within ten seconds: {what}");
    }

    fn exchange(&mut self) {
        let mut world = self.cell.world();
        while let Some((index, frame)) = world.radio.built_ins_mut().next_for_uplink() {
            assert_eq!(index, 0);
            assert!(self.ends.to.push(frame).is_ok(), "there is room");
        }
        while let Some(frame) = self.ends.from.pop() {
            world.radio.built_ins_mut().from_uplink(0, &frame);
            world.activity += 1;
        }
    }

    /// The VM gets an answer from there.
    fn ping(&mut self, vm: usize, to: Ipv4Addr) {
        for sequence in 0..3 {
            let due = self.cell.now() + Micros(1);
            let guest = &mut self.cell.guests[vm];
            guest.host.as_mut().expect("a host").ping(to, sequence, 500);
            guest.due = Some(due);
            self.until(&format!("reply {sequence} of {to}"), |cell| {
                let host = cell.guests[vm].host.as_ref().expect("a host");
                host.replies.contains(&(to, sequence))
            });
        }
    }
}

impl Drop for Wired {
    fn drop(&mut self) {
        self.stop.write(1).expect("it is told");
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(ended.is_none_or(|ended| ended.is_ok()));
    }
}

/// A VM that has joined an access point; whether the gateway is behind the uplink.
fn joined(behind: bool) -> (Cell, usize) {
    let mut cell = Cell::with(201, &[PASSPHRASE], |built_in| {
        built_in.has_uplink = true;
        built_in.network.answers = !behind;
    });
    let vm = cell.guest(0);
    cell.join(&[vm]);
    (cell, vm)
}

#[test]
#[ignore = "needs network namespaces and /dev/net/tun"]
fn a_tap_device_leads_to_the_host_and_back() {
    if !in_a_namespace("a_tap_device_leads_to_the_host_and_back") {
        return;
    }
    let (cell, vm) = joined(true);
    let address = cell.ip(vm).expect("an address");
    let uplink = Uplink::Tap {
        name: None,
        address: gateway(0),
        prefix: 24,
    };
    let mut wired = Wired::new(cell, uplink);
    wired.ping(vm, gateway(0));
    // From there to the VM: the host asks for its hardware address, and gets it.
    ip("neigh flush all");
    let socket = UdpSocket::bind((gateway(0), 0)).expect("the device has the gateway's address");
    socket
        .send_to(b"anybody there?", (address, 7))
        .expect("a route");
    let hardware = wired.cell.guests[vm].address.to_string();
    wired.until("an answer from the VM", |_| {
        neighbours().contains(&hardware)
    });
}

#[test]
#[ignore = "needs network namespaces and /dev/net/tun"]
fn a_tap_device_that_exists_is_left_as_it_is() {
    if !in_a_namespace("a_tap_device_that_exists_is_left_as_it_is") {
        return;
    }
    ip("tuntap add dev vms0 mode tap");
    ip("address add 192.168.1.1/24 dev vms0");
    ip("link set vms0 up");
    let (cell, vm) = joined(true);
    let uplink = || Uplink::Tap {
        name: Some("vms0".to_owned()),
        address: Ipv4Addr::UNSPECIFIED,
        prefix: 24,
    };
    let mut wired = Wired::new(cell, uplink());
    wired.ping(vm, gateway(0));
    let wake: Arc<dyn airlane_lane::ring::Wake> = Arc::new(NoWake);
    let again = uplink::start(0, uplink(), &wake, EventFd::new(0).expect("an eventfd"));
    let error = again.err().expect("a device has one user");
    assert!(format!("{error:#}").contains("vms0 is in use"), "{error:#}");
}

#[test]
fn a_tap_device_without_the_right_is_an_error_that_says_what_to_do() {
    let uplink = Uplink::Tap {
        name: Some("a/b".to_owned()),
        address: Ipv4Addr::LOCALHOST,
        prefix: 24,
    };
    let wake: Arc<dyn airlane_lane::ring::Wake> = Arc::new(NoWake);
    let error = uplink::start(0, uplink, &wake, EventFd::new(0).expect("an eventfd"));
    let text = format!("{:#}", error.err().expect("no such device"));
    assert!(
        text.contains("ip tuntap add") || text.contains("/dev/net/tun"),
        "{text}"
    );
}

#[test]
#[ignore = "needs network namespaces, and passt: cargo xtask setup"]
fn a_user_mode_network_leads_to_what_the_host_reaches() {
    if !in_a_namespace("a_user_mode_network_leads_to_what_the_host_reaches") {
        return;
    }
    const BEYOND: Ipv4Addr = Ipv4Addr::new(10, 9, 9, 1);
    // passt takes the host's network for its pattern: a device with an address and a default route.
    ip("link set lo up");
    ip("tuntap add dev wan0 mode tap");
    ip("address add 10.9.9.1/24 dev wan0");
    ip("link set wan0 up");
    ip("route add default via 10.9.9.254");
    let groups = "/proc/sys/net/ipv4/ping_group_range";
    std::fs::write(groups, "0 0").expect("root of the namespace may let itself ping");
    let (cell, vm) = joined(false);
    let station = (cell.guests[vm].address, cell.ip(vm).expect("an address"));
    let setup = airlane_guests::setup::Setup::load().expect("set up");
    let network = UserNetwork {
        program: setup.passt().expect("passt"),
        hardware: MacAddr([2, 0xb, 0, 0, 0, 1]),
        gateway: gateway(0),
        prefix: 24,
        name_server: Ipv4Addr::new(192, 168, 1, 3),
        stations: vec![station],
    };
    let mut wired = Wired::new(cell, Uplink::User(network));
    wired.ping(vm, gateway(0));
    wired.ping(vm, BEYOND);
}
