//! Jobs that do not depend on each other, done by as many threads as asked, each with tables of its own.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::chunk::{Chunk, ChunkReader, ReadError};
use super::tally::{Method, Scale, Tally};

/// Weighs each chunk; results in the chunks' order.
pub fn scan(
    paths: &[PathBuf],
    chunks: &[Chunk],
    method: &Method,
    threads: usize,
) -> Result<Vec<Tally>, ReadError> {
    let worker = || (ChunkReader::new(paths), Scale::new(method));
    each(chunks, threads, worker, |(reader, scale), chunk| {
        Ok(scale.weigh(reader.read(*chunk)?))
    })
}

/// Does `work` for each item. The first error ends it.
pub fn each<Item: Sync, Worker, Output: Send, Error: Send>(
    items: &[Item],
    threads: usize,
    worker: impl Fn() -> Worker + Sync,
    work: impl Fn(&mut Worker, &Item) -> Result<Output, Error> + Sync,
) -> Result<Vec<Output>, Error> {
    let next = AtomicUsize::new(0);
    let failure = Mutex::new(None);
    let run = || {
        let mut worker = worker();
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else {
                return done;
            };
            match work(&mut worker, item) {
                Ok(output) => done.push((index, output)),
                Err(error) => {
                    next.store(items.len(), Ordering::Relaxed);
                    failure
                        .lock()
                        .expect("no thread panics with the lock")
                        .get_or_insert(error);
                    return done;
                }
            }
        }
    };
    let mut done: Vec<(usize, Output)> = thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(items.len()))
            .map(|_| scope.spawn(run))
            .collect();
        let mut done = run();
        for other in others {
            done.extend(other.join().expect("a job does not panic"));
        }
        done
    });
    match failure
        .into_inner()
        .expect("no thread panics with the lock")
    {
        Some(error) => Err(error),
        None => {
            done.sort_unstable_by_key(|(index, _)| *index);
            Ok(done.into_iter().map(|(_, output)| output).collect())
        }
    }
}
