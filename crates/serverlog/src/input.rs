//! The bytes of a file, which a program unpacks on the way if it is compressed.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};

/// How a compressed file begins, and the program that unpacks it with `-dc`.
const PACKED: [(&[u8], &str); 4] = [
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\0", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"), // RFC 8878
];

/// The program that unpacks what begins so.
pub fn unpacker(head: &[u8]) -> Option<&'static str> {
    PACKED.iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, program)| *program)
}

/// An open file, of which so many bytes more are read.
pub struct Bytes {
    from: Origin,
    left: u64,
}

enum Origin {
    Plain(File),
    Unpacked(Unpacked),
}

impl Bytes {
    /// A pipe is taken as it is: its first bytes can be read only once.
    pub fn open(path: &Path, most_bytes: u64) -> io::Result<Self> {
        let file = File::open(path)?;
        let mut head = [0; 6];
        let read = file.read_at(&mut head, 0).unwrap_or(0);
        let from = match unpacker(&head[..read]) {
            Some(program) => Origin::Unpacked(Unpacked::start(program, file)?),
            None => Origin::Plain(file),
        };
        Ok(Self { from, left: most_bytes })
    }
}

impl Read for Bytes {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let most = into.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        if most == 0 {
            return Ok(0); // an unpacker that has more to write has not ended, so it is not asked how
        }
        let read = match &mut self.from {
            Origin::Plain(file) => file.read(&mut into[..most]),
            Origin::Unpacked(unpacked) => unpacked.read(&mut into[..most]),
        }?;
        self.left -= read as u64;
        Ok(read)
    }
}

/// Of what a program says of a file, this much is kept.
const SAID_BYTES: u64 = 4096;

/// What a program writes; it is stopped when this is dropped.
struct Unpacked {
    program: &'static str,
    child: Child,
    /// The beginning of what it says; read while it runs, since it waits where nobody reads.
    said: Option<JoinHandle<Vec<u8>>>,
}

impl Unpacked {
    fn start(program: &'static str, file: File) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.arg("-dc").env("LC_ALL", "C").stdin(file).stdout(Stdio::piped()).stderr(Stdio::piped());
        if program == "xz" {
            command.arg("--memlimit-decompress=256MiB"); // the others have a limit of their own
        }
        let mut child = command.spawn().map_err(|error| {
            io::Error::new(error.kind(), format!("it is compressed, and could not start {program}: {error}"))
        })?;
        let said = child.stderr.take().map(|mut stderr| {
            thread::spawn(move || {
                let mut said = Vec::new();
                // What cannot be read is not said.
                let _ = stderr.by_ref().take(SAID_BYTES).read_to_end(&mut said);
                let _ = io::copy(&mut stderr, &mut io::sink());
                said
            })
        });
        Ok(Self { program, child, said })
    }

    /// An error where the file is cut off or damaged.
    fn check(&mut self) -> io::Result<()> {
        let status = self.child.wait()?;
        if status.success() {
            return Ok(());
        }
        let said = self.said.take().and_then(|thread| thread.join().ok()).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        let line = said.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        let line = line.trim_start_matches(self.program).trim_start_matches(':').trim();
        let code = status.code().map_or_else(|| status.to_string(), |code| format!("exit code {code}"));
        Err(io::Error::other(format!("{} failed with {code}: {line}", self.program)))
    }
}

impl Read for Unpacked {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.child.stdout.as_mut().map_or(Ok(0), |stdout| stdout.read(into))?;
        if read == 0 {
            self.check()?;
        }
        Ok(read)
    }
}

impl Drop for Unpacked {
    fn drop(&mut self) {
        // It has ended, or nobody reads on.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
