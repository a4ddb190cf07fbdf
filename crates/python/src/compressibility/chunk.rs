//! A stretch of a file, read into memory. The file of the last chunk stays open, since the next is mostly of the same.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// Where to read: the index of a path, and bytes.
#[derive(Clone, Copy, Debug)]
pub struct Chunk {
    pub file: usize,
    pub offset: u64,
    pub bytes: usize,
}

/// A file that cannot be read, and why.
#[derive(Debug)]
pub struct ReadError {
    pub path: PathBuf,
    pub source: io::Error,
}

/// Reads chunks of `paths`, one after another.
pub struct ChunkReader<'a> {
    paths: &'a [PathBuf],
    open: Option<(usize, Option<File>)>,
    buffer: Vec<u8>,
}

impl<'a> ChunkReader<'a> {
    pub fn new(paths: &'a [PathBuf]) -> Self {
        ChunkReader {
            paths,
            open: None,
            buffer: Vec::new(),
        }
    }

    /// What is there of the chunk: less at the end of a file, nothing if a running server has removed the file.
    pub fn read(&mut self, chunk: Chunk) -> Result<&[u8], ReadError> {
        let failed = |source| ReadError {
            path: self.paths[chunk.file].clone(),
            source,
        };
        if self
            .open
            .as_ref()
            .is_none_or(|(file, _)| *file != chunk.file)
        {
            let file = match File::open(&self.paths[chunk.file]) {
                Ok(file) => Some(file),
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(error) => return Err(failed(error)),
            };
            self.open = Some((chunk.file, file));
        }
        let Some((_, Some(file))) = &self.open else {
            return Ok(&[]);
        };
        if self.buffer.len() < chunk.bytes {
            self.buffer.resize(chunk.bytes, 0);
        }
        let mut filled = 0;
        while filled < chunk.bytes {
            match file.read_at(
                &mut self.buffer[filled..chunk.bytes],
                chunk.offset + filled as u64,
            ) {
                Ok(0) => break,
                Ok(bytes) => filled += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(&self.buffer[..filled])
    }
}
