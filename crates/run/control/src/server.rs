//! The daemon's side of the control socket: a thread that accepts, and one for each client.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::answer::Names;
use super::ask::{Asks, Wanted};
use super::exec;
use super::request::{Head, Request};
use super::stream::{gone, line};
use super::trace::{Telling, TraceLine};
use airlane_daemon::Handle;

/// Clients at a time.
const CLIENTS: usize = 16;
/// Longest request, bytes.
const LONGEST_REQUEST: u64 = 128 * 1024;
/// A client that neither asks nor reads for this long is left.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long one is waited for that is refused anyway.
const HURRY: Duration = Duration::from_millis(100);
/// What has happened so far is there at once; this long without more is its end.
const SO_FAR: Duration = Duration::from_millis(100);

/// The server. Dropping it ends it.
pub struct Server {
    path: PathBuf,
    stopping: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// What all clients are answered from.
struct Answers {
    handle: Arc<Handle>,
    names: Names,
    asks: Asks,
}

impl Server {
    /// Listens at `path`, which must not exist. Nothing can be done in guests: there are none.
    pub fn start(path: &Path, handle: Arc<Handle>, names: Names) -> Result<Self> {
        Self::for_run(path, handle, names, Box::new(|_| false))
    }

    /// Listens at `path`, which must not exist. What is to be done in guests goes to `asks`.
    pub fn for_run(path: &Path, handle: Arc<Handle>, names: Names, asks: Asks) -> Result<Self> {
        let listener = UnixListener::bind(path)
            .with_context(|| format!("cannot listen at {}", path.display()))?;
        let stopping = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&stopping);
        let answers = Arc::new(Answers {
            handle,
            names,
            asks,
        });
        let thread = std::thread::Builder::new()
            .name("control".to_owned())
            .spawn(move || accept(&listener, &stop, &answers))?;
        Ok(Self {
            path: path.to_owned(),
            stopping,
            thread: Some(thread),
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::Release);
        // The connection wakes the thread.
        let woken = UnixStream::connect(&self.path).is_ok();
        if let Some(thread) = self.thread.take().filter(|_| woken) {
            let _ = thread.join();
        }
        let _ = std::fs::remove_file(&self.path);
    }
}

fn accept(listener: &UnixListener, stop: &AtomicBool, answers: &Arc<Answers>) {
    let clients = Arc::new(AtomicUsize::new(0));
    while let Ok((stream, _)) = listener.accept() {
        if stop.load(Ordering::Acquire) {
            return;
        }
        if clients.load(Ordering::Acquire) >= CLIENTS {
            let _ = refuse(&stream);
            continue;
        }
        clients.fetch_add(1, Ordering::AcqRel);
        let (left, answers) = (Arc::clone(&clients), Arc::clone(answers));
        let serve = move || {
            if let Err(error) = serve(&stream, &answers) {
                tracing::debug!(%error, "control: a client has gone");
            }
            left.fetch_sub(1, Ordering::AcqRel);
        };
        let name = "control-client".to_owned();
        if std::thread::Builder::new().name(name).spawn(serve).is_err() {
            clients.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// The request is read all the same: a connection closed upon unread bytes is reset, and its answer lost.
fn refuse(stream: &UnixStream) -> Result<()> {
    stream.set_read_timeout(Some(HURRY))?;
    stream.set_write_timeout(Some(HURRY))?;
    let _ = read(stream);
    let full = format!("{CLIENTS} clients are connected already; try again later");
    line(stream, &Head::Error(full))
}

fn serve(stream: &UnixStream, answers: &Answers) -> Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    match read(stream).and_then(|request| check(request, &answers.names)) {
        Ok(Request::Exec {
            vm,
            argv,
            stdin,
            timeout,
        }) => match exec::wanted(vm, &argv, &stdin, timeout) {
            Ok(wanted) => exec::serve(stream, &answers.head(), &answers.asks, wanted),
            Err(error) => line(stream, &Head::Error(format!("{error:#}"))),
        },
        Ok(Request::Do { act }) => {
            exec::serve(stream, &answers.head(), &answers.asks, Wanted::Act(act))
        }
        Ok(request) => answers.answer(stream, request),
        Err(error) => line(stream, &Head::Error(format!("{error:#}"))),
    }
}

fn read(stream: &UnixStream) -> Result<Request> {
    let mut text = String::new();
    let mut reader = BufReader::new(stream.take(LONGEST_REQUEST));
    reader
        .read_line(&mut text)
        .context("cannot read the request")?;
    serde_json::from_str(&text).context("the request is not understood")
}

fn check(request: Request, names: &Names) -> Result<Request> {
    if let Request::Capture { vm: Some(vm) } | Request::Trace { vm: Some(vm) } = &request
        && names.address(vm).is_none()
    {
        let known = names.vm_names().join(", ");
        bail!("no VM is named {vm:?}\n  remedy: name one of {known}");
    }
    Ok(request)
}

impl Answers {
    fn head(&self) -> Head {
        Head::Ok {
            run: self.names.run.clone(),
            vms: self.names.vm_names(),
        }
    }

    fn answer(&self, stream: &UnixStream, request: Request) -> Result<()> {
        line(stream, &self.head())?;
        match request {
            // What is done in the run is answered elsewhere: whether it begins decides about the first line.
            Request::Hello | Request::Exec { .. } | Request::Do { .. } => Ok(()),
            Request::Show => line(stream, &self.names.show(&self.handle.status()?)),
            Request::Events { follow } => self.events(stream, follow),
            Request::Capture { vm } => {
                let address = vm.and_then(|vm| self.names.address(&vm));
                self.handle.capture(address)?.write_to(stream)?;
                Ok(())
            }
            Request::Trace { vm } => self.trace(stream, vm),
        }
    }

    fn trace(&self, mut stream: &UnixStream, vm: Option<String>) -> Result<()> {
        let traces = self.handle.trace()?;
        line(stream, &TraceLine::TicksPerUs(traces.scale.ticks_per_us))?;
        let mut telling = Telling::new(self.names.vm_names(), vm, traces.origin);
        while !gone(stream) {
            let chunk = match traces.next(SO_FAR) {
                Ok(chunk) => chunk,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            let mut text = Vec::new();
            for told in telling.lines(&chunk) {
                serde_json::to_writer(&mut text, &told)?;
                text.push(b'\n');
            }
            stream.write_all(&text)?;
        }
        Ok(())
    }

    fn events(&self, stream: &UnixStream, follow: bool) -> Result<()> {
        let epoch = self.handle.epoch();
        let events = self.handle.events()?;
        loop {
            match events.recv_timeout(SO_FAR) {
                Ok(notice) => line(stream, &self.names.event(&notice, epoch))?,
                Err(RecvTimeoutError::Timeout) if follow && !gone(stream) => {}
                Err(_) => return Ok(()),
            }
        }
    }
}
