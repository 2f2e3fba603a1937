//! QEMU's monitor: the machine protocol (docs/interop/qmp-spec in QEMU) over a Unix socket. One JSON
//! object per line; a reply to each order, and events in between.
//!
//! Not here: the schema. The few orders that a run gives do not pay for one generated of all of QEMU's,
//! as the `qapi` crate brings it, which would have to fit the user's QEMU as well.

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a reply may take; an emulator that does much else answers within a second.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a look for events may hold up the run.
const GLANCE: Duration = Duration::from_millis(1);
/// Events that are kept until somebody asks for them.
const MOST_EVENTS: usize = 256;

/// A connection to the monitor of one QEMU.
pub struct Monitor {
    stream: BufReader<UnixStream>,
    /// The beginning of a line whose end has not come yet.
    partial: Vec<u8>,
    events: Vec<String>,
}

impl Monitor {
    /// Connects to the monitor that listens at `socket`.
    pub fn connect(socket: &Path) -> Result<Self> {
        let stream = UnixStream::connect(socket)
            .with_context(|| format!("cannot reach QEMU's monitor at {}", socket.display()))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut monitor = Self {
            stream: BufReader::new(stream),
            partial: Vec::new(),
            events: Vec::new(),
        };
        let greeting = monitor.read(Instant::now() + PATIENCE)?;
        greeting
            .filter(|greeting| greeting.get("QMP").is_some())
            .context("QEMU's monitor does not greet")?;
        monitor.execute("qmp_capabilities", json!({}))?;
        Ok(monitor)
    }

    /// Gives an order; what it returns.
    pub fn execute(&mut self, order: &str, arguments: Value) -> Result<Value> {
        let line = json!({"execute": order, "arguments": arguments}).to_string() + "\n";
        let mut stream = self.stream.get_ref();
        stream
            .write_all(line.as_bytes())
            .with_context(|| format!("QEMU's monitor does not take `{order}`"))?;
        let deadline = Instant::now() + PATIENCE;
        while let Some(mut message) = self.read(deadline)? {
            if let Some(result) = message.get_mut("return") {
                return Ok(result.take());
            }
            if let Some(error) = message.get("error") {
                let said = error.get("desc").and_then(Value::as_str).unwrap_or("?");
                bail!("QEMU refuses `{order}`: {said}");
            }
            self.note(&message);
        }
        bail!("QEMU's monitor has not answered `{order}` in {PATIENCE:?}")
    }

    /// Whether the event `name` has come since it was last asked for.
    pub fn happened(&mut self, name: &str) -> Result<bool> {
        while let Some(message) = self.read(Instant::now() + GLANCE)? {
            self.note(&message);
        }
        let count = self.events.len();
        self.events.retain(|event| event != name);
        Ok(self.events.len() < count)
    }

    fn note(&mut self, message: &Value) {
        if let Some(event) = message.get("event").and_then(Value::as_str)
            && self.events.len() < MOST_EVENTS
        {
            self.events.push(event.to_owned());
        }
    }

    /// The next message; none when none has come until `deadline`.
    fn read(&mut self, deadline: Instant) -> Result<Option<Value>> {
        loop {
            let rest = deadline.saturating_duration_since(Instant::now());
            // A time-out of zero would mean none.
            let rest = rest.max(Duration::from_micros(100));
            self.stream.get_ref().set_read_timeout(Some(rest))?;
            match self.stream.read_until(b'\n', &mut self.partial) {
                Ok(0) => bail!("QEMU has closed its monitor"),
                Ok(_) if self.partial.ends_with(b"\n") => {
                    let line = std::mem::take(&mut self.partial);
                    let message = serde_json::from_slice(&line);
                    return message.map(Some).context("QEMU's monitor sends no JSON");
                }
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if Instant::now() >= deadline {
                        return Ok(None);
                    }
                }
                Err(error) => return Err(error).context("cannot read from QEMU's monitor"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;
    use std::thread::JoinHandle;

    /// A monitor that greets, then says each of `lines` after one more order.
    fn qemu(
        lines: &'static [&'static str],
    ) -> (tempfile::TempDir, Result<Monitor>, JoinHandle<()>) {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("qmp");
        let listener = UnixListener::bind(&socket).unwrap();
        let thread = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut orders = BufReader::new(stream.try_clone().unwrap()).lines();
            stream.write_all(b"{\"QMP\": {}}\n").unwrap();
            for line in lines {
                let Some(Ok(_)) = orders.next() else { return };
                stream.write_all(line.as_bytes()).unwrap();
            }
        });
        let monitor = Monitor::connect(&socket);
        (folder, monitor, thread)
    }

    const READY: &str = "{\"return\": {}}\n";

    #[test]
    fn an_order_gets_its_result_and_events_before_it_are_kept() {
        let (_folder, monitor, thread) = qemu(&[
            READY,
            "{\"event\": \"SUSPEND\"}\n{\"return\": {\"status\": \"suspended\"}}\n{\"event\": \"WAKEUP\"}\n",
        ]);
        let mut monitor = monitor.unwrap();
        let status = monitor.execute("query-status", json!({})).unwrap();
        assert_eq!(status["status"], "suspended");
        thread.join().unwrap();
        assert!(monitor.happened("SUSPEND").is_err(), "QEMU is gone");
        assert_eq!(monitor.events, ["SUSPEND", "WAKEUP"]);
    }

    #[test]
    fn an_event_is_told_once() {
        let (_folder, monitor, _thread) =
            qemu(&["{\"event\": \"RESET\"}\n{\"return\": {}}\n", READY, READY]);
        let mut monitor = monitor.unwrap();
        assert!(monitor.happened("RESET").unwrap());
        assert!(!monitor.happened("RESET").unwrap());
    }

    #[test]
    fn a_refusal_is_given_in_qemus_words() {
        let (_folder, monitor, _thread) = qemu(&[
            READY,
            "{\"error\": {\"class\": \"GenericError\", \"desc\": \"Duplicate device ID 'card'\"}}\n",
        ]);
        let refused = monitor.unwrap().execute("device_add", json!({}));
        let words = refused.unwrap_err().to_string();
        assert_eq!(
            words,
            "QEMU refuses `device_add`: Duplicate device ID 'card'"
        );
    }

    #[test]
    fn what_is_no_monitor_is_an_error() {
        let (_folder, monitor, _thread) = qemu(&["no JSON\n"]);
        assert!(monitor.is_err());
    }
}
