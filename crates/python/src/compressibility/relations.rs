//! Samples of tables, each laid out anew at several fillfactors from the same living rows.

use std::path::PathBuf;

use super::chunk::{Chunk, ChunkReader, ReadError};
use super::heap_page::living_rows;
use super::refill::{Filled, Refill};
use super::scan::each;
use super::tally::{Method, Scale};

/// What a sample of a table holds, and becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relaid {
    /// Pages read, empty ones too.
    pub source_pages: u64,
    /// Rows in them that are not known to be dead.
    pub rows: u64,
    /// For each fillfactor; the last page of each, not full, is left out.
    pub filled: Vec<Filled>,
}

/// Lays out the rows of each table (a list of chunks, whole pages) at each fillfactor.
pub fn relay(
    paths: &[PathBuf],
    tables: &[Vec<Chunk>],
    page_bytes: usize,
    fillfactors: &[usize],
    method: &Method,
    threads: usize,
) -> Result<Vec<Relaid>, ReadError> {
    let worker = || (ChunkReader::new(paths), Scale::new(method));
    each(tables, threads, worker, |(reader, scale), chunks| {
        let mut refills: Vec<_> = fillfactors
            .iter()
            .map(|each| Refill::new(page_bytes, *each, method.sums()))
            .collect();
        let (mut source_pages, mut rows) = (0, 0);
        for chunk in chunks {
            for page in reader.read(*chunk)?.chunks_exact(page_bytes) {
                source_pages += 1;
                for row in living_rows(page) {
                    rows += 1;
                    for refill in &mut refills {
                        refill.place(row, page, scale);
                    }
                }
            }
        }
        let filled = refills.into_iter().map(|refill| refill.filled).collect();
        Ok(Relaid {
            source_pages,
            rows,
            filled,
        })
    })
}
