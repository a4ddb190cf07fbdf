//! What any string of bytes means: a drive, and what its host does to it. So a fuzzer needs to know nothing of drives.

use flash::streams::GcStream;
use flash::{Capacity, Geometry, OverProvisioning, Policy, StaticWearLevelling, Streams};

use super::sequence::{Request, Shape};

/// A drive and its host.
#[derive(Debug, Clone)]
pub struct Case {
    pub shape: Shape,
    /// Of a drive that compresses: granularity, straddling, and how often its host is shown the user capacity.
    pub compressing: Option<(u32, bool, f64)>,
    pub requests: Vec<Request>,
}

/// Numbers from bytes; past the end all are 0.
struct Source<'a>(&'a [u8]);

impl Source<'_> {
    fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    /// From 0 to `bound` − 1.
    fn below(&mut self, bound: u32) -> u32 {
        (u32::from(self.byte()) << 8 | u32::from(self.byte())) % bound
    }

    /// In [0, 1).
    fn share(&mut self) -> f64 {
        f64::from(self.below(1 << 16)) / f64::from(1 << 16)
    }
}

/// `None` for drives that cannot be.
pub fn decode(bytes: &[u8]) -> Option<Case> {
    let mut source = Source(bytes);
    let compressing = match source.byte() % 3 {
        0 => None,
        way => Some((1 << source.below(13), way == 1, 1.0 + 3.0 * source.share())),
    };
    let straddles = compressing.is_some_and(|(_, straddling, _)| straddling);
    let shape = shape(&mut source, if straddles { 16 } else { 2 })?;
    let mut requests = Vec::new();
    while !source.0.is_empty() {
        requests.push(request(&mut source));
    }
    Some(Case { shape, compressing, requests })
}

fn shape(source: &mut Source<'_>, least_pages: u32) -> Option<Shape> {
    let geometry = Geometry {
        channels: 1 + source.below(3),
        dies_per_channel: 1 + source.below(2),
        planes_per_die: 1,
        flash_pages_per_block: least_pages + source.below(5),
        flash_page_bytes: 4096 << source.below(2),
    };
    let policy = match source.byte() % 5 {
        0 => Policy::Greedy,
        1 => Policy::CostBenefit,
        2 => Policy::Fifo,
        3 => Policy::DChoices { d: 1 + source.below(6) },
        _ => Policy::Random,
    };
    let gc = [GcStream::WithHost, GcStream::Own, GcStream::PerHandle][source.below(3) as usize];
    let streams = Streams::new(1 + source.byte() % 3, gc).ok()?;
    let threshold = source.below(6);
    let user_bytes = u64::from(2 + source.below(20)) * geometry.superblock_bytes();
    let over_provisioning = OverProvisioning::of_user(0.01 + 1.5 * source.share()).ok()?;
    let capacity = Capacity::of_user(geometry, user_bytes, over_provisioning, 2 + source.below(3)).ok()?;
    Some(Shape { capacity, policy, streams, wear_levelling: StaticWearLevelling::new(threshold).ok() })
}

fn request(source: &mut Source<'_>) -> Request {
    match source.byte() % 16 {
        0 => Request::Trim { place: source.share(), share: 0.4 * source.share() },
        1 => Request::Age {
            used: 0.001 + 0.99 * source.share(),
            drive_writes: 1.5 * source.share(),
            bytes: size(source) as u16,
        },
        2..=7 => {
            let count = 1 + source.below(80);
            let (base, spread) = (source.share(), source.share());
            // Few bytes make many addresses: a stride through a part of the drive.
            let places = (0..count).map(|number| (base + spread * f64::from(number)).fract()).collect();
            Request::Batch { places, bytes: size(source) as u16 }
        }
        _ => Request::Write { place: source.share(), bytes: size(source), handle: source.byte() % 5 },
    }
}

/// 0, 4096 and what lies between.
fn size(source: &mut Source<'_>) -> u32 {
    match source.byte() {
        0 => 0,
        255 => 4096,
        _ => source.below(4097),
    }
}
