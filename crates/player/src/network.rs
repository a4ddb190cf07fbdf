//! A server that is reached over TCP, as libpq's variables say: PGHOST, PGSSLROOTCERT, PGPASSFILE.
//!
//! Always encrypted (TLS), always with a password (SCRAM). The certificate is the server's own, made for one start: a
//! server that shows any other is refused, whatever that one says of itself. That is more than a name in it could tell
//! (libpq's verify-full), and needs no authority and no calendar.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use postgres_protocol::message::frontend;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, Error, SignatureScheme,
};

use crate::error::PlayerError;
use crate::stream::AtOnce;

const PATIENCE: Duration = Duration::from_secs(10);
const ENCRYPTS: u8 = b'S';
const ANOTHER: &str = "the server shows another certificate than its own";

/// The way to one server.
pub struct Network {
    address: SocketAddr,
    settings: Arc<ClientConfig>,
    /// Of the role that connects.
    pub password: String,
}

impl fmt::Debug for Network {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Network({})", self.address)
    }
}

impl Network {
    /// As the variables of libpq say; `variable` gives one by its name.
    ///
    /// # Errors
    /// `PlayerError::Specification` for one that is missing or leads to nothing.
    pub fn of_variables(
        variable: impl Fn(&str) -> Option<String>,
        port: u16,
        database: &str,
        user: &str,
    ) -> Result<Self, PlayerError> {
        let refuse = |what: String| PlayerError::Specification(what);
        let said = |name: &str| variable(name).ok_or_else(|| refuse(format!("{name} is not set")));
        let host = said("PGHOST")?;
        let number: IpAddr = host
            .parse()
            .map_err(|_| refuse(format!("PGHOST must be an address, not \"{host}\"")))?;
        let (certificate, passwords) = (said("PGSSLROOTCERT")?, said("PGPASSFILE")?);
        let own = CertificateDer::from_pem_file(Path::new(&certificate))
            .map_err(|error| refuse(format!("no certificate in \"{certificate}\": {error}")))?;
        let text = std::fs::read_to_string(&passwords)
            .map_err(|error| refuse(format!("cannot read \"{passwords}\": {error}")))?;
        let password = password_in(&text, [&host, &port.to_string(), database, user])
            .ok_or_else(|| refuse(format!("\"{passwords}\" has no password for this server")))?;
        Ok(Self {
            address: SocketAddr::new(number, port),
            settings: Arc::new(settings(own).map_err(|error| refuse(error.to_string()))?),
            password,
        })
    }

    /// Connect and encrypt; nothing of PostgreSQL's own protocol has been said yet.
    ///
    /// # Errors
    /// No server there, one that does not encrypt, or one with another certificate.
    pub fn connect(&self) -> io::Result<Encrypted> {
        let mut socket = TcpStream::connect_timeout(&self.address, PATIENCE)?;
        socket.set_nodelay(true)?;
        let mut asked = BytesMut::new();
        frontend::ssl_request(&mut asked);
        socket.write_all(&asked)?;
        let mut said = [0];
        socket.read_exact(&mut said)?;
        if said[0] != ENCRYPTS {
            return Err(io::Error::other("the server does not encrypt"));
        }
        let name = ServerName::from(self.address.ip());
        let mut tls =
            ClientConnection::new(Arc::clone(&self.settings), name).map_err(io::Error::other)?;
        tls.set_buffer_limit(None);
        while tls.is_handshaking() {
            tls.complete_io(&mut socket).map_err(in_words)?;
        }
        Ok(Encrypted { socket, tls })
    }

    /// Where it leads.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// A connection whose bytes are encrypted on their way.
pub struct Encrypted {
    /// What carries them.
    pub socket: TcpStream,
    tls: ClientConnection,
}

impl Encrypted {
    /// Take these bytes to be sent, all of them.
    ///
    /// # Errors
    /// None that is known: they only wait.
    pub fn accept(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.tls.writer().write_all(bytes)
    }

