//! Traces: what is written is read, every damage is found and named, and the format stays what it is.

use std::io::Cursor;

use super::*;
use proptest::prelude::*;

const DRIVE_BLOCKS: u64 = 1 << 20;

fn header() -> Header {
    Header { codec: Codec::Zstd, codec_level: -3, drive_blocks: DRIVE_BLOCKS, start_unix_ns: 1_700_000_000_000_000_000 }
}

fn written(records: &[Record]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), header()).unwrap();
    records.iter().for_each(|record| writer.push(record).unwrap());
    writer.finish().unwrap()
}

/// All records before the end or the error.
fn read_all(bytes: &[u8]) -> (Vec<Record>, Result<(), TraceError>) {
    let mut records = Vec::new();
    let mut reader = match Reader::new(bytes) {
        Ok(reader) => reader,
        Err(error) => return (records, Err(error)),
    };
    let mut record = Record::default();
    loop {
        match reader.read(&mut record) {
            Ok(true) => records.push(record.clone()),
            Ok(false) => return (records, Ok(())),
            Err(error) => return (records, Err(error)),
        }
    }
}

fn failure(bytes: &[u8]) -> String {
    read_all(bytes).1.unwrap_err().to_string()
}

fn any_record() -> impl Strategy<Value = Record> {
    let sizes = proptest::collection::vec(0_u16..=4096, 1..20);
    let other = prop_oneof![Just(Operation::Trim), Just(Operation::Read), Just(Operation::WriteZeroes)];
    let first = 0..DRIVE_BLOCKS as u32 - 100;
    prop_oneof![
        4 => (first.clone(), sizes, any::<u8>()).prop_map(|(first_block, sizes, stream)| Record {
            stream,
            ..Record::write(0, first_block, sizes)
        }),
        2 => (first, 1_u32..100, other).prop_map(|(first_block, blocks, operation)| Record {
            operation, first_block, blocks, ..Record::default()
        }),
        1 => Just(Record::default()),
    ]
}

fn any_trace() -> impl Strategy<Value = Vec<Record>> {
    proptest::collection::vec((any_record(), 0_u64..1_000_000), 0..60).prop_map(|steps| {
        let mut time_ns = 0;
        let stamp = |(mut record, step): (Record, u64)| {
            time_ns += step;
            record.time_ns = time_ns;
            record
        };
        steps.into_iter().map(stamp).collect()
    })
}

/// Enough for several chunks.
fn long_trace() -> Vec<Record> {
    (0..40_000_u32).map(|number| Record::write(u64::from(number) * 10, number, vec![number as u16 % 4097; 4])).collect()
}

proptest! {
    #[test]
    fn what_is_written_is_read(records in any_trace()) {
        let bytes = written(&records);
        let (read, end) = read_all(&bytes);
        prop_assert!(end.is_ok(), "{end:?}");
        prop_assert_eq!(&read, &records);
        let indexed = IndexedReader::new(Cursor::new(&bytes)).unwrap();
        prop_assert_eq!(indexed.records(), records.len() as u64);
        prop_assert_eq!(indexed.header(), header());
    }

    #[test]
    fn any_changed_byte_is_found(records in any_trace(), place in any::<prop::sample::Index>(), flip in 1_u8..) {
        let mut bytes = written(&records);
        let place = place.index(bytes.len());
        bytes[place] ^= flip;
        let (read, end) = read_all(&bytes);
        prop_assert!(end.is_err(), "byte {place} changed unseen");
        prop_assert_eq!(&read[..], &records[..read.len()], "a wrong record was given");
    }

    #[test]
    fn any_cut_is_found(records in any_trace(), place in any::<prop::sample::Index>()) {
        let bytes = written(&records);
        let (read, end) = read_all(&bytes[..place.index(bytes.len())]);
        prop_assert!(end.is_err());
        prop_assert_eq!(&read[..], &records[..read.len()]);
    }

    #[test]
    fn garbage_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(read_all(&bytes).1.is_err());
        prop_assert!(IndexedReader::new(Cursor::new(&bytes)).is_err());
    }

    #[test]
    fn a_damaged_payload_under_a_right_checksum_never_panics(
        records in any_trace(), place in any::<prop::sample::Index>(), value in any::<u8>()
    ) {
        let mut bytes = written(&records);
        let payload_bytes = format::u32_at(&bytes, 68) as usize;
        prop_assume!(!records.is_empty());
        let place = 96 + place.index(payload_bytes);
        bytes[place] = value;
        let payload_crc = crc32fast::hash(&bytes[96..96 + payload_bytes]);
        bytes[76..80].copy_from_slice(&payload_crc.to_le_bytes());
        let header_crc = crc32fast::hash(&bytes[64..92]);
        bytes[92..96].copy_from_slice(&header_crc.to_le_bytes());
        // A damaged stream or time may well be a possible one: whatever is given must be possible.
        let (read, _) = read_all(&bytes);
        for (number, record) in read.iter().enumerate() {
            prop_assert!(record.check(number as u64, 0, DRIVE_BLOCKS).is_ok());
        }
    }

    #[test]
    fn reading_from_a_time_gives_the_rest(time_ns in 0_u64..500_000) {
        let records = long_trace();
        let bytes = written(&records);
        let indexed = IndexedReader::new(Cursor::new(&bytes)).unwrap();
        assert!(indexed.chunks().len() > 3);
        assert_eq!(indexed.written_blocks(), 160_000);
        let mut reader = indexed.read_from(time_ns).unwrap();
        let skipped = (time_ns.div_ceil(10) as usize).min(records.len());
        prop_assert_eq!(reader.next_record(), skipped as u64);
        let mut record = Record::default();
        for expected in &records[skipped..] {
            assert!(reader.read(&mut record).unwrap());
            assert_eq!(&record, expected);
        }
        prop_assert!(!reader.read(&mut record).unwrap());
    }
}

