//! The line to a guest's agent: we listen on a Unix socket, QEMU connects the guest's second serial
//! port to it, and a thread reads lines until either side ends.

use super::line::{Line, LineError};
use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// Longest line that is read; a guest that sends a longer one is not listened to any more.
const LONGEST_LINE: u64 = 64 * 1024;
/// How often a waiting listener looks whether it is still wanted.
const PATIENCE: Duration = Duration::from_millis(20);

/// Bytes in which a guest takes what a command reads.
const BLOCK: usize = 512;

/// What comes from an agent.
#[derive(Debug)]
pub enum Heard {
    /// A line, or one that is not of the language.
    Line(Result<Line, LineError>),
    /// The guest's port is closed.
    Closed,
}

/// Our end of the line. Dropping it closes the line and ends its thread.
pub struct Agent {
    stream: Arc<Mutex<Option<UnixStream>>>,
    unwanted: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    next_id: u64,
}

impl Agent {
    /// Listens at `socket`; all that is heard goes to `hear`, from a thread of its own.
    pub fn listen(socket: &Path, hear: impl FnMut(Heard) + Send + 'static) -> Result<Self> {
        let listen = || {
            let listener = UnixListener::bind(socket)?;
            listener.set_nonblocking(true)?;
            Ok::<_, std::io::Error>(listener)
        };
        let listener =
            listen().with_context(|| format!("cannot listen at {}", socket.display()))?;
        let (stream, unwanted) = (Arc::new(Mutex::new(None)), Arc::new(AtomicBool::new(false)));
        let ends = (Arc::clone(&stream), Arc::clone(&unwanted));
        let thread = std::thread::Builder::new()
            .name("agent".to_owned())
            .spawn(move || attend(&listener, &ends.0, &ends.1, hear))?;
        Ok(Self {
            stream,
            unwanted,
            thread: Some(thread),
            next_id: 1,
        })
    }

    /// Starts a command in the guest; its output and end carry the number that is returned.
    pub fn exec(&mut self, command: &str) -> Result<u64> {
        let id = self.next_id;
        self.next_id += 1;
        self.say(&format!("exec {id} {}\n", command.replace('\n', " ")))?;
        Ok(id)
    }

    /// Starts a command of any text, with `input` on its standard input. What it prints comes at once, its standard
    /// error apart.
    pub fn run(&mut self, command: &str, input: &[u8]) -> Result<u64> {
        let id = self.next_id;
        self.next_id += 1;
        let (command, mut input) = (STANDARD.encode(command), STANDARD.encode(input));
        let blocks = input.len().div_ceil(BLOCK);
        let filling = blocks * BLOCK - input.len();
        input.extend(std::iter::repeat_n('\n', filling));
        match blocks {
            0 => self.say(&format!("run {id} {command}\n"))?,
            _ => self.say(&format!("run {id} {command} {blocks}\n{input}"))?,
        }
        Ok(id)
    }

    /// Ends a command.
    pub fn cancel(&mut self, id: u64) -> Result<()> {
        self.say(&format!("cancel {id}\n"))
    }

    fn say(&self, line: &str) -> Result<()> {
        let stream = self.stream.lock().ok();
        let stream = stream.as_ref().and_then(|stream| stream.as_ref());
        let mut stream = stream.context("the guest's agent is not connected")?;
        stream
            .write_all(line.as_bytes())
            .context("the guest's agent does not listen")
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.unwanted.store(true, Ordering::Relaxed);
        if let Ok(stream) = self.stream.lock()
            && let Some(stream) = stream.as_ref()
        {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The thread: waits for the guest, then reads until the end.
fn attend(
    listener: &UnixListener,
    stream: &Mutex<Option<UnixStream>>,
    unwanted: &AtomicBool,
    mut hear: impl FnMut(Heard),
) {
    let Some(connected) = accept(listener, unwanted) else {
        return;
    };
    let Ok(reading) = connected.try_clone() else {
        return hear(Heard::Closed);
    };
    if let Ok(mut stream) = stream.lock() {
        *stream = Some(connected);
    }
    // The owner may have gone between the two steps above, and could not close what was not there.
    if unwanted.load(Ordering::Relaxed) {
        return;
    }
    read_lines(BufReader::new(reading), &mut hear);
    hear(Heard::Closed);
}

fn accept(listener: &UnixListener, unwanted: &AtomicBool) -> Option<UnixStream> {
    while !unwanted.load(Ordering::Relaxed) {
        if let Ok((stream, _)) = listener.accept() {
            stream.set_nonblocking(false).ok()?;
            stream
                .set_write_timeout(Some(Duration::from_secs(5)))
                .ok()?;
            return Some(stream);
        }
        std::thread::sleep(PATIENCE);
    }
    None
}

fn read_lines(mut from: impl BufRead, hear: &mut impl FnMut(Heard)) {
    loop {
        let mut bytes = Vec::new();
        let read = from
            .by_ref()
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut bytes);
        if !matches!(read, Ok(length) if length > 0) || bytes.last() != Some(&b'\n') {
            return;
        }
        let text = String::from_utf8_lossy(&bytes);
        if !text.trim().is_empty() {
            hear(Heard::Line(Line::parse(&text)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, channel};

    fn listening() -> (tempfile::TempDir, Agent, UnixStream, Receiver<Heard>) {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("agent");
        let (send, heard) = channel();
        let agent = Agent::listen(&socket, move |what| drop(send.send(what))).unwrap();
        let guest = UnixStream::connect(&socket).unwrap();
        (folder, agent, guest, heard)
    }

    #[test]
    fn commands_go_there_and_lines_come_back() {
        let (_folder, mut agent, mut guest, heard) = listening();
        guest.write_all(b"event booted kernel=6.1\n\n").unwrap();
        let Heard::Line(Ok(Line::Event(event))) = heard.recv().unwrap() else {
            panic!("no event");
        };
        assert_eq!(event.name, "booted");
        let id = agent.exec("ping -c 1 10.0.0.1").unwrap();
        let mut line = String::new();
        BufReader::new(&guest).read_line(&mut line).unwrap();
        assert_eq!(line, format!("exec {id} ping -c 1 10.0.0.1\n"));
        let id = agent.run("echo 'a\nb'", &[7; 500]).unwrap();
        let (mut line, mut reader) = (String::new(), BufReader::new(&guest));
        reader.read_line(&mut line).unwrap();
        assert_eq!(line, format!("run {id} ZWNobyAnYQpiJw== 2\n"));
        let mut blocks = vec![0; 2 * BLOCK];
        reader.read_exact(&mut blocks).unwrap();
        let sent = String::from_utf8(blocks).unwrap();
        assert_eq!(STANDARD.decode(sent.trim_end()).unwrap(), [7; 500]);
        drop(guest);
        assert!(matches!(heard.recv().unwrap(), Heard::Closed));
    }

    #[test]
    fn a_line_without_end_is_not_read_for_ever() {
        let (_folder, _agent, mut guest, heard) = listening();
        let _ = guest.write_all(&vec![b'x'; 2 * LONGEST_LINE as usize]);
        assert!(matches!(heard.recv().unwrap(), Heard::Closed));
    }

    #[test]
    fn dropping_ends_the_thread_with_and_without_a_guest() {
        let (_folder, agent, _guest, heard) = listening();
        drop(agent);
        while heard.recv().is_ok() {}
        let folder = tempfile::tempdir().unwrap();
        let agent = Agent::listen(&folder.path().join("agent"), |_| ()).unwrap();
        drop(agent);
    }
}
