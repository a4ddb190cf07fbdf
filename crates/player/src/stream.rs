//! What carries a connection's bytes: the server's private socket, or TCP with TLS (`network`).

use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use bytes::{Buf, BytesMut};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, recv, send, sendmsg};

use crate::network::Encrypted;

const SENDS: SendFlags = SendFlags::DONTWAIT.union(SendFlags::NOSIGNAL);

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
        while !self.send_at_once(out)? {
            poll(&mut [PollFd::new(self, PollFlags::OUT)], None)?;
        }
        Ok(())
    }

    /// Send what the other side takes without waiting; true once nothing is left.
    ///
    /// # Errors
    /// The connection's.
    pub fn send_at_once(&mut self, out: &mut BytesMut) -> io::Result<bool> {
        if let Self::Network(way) = self {
            way.accept(&out[..])?;
            out.clear();
        }
        loop {
            let sent = match self {
                Self::Network(way) => way.send(),
                Self::Socket(_) if out.is_empty() => Ok(true),
                Self::Socket(socket) => match AtOnce(socket).write(&out[..]) {
                    Ok(0) => Err(io::ErrorKind::WriteZero.into()),
                    Ok(sent) => {
                        out.advance(sent);
                        Ok(out.is_empty())
                    }
                    Err(error) => Err(error),
                },
            };
            match sent {
                Ok(true) => return Ok(true),
                Ok(false) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Read what is there, also where reads may wait (`set_nonblocking`).
    ///
    /// # Errors
    /// The connection's; `WouldBlock` where nothing is there.
    pub fn read_at_once(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Socket(socket) => AtOnce(socket).read(into),
            Self::Network(way) => way.read_at_once(into),
        }
    }
}

/// A socket that lets nobody wait, whatever else is set for it.
pub struct AtOnce<'a, S>(pub &'a S);

impl<S: AsFd> Read for AtOnce<'_, S> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let (read, _) = recv(self.0, into, RecvFlags::DONTWAIT)?;
        Ok(read)
    }
}

impl<S: AsFd> Write for AtOnce<'_, S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(send(self.0, bytes, SENDS)?)
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut nothing = SendAncillaryBuffer::default();
        Ok(sendmsg(self.0, parts, &mut nothing, SENDS)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
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