#[test]
fn a_killed_recorder_leaves_what_it_flushed() {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, header()).unwrap();
    writer.push(&Record::write(5, 0, vec![100])).unwrap();
    writer.flush().unwrap();
    writer.push(&Record::write(6, 0, vec![100])).unwrap();
    drop(writer);
    let (records, end) = read_all(&bytes);
    assert_eq!(records, [Record::write(5, 0, vec![100])]);
    assert!(matches!(end, Err(TraceError::NoTrailer { records: 1, .. })));
}

#[test]
fn the_writer_refuses_what_no_drive_can_have_seen() {
    let mut writer = Writer::new(Vec::new(), header()).unwrap();
    writer.push(&Record::write(100, 0, vec![1])).unwrap();
    let mut refuse = |record: Record| writer.push(&record).unwrap_err().to_string();
    assert!(refuse(Record::write(99, 0, vec![1])).contains("time 99: is before"));
    assert!(refuse(Record::write(100, 0, vec![4097])).contains("compressed size 4097"));
    assert!(
        refuse(Record::write(100, DRIVE_BLOCKS as u32, vec![1]))
            .contains("past the end of the drive, which has 1048576")
    );
    assert!(refuse(Record::write(100, 0, vec![])).contains("blocks 0: must be at least 1"));
    assert!(refuse(Record { blocks: 2, time_ns: 100, ..Record::default() }).contains("a flush has no blocks"));
    let trim = Record { operation: Operation::Trim, ..Record::write(100, 0, vec![1]) };
    assert!(refuse(trim).contains("number of sizes 1: must be 0"));
    assert_eq!(read_all(&writer.finish().unwrap()).0.len(), 1);
}

#[test]
fn damage_is_named() {
    let sound = written(&[Record::write(0, 0, vec![100, 200])]);
    let with = |place: usize, new: &[u8]| {
        let mut bytes = sound.clone();
        bytes[place..place + new.len()].copy_from_slice(new);
        bytes
    };
    let resealed = |place: usize, new: &[u8]| {
        let mut bytes = with(place, new);
        let crc = crc32fast::hash(&bytes[..60]);
        bytes[60..64].copy_from_slice(&crc.to_le_bytes());
        bytes
    };
    assert!(failure(b"PK").contains("ends inside the header at byte 0: 2 of 64"));
    assert!(failure(&with(0, b"PK\x03\x04")).contains("found \"PK\\x03\\x04RACE\""));
    assert!(failure(&with(10, &[1, 2])).contains("byte order 0x201, this program reads 0x102"));
    assert!(failure(&resealed(8, &[2, 0])).contains("format version 2, this program reads up to 1"));
    assert!(failure(&resealed(12, &[0, 2, 0, 0])).contains("block unit 0x200"));
    assert!(failure(&resealed(20, &[9])).contains("codec at byte 20 is 9"));
    assert!(failure(&with(30, &[1])).contains("damaged header at byte 0"));
    assert!(failure(&with(64, b"X")).contains("no chunk of a trace at byte 64: found \"XHNK\""));
    assert!(failure(&with(70, &[9])).contains("damaged chunk header at byte 64"));
    assert!(failure(&with(100, &[9])).contains("damaged chunk at byte 64"));
    assert!(failure(&with(sound.len() - 40, &[9])).contains("damaged index"));
    assert!(failure(&with(sound.len() - 20, &[9])).contains("damaged trailer"));
    let longer = [sound.clone(), vec![0]].concat();
    assert!(failure(&longer).contains("length of index and trailer"));
}

/// The layout is a promise: a trace written by version 1 must be read for ever.
#[test]
fn the_format_is_what_it_was() {
    let bytes = written(&[Record { stream: 7, ..Record::write(0x0102_0304, 5, vec![0x0607]) }]);
    assert_eq!(&bytes[..12], b"PGATRACE\x01\x00\x02\x01");
    assert_eq!(&bytes[12..24], [0, 16, 0, 0, 1, 0, 0, 0, 1, 0xfd, 0, 0]);
    assert_eq!(&bytes[64..76], b"CHNK\x16\x00\x00\x00\x01\x00\x00\x00");
    assert_eq!(&bytes[96..118], [4, 3, 2, 1, 0, 0, 0, 0, 5, 0, 0, 0, 1, 0, 0, 0, 0, 7, 0, 0, 7, 6]);
    assert_eq!(bytes.len(), 64 + 32 + 22 + 32 + 32);
    assert_eq!(crc32fast::hash(b"123456789"), 0xcbf4_3926, "the checksum is zlib's CRC-32");
}
