//! A client's connection: lines of JSON, and whether anybody still reads them.

use std::io::Write;
use std::os::unix::net::UnixStream;

use anyhow::Result;
use serde::Serialize;

/// Whether the client has closed its end.
pub fn gone(stream: &UnixStream) -> bool {
    use rustix::net::{RecvFlags, recv};
    let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
    matches!(recv(stream, &mut [0_u8; 1][..], flags), Ok((0, _)))
}

/// Writes `value` as one line of JSON.
pub fn line(mut stream: &UnixStream, value: &impl Serialize) -> Result<()> {
    let mut text = serde_json::to_vec(value)?;
    text.push(b'\n');
    Ok(stream.write_all(&text)?)
}
