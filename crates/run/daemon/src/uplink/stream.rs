//! Ethernet frames over a stream socket, each behind its length in 32 bits, most significant first: what passt and
//! QEMU's `-netdev stream` speak (`man 1 passt`).

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use anyhow::{Context, Result, ensure};
use rustix::event::PollFlags;

/// Octets before each frame.
const LENGTH: usize = 4;
/// Longest frame that is believed: a larger number means that the stream is out of step.
const LONGEST: usize = 65_535;
/// Octets that may wait to be written; frames beyond are lost.
const BACKLOG: usize = 1 << 20;
const READ: usize = 65_536;

/// One stream.
pub struct FrameStream {
    socket: UnixStream,
    /// Read, and not a whole frame yet.
    received: Vec<u8>,
    backlog: VecDeque<u8>,
}

impl FrameStream {
    /// Over this socket, from now on without blocking.
    pub fn new(socket: UnixStream) -> std::io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self {
            socket,
            received: Vec::new(),
            backlog: VecDeque::new(),
        })
    }

    /// What is to be waited for.
    pub fn poll_fd(&self) -> (BorrowedFd<'_>, PollFlags) {
        let blocked = !self.backlog.is_empty();
        let flags = if blocked {
            PollFlags::IN | PollFlags::OUT
        } else {
            PollFlags::IN
        };
        (self.socket.as_fd(), flags)
    }

    /// Gives every whole frame that has come, and writes on what waits.
    pub fn receive(&mut self, give: &mut dyn FnMut(&[u8])) -> Result<()> {
        let mut chunk = [0; READ];
        loop {
            match self.socket.read(&mut chunk) {
                Ok(0) => anyhow::bail!("the other side has closed the stream"),
                Ok(length) => {
                    let chunk = chunk.get(..length).unwrap_or_default();
                    self.received.extend_from_slice(chunk);
                    let taken = whole_frames(&self.received, give)?;
                    self.received.drain(..taken);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error).context("cannot read from the stream"),
            }
        }
        self.write_on();
        Ok(())
    }

    /// Takes a frame, unless too much waits already.
    pub fn send(&mut self, frame: &[u8]) {
        let Some(length) = u32::try_from(frame.len())
            .ok()
            .filter(|_| self.has_room(frame))
        else {
            return;
        };
        self.backlog.extend(length.to_be_bytes());
        self.backlog.extend(frame);
        self.write_on();
    }

    fn has_room(&self, frame: &[u8]) -> bool {
        let after = self.backlog.len().saturating_add(frame.len());
        frame.len() <= LONGEST && after <= BACKLOG
    }

    /// An error shows when the stream is read next.
    fn write_on(&mut self) {
        while let (front, _) = self.backlog.as_slices()
            && !front.is_empty()
        {
            match self.socket.write(front) {
                Ok(written) if written > 0 => drop(self.backlog.drain(..written)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                _ => return,
            }
        }
    }
}

/// Gives the whole frames that `bytes` begins with; how many octets they are.
fn whole_frames(bytes: &[u8], give: &mut dyn FnMut(&[u8])) -> Result<usize> {
    let mut rest = bytes;
    while let Some((length, behind)) = rest.split_first_chunk::<LENGTH>() {
        let length = u32::from_be_bytes(*length) as usize;
        ensure!(
            length <= LONGEST,
            "a frame of {length} bytes: the stream is out of step"
        );
        let Some((frame, behind)) = behind.split_at_checked(length) else {
            break;
        };
        give(frame);
        rest = behind;
    }
    Ok(bytes.len() - rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(stream: &mut FrameStream) -> Vec<Vec<u8>> {
        let mut frames = Vec::new();
        stream
            .receive(&mut |frame| frames.push(frame.to_vec()))
            .unwrap();
        frames
    }

    fn pair() -> (FrameStream, UnixStream) {
        let (own, other) = UnixStream::pair().unwrap();
        (FrameStream::new(own).unwrap(), other)
    }

    #[test]
    fn frames_cut_anywhere_come_out_whole_and_in_order() {
        let (mut stream, mut other) = pair();
        let bytes = [
            &[0, 0, 0, 3][..],
            b"one",
            &[0, 0, 0, 0],
            &[0, 0, 0, 5],
            b"three",
        ]
        .concat();
        let mut got = Vec::new();
        for byte in bytes {
            other.write_all(&[byte]).unwrap();
            got.extend(frames(&mut stream));
        }
        assert_eq!(got, [b"one".to_vec(), Vec::new(), b"three".to_vec()]);
    }

    #[test]
    fn what_is_sent_bears_its_length_and_waits_for_a_slow_reader() {
        let (mut stream, mut other) = pair();
        let frame = [7; 1_500];
        for _ in 0..2_000 {
            stream.send(&frame);
        }
        let waits = stream.backlog.len();
        assert!(waits > 0 && waits <= BACKLOG, "bounded: {waits}");
        let mut read = vec![0; 1_504];
        other.read_exact(&mut read).unwrap();
        assert_eq!((&read[..4], &read[4..]), (&[0, 0, 5, 220][..], &frame[..]));
        other.read_exact(&mut read).unwrap();
        stream.receive(&mut |_| {}).unwrap();
        assert!(stream.backlog.len() < waits, "it is written on");
    }

    #[test]
    fn a_stream_out_of_step_and_one_that_is_closed_are_errors() {
        let (mut stream, mut other) = pair();
        other.write_all(&[0xff; 8]).unwrap();
        assert!(stream.receive(&mut |_| {}).is_err());
        let (mut stream, other) = pair();
        drop(other);
        assert!(stream.receive(&mut |_| {}).is_err());
    }
}
