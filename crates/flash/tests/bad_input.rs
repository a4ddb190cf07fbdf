//! What cannot be is refused with the value and the reason, and changes nothing.

mod support;

use flash::ageing::{LiveShare, fill, mean_field};
use flash::pools::Pools;
use flash::streams::GcStream;
use flash::{
    Capacity, Compressing, CompressingConfig, Drive, FlashError, Geometry, OverProvisioning, PageMapped, Policy,
    StaticWearLevelling, Streams, Throttling,
};
use support::{capacity, compressing, compressing_config, page_mapped, page_mapped_config};

#[track_caller]
fn says<T>(result: Result<T, FlashError>, parts: &[&str]) {
    let message = result.err().expect("an error").to_string();
    for part in parts {
        assert!(message.contains(part), "{message:?} does not say {part:?}");
    }
    assert!(!message.ends_with('.') && message.starts_with(char::is_lowercase), "{message:?}");
}

#[test]
fn over_provisioning() {
    says(OverProvisioning::of_user(0.0), &["over-provisioning 0", "greater than 0"]);
    says(OverProvisioning::of_user(-0.07), &["-0.07"]);
    says(OverProvisioning::of_user(f64::NAN), &["NaN"]);
    says(OverProvisioning::of_user(f64::INFINITY), &["inf"]);
    says(OverProvisioning::spare_of_physical(1.0), &["spare of physical 1", "between 0 and 1"]);
}

#[test]
fn geometry() {
    let plain = Geometry::plain(256);
    says(Geometry { channels: 0, ..plain }.check(), &["channels 0", "at least 1"]);
    says(Geometry { flash_page_bytes: 5000, ..plain }.check(), &["5000", "multiple of 4096"]);
    says(Geometry::plain(1).check(), &["superblock bytes 4096", "at least 8192"]);
    says(Geometry::plain(1 << 20).check(), &["superblock bytes 4294967296", "less than 4 GiB"]);
    let huge = Geometry { channels: u32::MAX, dies_per_channel: u32::MAX, planes_per_die: u32::MAX, ..plain };
    says(huge.check(), &["superblock bytes"]);
}

#[test]
fn capacities() {
    let seven = OverProvisioning::of_user(0.07).unwrap();
    let plain = Geometry::plain(256);
    says(Capacity::of_user(plain, 1000, seven, 1), &["user capacity 1000", "multiple of 4096"]);
    says(Capacity::of_user(plain, 0, seven, 1), &["user capacity 0"]);
    says(Capacity::of_user(plain, 1 << 44, seven, 1), &["user capacity", "16 TiB"]);
    says(Capacity::of_user(plain, 1 << 30, seven, 0), &["reserve blocks 0", "at least 1"]);
    // 4 blocks with 7 % have less than one block to spare.
    says(Capacity::of_user(plain, 4 << 20, seven, 1), &["data blocks 4", "less than one block"]);
    says(Capacity::of_physical(plain, 3, seven, 3, Streams::ONE), &["total blocks 3", "no block for data"]);
    says(Capacity::of_user(plain, (1 << 44) - 8192, seven, 1), &["physical capacity", "16 TiB"]);
}

