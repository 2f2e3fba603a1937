//! TAP devices of the host (Linux `Documentation/networking/tuntap.rst`): an Ethernet frame per read, and per write.
//!
//! Not here: what the frames are, bridges, routes.

use std::ffi::{CString, c_char, c_int, c_short, c_uchar};
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use rustix::fs::{Mode, OFlags};
use rustix::net::{AddressFamily, SocketFlags, SocketType};

/// Where devices come from.
const CLONE: &str = "/dev/net/tun";
/// Of a device that is made here: the kernel puts a number in.
const PATTERN: &str = "airlane%d";
const AF_INET: libc::sa_family_t = short(libc::AF_INET).cast_unsigned();
/// Ethernet frames and nothing before them.
const ATTACH: c_short = short(libc::IFF_TAP | libc::IFF_NO_PI);
const UP: c_short = short(libc::IFF_UP | libc::IFF_BROADCAST | libc::IFF_MULTICAST);

/// A constant in the 16 bits that `struct ifreq` and `struct sockaddr` have for it.
#[expect(
    clippy::cast_possible_truncation,
    reason = "checked before, while this crate is compiled"
)]
const fn short(constant: c_int) -> c_short {
    assert!(constant >= 0 && constant <= c_short::MAX as c_int);
    constant as c_short
}

/// A TAP device that cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum TapError {
    /// The kernel offers none.
    #[error("cannot open {CLONE}: {0}")]
    Clone(#[source] io::Error),
    /// An interface's name has 1 to 15 bytes, and no slash.
    #[error("`{0}` cannot be the name of a network interface")]
    Name(String),
    /// Only who has CAP_NET_ADMIN, or owns a persistent device, may.
    #[error(
        "the TAP device {0} is not permitted: it takes CAP_NET_ADMIN, or a device that belongs to this user"
    )]
    Permission(String),
    /// Another program has it.
    #[error("the TAP device {0} is in use")]
    Busy(String),
    /// Anything else.
    #[error("cannot {1} the TAP device {0}: {2}")]
    Device(String, &'static str, #[source] io::Error),
}

/// An open device. A device that is not persistent goes with it.
pub struct Tap {
    file: File,
    name: String,
}

impl Tap {
    /// The device of this name, made when there is none; without a name a new one. Reads and writes do not block.
    pub fn open(name: Option<&str>) -> Result<Self, TapError> {
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::open(CLONE, flags, Mode::empty());
        let file = file.map_err(|errno| TapError::Clone(errno.into()))?;
        let asked = name.unwrap_or(PATTERN);
        let flags = libc::__c_anonymous_ifr_ifru { ifru_flags: ATTACH };
        let mut request = interface(asked, flags)?;
        control(file.as_fd(), libc::TUNSETIFF, &mut request).map_err(|error| {
            match error.raw_os_error() {
                Some(libc::EPERM) => TapError::Permission(asked.to_owned()),
                Some(libc::EBUSY) => TapError::Busy(asked.to_owned()),
                _ => TapError::Device(asked.to_owned(), "attach to", error),
            }
        })?;
        Ok(Self {
            file: File::from(file),
            name: text(&request.ifr_name),
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Gives it an address, and turns it on.
    pub fn set_up(&self, address: Ipv4Addr, prefix: u8) -> Result<(), TapError> {
        let bits = u32::MAX.checked_shl(32 - u32::from(prefix.min(32)));
        let mask = Ipv4Addr::from(bits.unwrap_or(0));
        let steps = [
            (libc::SIOCSIFADDR, internet(address), "give an address to"),
            (libc::SIOCSIFNETMASK, internet(mask), "give a network to"),
            (
                libc::SIOCSIFFLAGS,
                libc::__c_anonymous_ifr_ifru { ifru_flags: UP },
                "turn on",
            ),
        ];
        let failed = |what| move |error| TapError::Device(self.name.clone(), what, error);
        let socket = rustix::net::socket_with(
            AddressFamily::INET,
            SocketType::DGRAM,
            SocketFlags::CLOEXEC,
            None,
        );
        let socket = socket.map_err(|errno| failed("set up")(errno.into()))?;
        for (code, value, what) in steps {
            let mut request = interface(&self.name, value)?;
            control(socket.as_fd(), code, &mut request).map_err(failed(what))?;
        }
        Ok(())
    }

    /// The next frame into `buffer`: its length; `None` when none waits.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match (&self.file).read(buffer) {
            Ok(length) => Ok(Some(length)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Hands a frame to the host; `false` when it takes none now.
    pub fn send(&self, frame: &[u8]) -> bool {
        (&self.file)
            .write(frame)
            .is_ok_and(|written| written == frame.len())
    }
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

fn interface(name: &str, value: libc::__c_anonymous_ifr_ifru) -> Result<libc::ifreq, TapError> {
    let refused = || TapError::Name(name.to_owned());
    let bytes = CString::new(name)
        .map_err(|_| refused())?
        .into_bytes_with_nul();
    let mut ifr_name = [0; libc::IFNAMSIZ];
    if name.is_empty() || name.contains('/') || bytes.len() > ifr_name.len() {
        return Err(refused());
    }
    for (place, byte) in ifr_name.iter_mut().zip(bytes) {
        *place = c_char::from_ne_bytes([byte]);
    }
    Ok(libc::ifreq {
        ifr_name,
        ifr_ifru: value,
    })
}

fn text(name: &[c_char]) -> String {
    let bytes = name
        .iter()
        .map(|&byte| c_uchar::from_ne_bytes(byte.to_ne_bytes()));
    let bytes: Vec<u8> = bytes.take_while(|&byte| byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// `struct sockaddr_in`: port, then address.
fn internet(address: Ipv4Addr) -> libc::__c_anonymous_ifr_ifru {
    let mut sa_data = [0; 14];
    for (place, octet) in sa_data.iter_mut().skip(2).zip(address.octets()) {
        *place = c_char::from_ne_bytes([octet]);
    }
    libc::__c_anonymous_ifr_ifru {
        ifru_addr: libc::sockaddr {
            sa_family: AF_INET,
            sa_data,
        },
    }
}

fn control(fd: BorrowedFd, code: libc::Ioctl, request: &mut libc::ifreq) -> io::Result<()> {
    // SAFETY: each `code` that is used here reads and writes one `struct ifreq`, which `request` is, and keeps no
    // pointer to it.
    let result: c_int = unsafe { libc::ioctl(fd.as_raw_fd(), code, std::ptr::from_mut(request)) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_an_interface_is_refused_before_the_kernel_is_asked() {
        for name in ["", "sixteen-letters-", "a/b", "a\0b"] {
            let value = internet(Ipv4Addr::LOCALHOST);
            assert!(
                matches!(interface(name, value), Err(TapError::Name(_))),
                "{name:?}"
            );
        }
        let request = interface("tap0", internet(Ipv4Addr::LOCALHOST)).unwrap();
        assert_eq!(text(&request.ifr_name), "tap0");
    }
}
