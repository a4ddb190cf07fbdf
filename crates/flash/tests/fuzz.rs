//! Fuzzing: any bytes are a drive and what its host does to it, and any damage to a trace is only damage. Whatever they
//! are, the drive stays whole and nothing panics.
//!
//! A few hundred strings in each run of the tests; `make fuzz` tries as many as one has time for.

mod support;

use std::io::Cursor;

use flash::trace::{Codec, Header, IndexedReader, Operation, Reader, Record, Writer, replay};
use flash::{Compressing, Drive, PageMapped, Policy};
use proptest::prelude::*;
use support::bytes::decode;
use support::sequence::run;
use support::watched::{compressing, page_mapped};
use support::witness::sound;

const DRIVE_BLOCKS: u64 = 64 * 16;

fn go(bytes: &[u8]) {
    let Some(case) = decode(bytes) else { return };
    match case.compressing {
        None => run(&mut page_mapped(&case.shape), &case.requests, |_| 4096, sound(PageMapped::verify)),
        Some((granularity, straddling, thin)) => {
            let mut drive = compressing(&case.shape, granularity, straddling, thin);
            run(&mut drive, &case.requests, |bytes| bytes, sound(Compressing::verify));
            assert!(drive.live_bytes() <= drive.usable_bytes());
        }
    }
}

fn trace(records: &[(u8, u16, u8)]) -> Vec<u8> {
    let header = Header { codec: Codec::Zstd, codec_level: 1, drive_blocks: DRIVE_BLOCKS, start_unix_ns: 0 };
    let mut writer = Writer::new(Vec::new(), header).unwrap();
    for (number, &(kind, place, blocks)) in records.iter().enumerate() {
        let (time_ns, count) = (number as u64, 1 + u32::from(blocks % 16));
        let first_block = u32::from(place) % (DRIVE_BLOCKS as u32 - 16);
        let operation = [Operation::Trim, Operation::Read, Operation::WriteZeroes].get(usize::from(kind % 8)).copied();
        let record = match operation {
            Some(operation) => Record { time_ns, operation, first_block, blocks: count, ..Record::default() },
            None => Record::write(time_ns, first_block, vec![place % 4097; count as usize]),
        };
        writer.push(&record).unwrap();
        if kind >= 240 {
            writer.flush().unwrap(); // Ends the chunk.
        }
    }
    writer.finish().unwrap()
}

fn seal(bytes: &mut [u8], covered: std::ops::Range<usize>, place: usize) {
    let sum = crc32fast::hash(&bytes[covered]);
    bytes[place..place + 4].copy_from_slice(&sum.to_le_bytes());
}

/// Puts right checksums over wrong bytes, as far as chunks can still be found: so damage gets past the first look.
fn reseal(bytes: &mut [u8]) {
    seal(bytes, 0..60, 60);
    let (mut chunk, trailer) = (64, bytes.len() - 32);
    while chunk + 32 <= trailer && bytes[chunk..chunk + 4] == *b"CHNK" {
        let length = u32::from_le_bytes(bytes[chunk + 4..chunk + 8].try_into().unwrap()) as usize;
        let payload = chunk + 32..chunk + 32 + length;
        if payload.end > trailer {
            break;
        }
        let end = payload.end;
        seal(bytes, payload, chunk + 12);
        seal(bytes, chunk..chunk + 28, chunk + 28);
        chunk = end;
    }
    seal(bytes, chunk.min(trailer)..trailer, trailer + 12);
    seal(bytes, trailer..trailer + 20, trailer + 20);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_a_host_that_loses_nothing(bytes in prop::collection::vec(any::<u8>(), 20..600)) {
        go(&bytes);
    }

    #[test]
    fn any_damage_to_a_trace_is_only_damage(
        records in prop::collection::vec(any::<(u8, u16, u8)>(), 0..60),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        time_ns in 0_u64..80,
    ) {
        let mut bytes = trace(&records);
        for (place, value) in damage {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        reseal(&mut bytes);
        // Changes may leave a possible trace; then it is written to a drive, which must survive it.
        let mut drive = support::page_mapped(64, 16, 0.28, Policy::Greedy);
        if let Ok(mut reader) = Reader::new(&bytes[..]) {
            let _ = replay(&mut reader, &mut drive, 1);
        }
        drive.verify().unwrap();
        if let Ok(indexed) = IndexedReader::new(Cursor::new(&bytes)) {
            let (records, written) = (indexed.records(), indexed.written_blocks());
            prop_assert!(records <= bytes.len() as u64 && written <= u64::MAX / 2);
            if let Ok(mut reader) = indexed.read_from(time_ns) {
                let mut record = Record::default();
                while reader.read(&mut record).is_ok_and(|more| more) {
                    prop_assert!(record.time_ns >= time_ns);
                }
            }
        }
    }
}
