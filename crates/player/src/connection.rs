//! One connection: what is sent, and what is read of what comes back.
//!
//! By the server's private socket nobody is asked for a password; over TCP (`network`) everybody is (RFC 5802, 7677).
//! Messages are built and read by the crate `postgres-protocol` (manual, "Frontend/Backend Protocol"). As libpq does,
//! a bound statement is described before it is executed, so that the server's work is that of any other client.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use bytes::{Buf, BytesMut};
use fallible_iterator::FallibleIterator;
use postgres_protocol::IsNull;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::backend::{self, Message};
use postgres_protocol::message::frontend;
use rustix::event::{PollFd, PollFlags, poll};

use crate::answer::{Answer, Refusal, counted};
use crate::clock::monotonic_ns;
use crate::error::PlayerError;
use crate::pipeline::{BLOCK_BYTES, Pipeline};
use crate::script::value::Value;
use crate::specification::Specification;
use crate::stream::Stream;

const BUFFER_BYTES: usize = 16 << 10;
/// Of a message: its kind and its length.
const HEADER_BYTES: usize = 5;

struct Login {
    password: String,
    exchange: Option<ScramSha256>,
}

/// A connection to a server, non-blocking once it is open, unless `wait_in_reads` was called.
pub struct Connection {
    stream: Stream,
    /// The password, and how far its exchange is; None where there is none, and once the server is ready.
    login: Option<Login>,
    out: BytesMut,
    input: BytesMut,
    /// Where a read puts its bytes; kept, so that it is not zeroed again for each answer.
    chunk: Box<[u8]>,
    /// Of the statement sent last.
    pub answer: Answer,
    /// What is sent without waiting for each answer.
    pub pipeline: Pipeline,
    /// The process id of the backend, as it says; 0 until it has.
    pub backend: i32,
}

impl Connection {
    /// Connect and wait until the server is ready.
    ///
    /// # Errors
    /// `PlayerError::Connection`: no socket there, or the server refuses.
    pub fn open(specification: &Specification) -> Result<Self, PlayerError> {
        let (stream, name, login) = match (&specification.network, &specification.socket_directory)
        {
            (Some(network), _) => {
                let login = Login {
                    password: network.password.clone(),
                    exchange: None,
                };
                let stream = network.connect().map(|way| Stream::Network(Box::new(way)));
                (stream, network.address().to_string(), Some(login))
            }
            (None, Some(directory)) => {
                let path = directory.join(format!(".s.PGSQL.{}", specification.port));
                let stream = UnixStream::connect(&path).map(Stream::Socket);
                (stream, path.display().to_string(), None)
            }
            (None, None) => {
                let what = "it has neither a socket nor a network";
                return Err(PlayerError::Specification(what.into()));
            }
        };
        let refused = |error: io::Error| PlayerError::Connection(format!("\"{name}\": {error}"));
        let mut connection = Self {
            stream: stream.map_err(refused)?,
            login,
            out: BytesMut::with_capacity(BUFFER_BYTES),
            input: BytesMut::with_capacity(BUFFER_BYTES),
            chunk: vec![0; BUFFER_BYTES].into_boxed_slice(),
            answer: Answer::default(),
            pipeline: Pipeline::default(),
            backend: 0,
        };
        let parameters = [
            ("user", specification.user.as_str()),
            ("database", specification.database.as_str()),
            ("application_name", "pgassay-player"),
            ("client_encoding", "UTF8"),
        ];
        frontend::startup_message(parameters, &mut connection.out).map_err(refused)?;
        connection.flush().map_err(refused)?;
        let ready = connection.wait();
        if let Some(refusal) = connection.answer.refusal.take() {
            return Err(PlayerError::Connection(refusal.message)); // and then it closes the connection
        }
        ready.map_err(refused)?;
        connection.login = None;
        connection.stream.set_nonblocking(true).map_err(refused)?;
        Ok(connection)
    }

    /// Let a read wait for what comes: for a thread that has no other connection to look at.
    ///
    /// # Errors
    /// The operating system's.
    pub fn wait_in_reads(&self) -> io::Result<()> {
        self.stream.set_nonblocking(false)
    }

