//! What carries a connection's bytes: the server's private socket, or TCP with TLS (`network`).

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use bytes::{Buf, BytesMut};
use rustix::event::{PollFd, PollFlags, poll};

use crate::network::Encrypted;

/// A connection's bytes, both ways.
pub enum Stream {
    /// By the private socket.
    Socket(UnixStream),
    /// Over TCP.
    Network(Box<Encrypted>),
}

impl Stream {
    /// Shall reads and writes return at once where they would have to wait?
    ///
    /// # Errors
    /// The operating system's.
    pub fn set_nonblocking(&self, at_once: bool) -> io::Result<()> {
        match self {
            Self::Socket(socket) => socket.set_nonblocking(at_once),
            Self::Network(way) => way.socket.set_nonblocking(at_once),
        }
    }

    /// Send all of it, however long that takes.
    ///
    /// # Errors
    /// The connection's.
    pub fn send(&mut self, out: &mut BytesMut) -> io::Result<()> {
        if let Self::Network(way) = self {
            way.accept(&out[..])?;
            out.clear();
        }
        loop {
            let sent = match self {
                Self::Network(way) => way.send(),
                Self::Socket(_) if out.is_empty() => Ok(true),
                Self::Socket(socket) => match socket.write(&out[..]) {
                    Ok(0) => Err(io::ErrorKind::WriteZero.into()),
                    Ok(sent) => {
                        out.advance(sent);
                        Ok(out.is_empty())
                    }
                    Err(error) => Err(error),
                },
            };
            match sent {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    poll(&mut [PollFd::new(self, PollFlags::OUT)], None)?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Socket(socket) => socket.read(into),
            Self::Network(way) => way.read(into),
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Socket(socket) => socket.as_fd(),
            Self::Network(way) => way.socket.as_fd(),
        }
    }
}
