//! Sessions that begin are connected by a thread of their own, so that those at work do not wait for it.
//!
//! A backend takes milliseconds to start; a player that opened connections between two calls would send the next ones
//! late, and that would be its own doing and not the server's.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Scope;

use rustix::event::{EventfdFlags, epoll, eventfd};
use rustix::io::{read, write};

use crate::connection::Connection;
use crate::error::PlayerError;
use crate::replay::NEWS;
use crate::specification::Specification;

/// A session and its connection, or why there is none.
pub type Opened = (usize, Result<Connection, PlayerError>);

/// The thread, as the player sees it.
pub struct Connector {
    asks: Sender<(usize, Vec<String>)>,
    opened: Receiver<Opened>,
    bell: Arc<OwnedFd>,
}

impl Connector {
    /// Start it; `epoll` wakes with `NEWS` once a connection is there.
    ///
    /// # Errors
    /// The operating system's.
    pub fn start<'scope>(
        scope: &'scope Scope<'scope, '_>,
        specification: &'scope Specification,
        poll: &OwnedFd,
    ) -> Result<Self, PlayerError> {
        let failed = |error: rustix::io::Errno| {
            PlayerError::System("cannot watch new connections", error.into())
        };
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(failed)?;
        let data = epoll::EventData::new_u64(NEWS);
        epoll::add(poll, &bell, data, epoll::EventFlags::IN).map_err(failed)?;
        let (asks, asked) = channel::<(usize, Vec<String>)>();
        let (opens, opened) = channel();
        let bell = Arc::new(bell);
        let rings = Arc::clone(&bell);
        scope.spawn(move || {
            for (place, settings) in asked {
                let _ = opens.send((place, open(specification, &settings)));
                let _ = write(&rings, &1u64.to_ne_bytes());
            }
        });
        Ok(Self { asks, opened, bell })
    }

    /// Have this session connected.
    pub fn ask(&self, place: usize, settings: Vec<String>) {
        let _ = self.asks.send((place, settings));
    }

    /// What has been opened since it was last asked.
    #[must_use]
    pub fn news(&self) -> Vec<Opened> {
        let _ = read(&self.bell, &mut [0; 8]);
        self.opened.try_iter().collect()
    }

    /// End it, with what it still opened.
    #[must_use]
    pub fn end(self) -> Vec<Opened> {
        drop(self.asks);
        self.opened.iter().collect()
    }
}

/// A connection with what its session had set before; a setting that is refused here stays as it is.
///
/// # Errors
/// The connection's.
pub fn open(specification: &Specification, settings: &[String]) -> Result<Connection, PlayerError> {
    let mut connection = Connection::open(specification)?;
    for each in settings {
        connection
            .query(each)
            .and_then(|()| connection.wait())
            .map_err(|error| PlayerError::Connection(error.to_string()))?;
    }
    Ok(connection)
}