#[test]
fn configurations() {
    let base = capacity(64, 16, 0.28, 2);
    let drawing = |d| PageMapped::new(page_mapped_config(base, Policy::DChoices { d }, Streams::ONE));
    says(drawing(0), &["choices 0", "at least 1"]);
    says(drawing(65_537), &["choices 65537", "at most 65536"]);
    says(Streams::new(0, GcStream::Own), &["placement handles 0"]);
    says(Streams::new(17, GcStream::Own), &["placement handles 17"]);
    says(StaticWearLevelling::new(1), &["wear-levelling threshold 1"]);
    says(Pools::<PageMapped>::new(Vec::new()), &["pools 0"]);
    let config = compressing_config(base, Policy::Greedy);
    let refused = |config: CompressingConfig, parts: &[&str]| says(Compressing::new(config), parts);
    refused(CompressingConfig { granularity: 3, ..config }, &["granularity 3", "power of two"]);
    refused(CompressingConfig { granularity: 8192, ..config }, &["granularity 8192"]);
    refused(CompressingConfig { logical_blocks: 0, ..config }, &["logical blocks 0"]);
    refused(compressing_config(capacity(64, 16, 0.28, 1), Policy::Greedy), &["reserve blocks 1", "at least 2"]);
    let tiny = compressing_config(capacity(64, 8, 0.28, 2), Policy::Greedy);
    refused(tiny, &["superblock bytes 32768", "at least 65536", "straddle"]);
    assert!(Compressing::new(CompressingConfig { straddling: false, ..tiny }).is_ok());
    let of_small_blocks = Capacity::of_user(Geometry::plain(16), 8 << 40, OverProvisioning::of_user(0.07).unwrap(), 2);
    let vast = compressing_config(of_small_blocks.unwrap(), Policy::Greedy);
    says(vast.check(), &["superblock bytes 65536", "must be larger on a drive that has 143612971 of them"]);
    let throttling = Throttling { throttle_from: 0.9, reject_from: 0.8, ..Throttling::default() };
    refused(CompressingConfig { throttling, ..config }, &["reject-from 0.8"]);
    let throttling = Throttling { throttle_from: 0.0, ..Throttling::default() };
    refused(CompressingConfig { throttling, ..config }, &["throttle-from 0"]);
}

fn requests<D: Drive>(drive: &mut D) {
    let end = drive.logical_blocks();
    drive.write(0, 4096).unwrap();
    let before = (drive.counters(), drive.locate(0), drive.mapped_blocks());
    says(drive.write(end, 4096), &[&format!("logical block {end} is past the end"), &format!("{end} blocks")]);
    says(drive.write(1, 4097), &["compressed size 4097 of logical block 1"]);
    says(drive.write_placed(1, 4096, 9), &["placement handle 9", "has 1"]);
    says(drive.write_batch(&[1, 2], &[4096]), &["2 logical blocks", "1 compressed sizes"]);
    says(drive.trim(end - 1, 2), &[&format!("logical block {end} is past the end")]);
    says(drive.trim(u32::MAX, u32::MAX), &["past the end"]);
    assert_eq!((drive.counters(), drive.locate(0), drive.mapped_blocks()), before);
    assert_eq!(drive.locate(end), None);
    drive.trim(end, 0).unwrap();
    // A batch stops at the first wrong write; those before it are done.
    says(drive.write_batch(&[5, 6, end, 7], &[]), &["past the end"]);
    assert_eq!((drive.locate(6).is_some(), drive.locate(7)), (true, None));
    says(drive.write_batch(&[8, 9, 10], &[4096, 4097, 4096]), &["compressed size 4097 of logical block 9"]);
    assert_eq!((drive.locate(8).is_some(), drive.locate(10)), (true, None));
}

#[test]
fn requests_past_the_end_or_too_large() {
    requests(&mut page_mapped(64, 16, 0.28, Policy::Greedy));
    requests(&mut compressing(64, 16, 0.28, Policy::Greedy));
    let pool = || page_mapped(32, 16, 0.28, Policy::Greedy);
    let mut pools = Pools::new(vec![pool(), pool()]).unwrap();
    says(pools.write(2 * 32 * 16, 4096), &["logical block 1024 is past the end"]);
    says(pools.trim(1000, 100), &["past the end"]);
}

#[test]
fn ageing() {
    let mut drive = page_mapped(64, 16, 0.28, Policy::Greedy);
    says(fill(&mut drive, 0.0, |_| 4096), &["used share 0"]);
    says(fill(&mut drive, 1.5, |_| 4096), &["used share 1.5"]);
    says(LiveShare::new(Policy::Fifo, 1.0, 16), &["usable over live bytes 1", "above 1"]);
    drive.write(3, 4096).unwrap();
    let live = LiveShare::new(Policy::Greedy, 1.28, 16).unwrap();
    says(mean_field(&mut drive, &live, 1.0, |_| 4096, 1), &["host bytes written 4096", "fresh"]);
}
