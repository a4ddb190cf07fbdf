//! The model's side of `benchmarks/flash_speed`: a drive in steady state that writes so many blocks a line.
//!
//! usage: `slices KIND GIB PAGES_PER_BLOCK OVER_PROVISIONING AGEING` with KIND `page-mapped`, or a number of bytes that
//! each block compresses to, and AGEING `overwrite` or `theory`. Prints `ready`, then for each number on standard input
//! the seconds that so many host writes took (making them not counted) and the write amplification.

use std::io::{BufRead, Write, stdin, stdout};

use flash::ageing::{LiveShare, fill, mean_field, overwrite};
use flash::random::Random;
use flash::{
    Capacity, Compressing, CompressingConfig, Drive, Geometry, OverProvisioning, PageMapped, PageMappedConfig, Policy,
    Streams,
};

const BATCH: usize = 65_536;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, kind, gib, pages, over_provisioning, ageing] = arguments.as_slice() else {
        return Err("usage: slices KIND GIB PAGES_PER_BLOCK OVER_PROVISIONING overwrite|theory".into());
    };
    let over_provisioning = OverProvisioning::of_user(over_provisioning.parse()?)?;
    let geometry = Geometry::plain(pages.parse()?);
    let bytes = gib.parse::<u64>()? << 30;
    let by_theory = ageing == "theory";
    if kind == "page-mapped" {
        let config = PageMappedConfig {
            capacity: Capacity::of_user(geometry, bytes, over_provisioning, 1)?,
            policy: Policy::Greedy,
            streams: Streams::ONE,
            wear_levelling: None,
            seed: 1,
        };
        return serve(PageMapped::new(config)?, 4096, by_theory);
    }
    let capacity = Capacity::of_user(geometry, bytes, over_provisioning, 2)?;
    let config = CompressingConfig {
        capacity,
        logical_blocks: capacity.user_blocks(),
        granularity: 64,
        straddling: true,
        policy: Policy::Greedy,
        streams: Streams::ONE,
        wear_levelling: None,
        throttling: Default::default(),
        seed: 1,
    };
    serve(Compressing::new(config)?, kind.parse()?, by_theory)
}

/// Ages the drive, then writes on demand.
fn serve<D: Drive>(mut drive: D, size: u16, by_theory: bool) -> Result<(), Box<dyn std::error::Error>> {
    let blocks = drive.logical_blocks();
    let mut random = Random::new(7);
    if by_theory {
        let live = f64::from(blocks) * f64::from(size);
        let share = LiveShare::new(Policy::Greedy, drive.usable_bytes() as f64 / live, 4096)?;
        mean_field(&mut drive, &share, 1.0, |_| size, 7)?;
    } else {
        fill(&mut drive, 1.0, |_| size)?;
        overwrite(&mut drive, 1.0, 3.0, |_| size, &mut random)?;
    }
    println!("ready");
    let mut lbas = vec![0; BATCH];
    let sizes = vec![size; BATCH];
    for line in stdin().lock().lines() {
        let mut left: usize = line?.trim().parse()?;
        let before = drive.counters();
        let mut seconds = 0.0;
        while left > 0 {
            let now = left.min(BATCH);
            lbas[..now].fill_with(|| random.below(blocks));
            let start = thread_seconds();
            drive.write_batch(&lbas[..now], if size == 4096 { &[] } else { &sizes[..now] })?;
            seconds += thread_seconds() - start;
            left -= now;
        }
        let window = drive.counters().since(&before);
        let amplification = window.write_amplification().unwrap_or(f64::NAN);
        println!("{seconds:.9} {amplification:.6}");
        stdout().flush()?;
    }
    Ok(())
}

/// The thread's own time: what others do to the processor meanwhile is not ours (what they do to the caches is).
fn thread_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock exists on Linux and the pointer is to a live timespec.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert_eq!(status, 0, "this system has no clock for threads");
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