    /// Wait for the whole answer, blocking.
    ///
    /// # Errors
    /// The connection's.
    pub fn wait(&mut self) -> io::Result<()> {
        loop {
            if self.receive(false)? {
                return Ok(());
            }
            poll(&mut [PollFd::new(&self.stream, PollFlags::IN)], None)?;
        }
    }

    /// Send a text by the simple protocol.
    ///
    /// # Errors
    /// The connection's.
    pub fn query(&mut self, text: &str) -> io::Result<()> {
        frontend::query(text, &mut self.out)?;
        self.flush()
    }

    /// Have a statement parsed under a name, and wait for it; `answer` says whether the server refused it.
    ///
    /// # Errors
    /// The connection's.
    pub fn prepare(&mut self, name: &str, text: &str) -> io::Result<()> {
        frontend::parse(name, text, [], &mut self.out)?;
        frontend::sync(&mut self.out);
        self.flush()?;
        self.wait()
    }

    /// Bind and execute: the statement prepared under `name`, or, if `text` is given, that one parsed at once.
    ///
    /// # Errors
    /// The connection's.
    pub fn execute<'a>(
        &mut self,
        name: &str,
        text: Option<&str>,
        values: impl Iterator<Item = &'a Option<Value>>,
    ) -> io::Result<()> {
        self.bind(name, text, values)?;
        frontend::sync(&mut self.out);
        self.flush()
    }

    /// Bind and execute, as `execute` does, in the open pipeline; `push` sends it.
    ///
    /// # Errors
    /// A parameter that cannot be sent.
    pub fn add<'a>(
        &mut self,
        number: usize,
        name: &str,
        text: Option<&str>,
        values: impl Iterator<Item = &'a Option<Value>>,
    ) -> io::Result<()> {
        self.bind(name, text, values)?;
        self.pipeline.add(Some(number));
        Ok(())
    }

    /// Begin a pipeline.
    pub fn open_pipeline(&mut self) {
        self.answer = Answer::default();
        self.pipeline.open();
    }

    /// A Sync within the open pipeline.
    pub fn add_sync(&mut self) {
        frontend::sync(&mut self.out);
        self.pipeline.add(None);
    }

    /// The Sync at the open pipeline's end.
    pub fn end_pipeline(&mut self) {
        frontend::sync(&mut self.out);
        self.pipeline.end();
    }

    /// Is a block of the pipeline full?
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.out.len() >= BLOCK_BYTES
    }

    /// Send what there is of the pipeline, as much as the server takes; true once nothing is left. A server that waits
    /// until its answers are read takes no more: where something is left, read before the next try.
    ///
    /// # Errors
    /// The connection's.
    pub fn push(&mut self) -> io::Result<bool> {
        self.pipeline.sending(monotonic_ns());
        let all = self.stream.send_at_once(&mut self.out)?;
        if all {
            self.pipeline.sent();
        }
        Ok(all)
    }

    fn bind<'a>(
        &mut self,
        name: &str,
        text: Option<&str>,
        values: impl Iterator<Item = &'a Option<Value>>,
    ) -> io::Result<()> {
        if let Some(text) = text {
            frontend::parse(name, text, [], &mut self.out)?;
        }
        let mut scratch = String::new();
        let serialize = |value: &Option<Value>, out: &mut BytesMut| match value {
            None | Some(Value::Null) => Ok(IsNull::Yes),
            Some(value) => {
                scratch.clear();
                value.write_to(&mut scratch);
                out.extend_from_slice(scratch.as_bytes());
                Ok(IsNull::No)
            }
        };
        frontend::bind("", name, [0], values, serialize, [0], &mut self.out).map_err(|_| {
            io::Error::new(io::ErrorKind::InvalidInput, "a parameter cannot be sent")
        })?;
        frontend::describe(b'P', "", &mut self.out)?;
        frontend::execute("", 0, &mut self.out)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.answer = Answer::default();
        self.stream.send(&mut self.out)
    }

    /// Take what has arrived; true once the answer is whole. With `rows`, columns and last row are kept.
    ///
    /// # Errors
    /// The connection's; `UnexpectedEof` where the server has closed it.
    pub fn receive(&mut self, rows: bool) -> io::Result<bool> {
        loop {
            let read = if self.pipeline.may_wait() {
                self.stream.read(&mut self.chunk)
            } else {
                self.stream.read_at_once(&mut self.chunk)
            };
            match read {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => {
                    self.input.extend_from_slice(&self.chunk[..read]);
                    if self.take(rows)? {
                        return Ok(true);
                    }
                    if read < self.chunk.len() {
                        return Ok(false);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn take(&mut self, rows: bool) -> io::Result<bool> {
        let now = if self.pipeline.is_open() {
            monotonic_ns()
        } else {
            0
        };
        while let Some(header) = backend::Header::parse(&self.input)? {
            let length = usize::try_from(header.len()).map_err(io::Error::other)? + 1;
            if self.input.len() < length {
                self.input.reserve(length - self.input.len());
                return Ok(false);
            }
            match header.tag() {
                backend::READY_FOR_QUERY_TAG => {
                    self.answer.status = self.input[length - 1];
                    self.input.advance(length);
                    if self.pipeline.synchronized() {
                        return Ok(true);
                    }
                }
                backend::ERROR_RESPONSE_TAG => {
                    self.keep()?;
                    self.pipeline.refuse(now);
                }
                backend::AUTHENTICATION_TAG | backend::BACKEND_KEY_DATA_TAG => self.keep()?,
                backend::DATA_ROW_TAG | backend::ROW_DESCRIPTION_TAG if rows => self.keep()?,
                backend::COMMAND_COMPLETE_TAG => {
                    let rows = counted(&self.input[HEADER_BYTES..length - 1]);
                    self.answer.counted += rows;
                    self.pipeline.answer(now, rows);
                    self.input.advance(length);
                }
                backend::EMPTY_QUERY_RESPONSE_TAG | backend::PORTAL_SUSPENDED_TAG => {
                    self.pipeline.answer(now, 0);
                    self.input.advance(length);
                }
                tag => {
                    self.answer.rows += u64::from(tag == backend::DATA_ROW_TAG);
                    self.input.advance(length);
                }
            }
        }
        Ok(false)
    }

    fn keep(&mut self) -> io::Result<()> {
        match Message::parse(&mut self.input)? {
            Some(Message::ErrorResponse(body)) => {
                let refusal = Refusal::of(&body)?;
                self.answer.refusal.get_or_insert(refusal);
            }
            Some(Message::DataRow(body)) => self.answer.keep_row(&body)?,
            Some(Message::RowDescription(body)) => self.answer.name_columns(&body)?,
            Some(Message::BackendKeyData(body)) => self.backend = body.process_id(),
            Some(Message::AuthenticationOk) | None => {}
            Some(asked) => self.log_in(&asked)?,
        }
        Ok(())
    }

    /// Answer what the server asks about the password. It is the server's turn to prove that it knows it, too.
    fn log_in(&mut self, asked: &Message) -> io::Result<()> {
        let denied = |what| io::Error::new(io::ErrorKind::PermissionDenied, what);
        let Some(login) = &mut self.login else {
            return Err(denied(
                "the server asks for a password, and the player has none",
            ));
        };
        match (asked, &mut login.exchange) {
            (Message::AuthenticationSasl(body), None) => {
                if !body.mechanisms().any(|name| Ok(name == SCRAM_SHA_256))? {
                    return Err(denied("the server does not take a password by SCRAM"));
                }
                // The certificate is known to be the server's own, so there is nothing to bind the exchange to.
                let begun =
                    ScramSha256::new(login.password.as_bytes(), ChannelBinding::unsupported());
                frontend::sasl_initial_response(SCRAM_SHA_256, begun.message(), &mut self.out)?;
                login.exchange = Some(begun);
            }
            (Message::AuthenticationSaslContinue(body), Some(begun)) => {
                begun.update(body.data())?;
                frontend::sasl_response(begun.message(), &mut self.out)?;
            }
            (Message::AuthenticationSaslFinal(body), Some(begun)) => begun.finish(body.data())?,
            _ => {
                return Err(denied(
                    "the server asks for a password in a way that is not SCRAM",
                ));
            }
        }
        self.stream.send(&mut self.out)
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
