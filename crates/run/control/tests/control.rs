//! The control socket of a daemon whose VM never came: what is asked is answered, what is nonsense is
//! refused, and nobody who hangs or leaves disturbs the next.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;

use airlane_air::{AirConfig, Position};
use airlane_control::{KnownVm, Names, SOCKET, Server};
use airlane_daemon::{CardConfig, Daemon, DaemonConfig, Transport, Tuning, VmCard};
use airlane_dot11::{Dbm, MacAddr};
use airlane_iwl::Model;
use airlane_lane::Micros;
use airlane_nic::AddressPolicy;
use serde_json::{Value, json};

const ADDRESS: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);

struct World {
    folder: tempfile::TempDir,
    control: Option<Server>,
    daemon: Option<Daemon>,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let daemon = Daemon::start(DaemonConfig {
            air: AirConfig::default(),
            run_dir: folder.path().to_owned(),
            capture: None,
            cards: vec![CardConfig {
                name: "card".to_owned(),
                position: Position::default(),
                tx_power: Dbm(15.0),
                scan_cache: Micros(0),
                tuning: Tuning::default(),
                vms: vec![VmCard {
                    transport: Transport::default(),
                    socket: None,
                    name: "it".to_owned(),
                    model: Model::default(),
                    address: ADDRESS,
                    address_policy: AddressPolicy::default(),
                    weight: 1,
                }],
            }],
            access_point_vms: Vec::new(),
            built_ins: Vec::new(),
            uplinks: Vec::new(),
        })
        .unwrap();
        let names = Names {
            run: "alone".to_owned(),
            vms: vec![KnownVm {
                name: "it".to_owned(),
                model: "5300".to_owned(),
                address: ADDRESS,
                card_name: None,
            }],
            ..Names::default()
        };
        let socket = folder.path().join(SOCKET);
        let control = Server::start(&socket, Arc::clone(daemon.handle()), names).unwrap();
        Self {
            folder,
            control: Some(control),
            daemon: Some(daemon),
        }
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join(SOCKET)
    }

    fn send(&self, request: &str) -> UnixStream {
        let mut stream = UnixStream::connect(self.socket()).unwrap();
        // Whoever is refused at once may not be able to write any more; the answer is there all the same.
        let _ = stream.write_all(format!("{request}\n").as_bytes());
        stream
    }

    fn ask(&self, request: &str) -> Vec<Value> {
        let mut text = String::new();
        self.send(request).read_to_string(&mut text).unwrap();
        let lines = text.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

#[test]
fn a_run_says_which_it_is() {
    let answer = World::new().ask(r#"{"command":"hello"}"#);
    assert_eq!(answer, [json!({"ok": {"run": "alone", "vms": ["it"]}})]);
}

#[test]
fn a_vm_that_never_came_is_off() {
    let answer = World::new().ask(r#"{"command":"show"}"#);
    let vm = &answer[1]["vms"][0];
    assert_eq!((&vm["name"], &vm["state"]), (&json!("it"), &json!("off")));
    assert_eq!(vm["mac"], ADDRESS.to_string());
    assert!(answer[1]["radio"]["counters"]["air_frames"].is_u64());
}

#[test]
fn what_has_happened_so_far_ends() {
    let answer = World::new().ask(r#"{"command":"events","follow":false}"#);
    assert_eq!(answer.len(), 1, "nothing has happened");
}

#[test]
fn nonsense_is_refused_with_its_reason() {
    let world = World::new();
    for request in ["", "nonsense", r#"{"command":"reboot"}"#] {
        let answer = world.ask(request);
        let error = answer[0]["error"].as_str().unwrap_or_default();
        assert!(error.contains("not understood"), "{request}: {answer:?}");
    }
}

#[test]
fn a_request_without_end_is_refused() {
    let world = World::new();
    let mut stream = world.send(&"x".repeat(200_000));
    let mut answer = [0; 9];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, br#"{"error":"#);
}

#[test]
fn a_vm_that_is_not_there_cannot_be_captured() {
    let answer = World::new().ask(r#"{"command":"capture","vm":"nobody"}"#);
    let error = answer[0]["error"].as_str().unwrap_or_default();
    assert!(
        error.contains("\"nobody\"") && error.contains("it"),
        "{error}"
    );
}

#[test]
fn nothing_can_be_done_where_no_guest_runs() {
    let world = World::new();
    for (request, reason) in [
        (
            r#"{"command":"exec","vm":"it","argv":["true"]}"#,
            "no guests",
        ),
        (r#"{"command":"exec","vm":"it","argv":[]}"#, "no command"),
        (
            r#"{"command":"exec","vm":"it","argv":["cat"],"stdin":"*"}"#,
            "base64",
        ),
        (
            r#"{"command":"exec","vm":"it","argv":["cat"],"timeout":-1}"#,
            "time-out",
        ),
        (
            r#"{"command":"do","act":{"do":"kill","vm":"it"}}"#,
            "no guests",
        ),
        (
            r#"{"command":"do","act":{"do":"kill","of":"it"}}"#,
            "not understood",
        ),
    ] {
        let answer = world.ask(request);
        assert_eq!(answer.len(), 1, "{request}");
        let error = answer[0]["error"].as_str().unwrap_or_default();
        assert!(error.contains(reason), "{request}: {answer:?}");
    }
}

#[test]
fn a_capture_begins_with_a_section_and_ends_with_the_run() {
    let mut world = World::new();
    let mut stream = world.send(r#"{"command":"capture","vm":"it"}"#);
    let mut start = Vec::new();
    while !start.ends_with(&[0x0a, 0x0d, 0x0d, 0x0a]) {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        start.push(byte[0]);
    }
    assert!(start.starts_with(br#"{"ok":"#));
    drop(world.control.take());
    drop(world.daemon.take());
    stream.read_to_end(&mut Vec::new()).unwrap();
}

#[test]
fn a_vm_that_is_not_there_cannot_be_traced() {
    let answer = World::new().ask(r#"{"command":"trace","vm":"nobody"}"#);
    let error = answer[0]["error"].as_str().unwrap_or_default();
    assert!(error.contains("\"nobody\""), "{error}");
}

#[test]
fn a_trace_says_first_what_ticks_are_and_ends_with_the_run() {
    let mut world = World::new();
    let stream = world.send(r#"{"command":"trace"}"#);
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    assert!(lines.next().unwrap().starts_with(r#"{"ok":"#));
    let first: Value = serde_json::from_str(&lines.next().unwrap()).unwrap();
    assert!(first["ticks-per-us"].as_f64().unwrap() > 1.0, "{first}");
    drop(world.control.take());
    drop(world.daemon.take());
    assert_eq!(lines.next(), None, "no frame has gone by");
}

/// Asks until the run has noticed that others have left.
fn listen(world: &World) -> UnixStream {
    for _ in 0..1_000 {
        let mut stream = world.send(r#"{"command":"events","follow":true}"#);
        let mut head = [0; 6];
        if stream.read_exact(&mut head).is_ok() && &head == br#"{"ok":"# {
            return stream;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    panic!("those who left make no room");
}

#[test]
fn listeners_that_leave_make_room_for_others() {
    let world = World::new();
    for _ in 0..40 {
        drop(listen(&world));
    }
}

#[test]
fn one_client_too_many_is_told_so() {
    let world = World::new();
    let _all: Vec<UnixStream> = (0..16).map(|_| listen(&world)).collect();
    let answer = world.ask(r#"{"command":"hello"}"#);
    let error = answer[0]["error"].as_str().unwrap_or_default();
    assert!(error.contains("16 clients"), "{answer:?}");
}

#[test]
fn the_socket_goes_with_the_server() {
    let mut world = World::new();
    drop(world.control.take());
    assert!(!world.socket().exists());
}