    /// Send what waits to be sent; true once nothing does.
    ///
    /// # Errors
    /// The socket's; `WouldBlock` where it takes no more now.
    pub fn send(&mut self) -> io::Result<bool> {
        if self.tls.wants_write() {
            self.tls.write_tls(&mut AtOnce(&self.socket))?;
        }
        Ok(!self.tls.wants_write())
    }

    /// As `read`, but `WouldBlock` where it would have to wait.
    ///
    /// # Errors
    /// The socket's.
    pub fn read_at_once(&mut self, into: &mut [u8]) -> io::Result<usize> {
        decrypt(&mut self.tls, &mut AtOnce(&self.socket), into)
    }
}

impl Read for Encrypted {
    /// Less than `into` holds only where all that came is read; a record that is there in part waits for its rest.
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        decrypt(&mut self.tls, &mut self.socket, into)
    }
}

fn decrypt(
    tls: &mut ClientConnection,
    socket: &mut impl Read,
    into: &mut [u8],
) -> io::Result<usize> {
    loop {
        match tls.reader().read(into) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            read => return read,
        }
        tls.read_tls(socket)?;
        tls.process_new_packets().map_err(io::Error::other)?;
    }
}

fn settings(own: CertificateDer<'static>) -> Result<ClientConfig, Error> {
    let provider = ring::default_provider();
    let only = Only {
        own,
        algorithms: provider.signature_verification_algorithms,
    };
    Ok(ClientConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(only))
        .with_no_client_auth())
}

/// Believes one certificate: the very one that it was given.
#[derive(Debug)]
struct Only {
    own: CertificateDer<'static>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Only {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if shown.as_ref() == self.own.as_ref() {
            return Ok(ServerCertVerified::assertion());
        }
        Err(CertificateError::ApplicationVerificationFailure.into())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, shown, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, shown, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// Of what went wrong while keys were agreed on: a certificate in our words, the rest in rustls's.
fn in_words(error: io::Error) -> io::Error {
    let told = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<Error>());
    if let Some(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure)) = told
    {
        return io::Error::new(io::ErrorKind::PermissionDenied, ANOTHER);
    }
    error
}

/// The password in a file of libpq's for this server and role (manual, "The Password File").
fn password_in(text: &str, wanted: [&str; 4]) -> Option<String> {
    text.lines().find_map(|line| {
        let words = words_of(line);
        let [host, port, database, user, password] = words.as_slice() else {
            return None;
        };
        let fits = [host, port, database, user]
            .into_iter()
            .zip(wanted)
            .all(|(word, wanted)| word == "*" || word == wanted);
        fits.then(|| password.clone())
    })
}

fn words_of(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        let letter = match letter {
            ':' if words.len() < 5 => {
                words.push(String::new());
                continue;
            }
            '\\' => letters.next().unwrap_or('\\'),
            other => other,
        };
        if let Some(last) = words.last_mut() {
            last.push(letter);
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str =
        "# ours\n::1:1:d:u:no\n\\:\\:1:5432:a\\:b:u:pass\\:\\\\word:more\n*:*:*:other:any\n";

    #[test]
    fn a_password_is_found_by_the_server_and_the_role() {
        let found = |host, port, database, user| password_in(FILE, [host, port, database, user]);
        assert_eq!(
            found("::1", "5432", "a:b", "u").as_deref(),
            Some("pass:\\word:more")
        );
        assert_eq!(
            found("127.0.0.1", "1", "d", "other").as_deref(),
            Some("any")
        );
        assert_eq!(found("127.0.0.1", "5432", "a:b", "u"), None);
    }

    #[test]
    fn what_is_missing_is_named() {
        let variables = |name: &str| (name == "PGHOST").then(|| "host.example".to_owned());
        for (known, word) in [(false, "PGHOST is not set"), (true, "must be an address")] {
            let told = Network::of_variables(
                |name| known.then(|| variables(name)).flatten(),
                5432,
                "d",
                "u",
            )
            .unwrap_err()
            .to_string();
            assert!(told.contains(word), "{told}");
        }
    }
}
