//! Tests of the log: encoding and decoding records and segments, stale records, noise, and the
//! search after damage.

use cairndb_base::{ErrorKind, SEQ_MAX};
use proptest::prelude::*;

use super::*;
use crate::testing::{Noise, fails};

fn header() -> SegmentHeader {
    SegmentHeader {
        segment: 9,
        salt: 0x1234_5678_9abc_def0,
        previous_segment: 8,
        previous_end: 4096,
        start_seq: 100,
    }
}

/// Returns the head of a record that knows of nothing that was synced or not logged.
fn head(at: usize, seq: u64) -> RecordHead {
    RecordHead {
        offset: u32::try_from(at).unwrap(),
        seq,
        synced: 0,
        gap: 0,
    }
}

fn bad(offset: u64, why: Bad) -> Step<'static> {
    Step::Bad { offset, why }
}

/// Segment written as the engine writes it, over the previous contents of `bytes`.
struct Segment {
    header: SegmentHeader,
    bytes: Vec<u8>,
    at: usize,
    seq: u64,
    synced: u32,
}

impl Segment {
    fn over(mut bytes: Vec<u8>, header: SegmentHeader) -> Segment {
        bytes[..HEADER_BYTES].copy_from_slice(&header.encode());
        Segment {
            header,
            bytes,
            at: HEADER_BYTES,
            seq: header.start_seq,
            synced: 0,
        }
    }

    fn sync(&mut self) {
        self.synced = u32::try_from(self.at).unwrap();
    }

    /// Writes one record and returns its offset, or `None` if the segment is full.
    fn write(&mut self, payload: &[u8], gap: u32) -> Option<usize> {
        let end = self.at + usize::try_from(record_bytes(payload.len() as u64)).unwrap();
        if end > self.bytes.len() {
            return None;
        }
        self.seq += u64::from(gap);
        let mut head = head(self.at, self.seq);
        (head.synced, head.gap) = (self.synced, gap);
        let (front, back) = payload.split_at(payload.len() / 2);
        let encoded = encode_header(self.header.binding(), &head, &[front, back]);
        let record = [&encoded[..], payload].concat();
        self.bytes[self.at..self.at + record.len()].copy_from_slice(&record);
        self.seq += 1;
        Some(std::mem::replace(&mut self.at, end))
    }

    fn read(&self) -> (Vec<Record<'_>>, Step<'_>) {
        read(&self.bytes, &self.header)
    }
}

fn read<'a>(bytes: &'a [u8], header: &SegmentHeader) -> (Vec<Record<'a>>, Step<'a>) {
    let mut reader = SegmentReader::new(bytes, header);
    let mut records = Vec::new();
    loop {
        match reader.advance() {
            Step::Record(record) => records.push(record),
            end => {
                assert_eq!(reader.advance(), end, "the end stays the end");
                return (records, end);
            }
        }
    }
}

#[test]
fn a_header_survives_and_every_changed_byte_is_noticed() {
    let sector = header().encode();
    assert_eq!(SegmentHeader::decode(&sector).unwrap(), header());
    for at in 0..sector.len() {
        for damage in [1u8, 0x80, 0xff] {
            let mut changed = sector;
            changed[at] ^= damage;
            fails(SegmentHeader::decode(&changed), ErrorKind::Corruption);
        }
    }
    SegmentHeader::decode(&sector[..511]).unwrap_err();
    fails(
        SegmentHeader::decode(&header().encode_version(2)),
        ErrorKind::FormatTooNew,
    );
}

#[test]
fn records_come_back_with_their_fields() {
    let mut segment = Segment::over(vec![0; 4096], header());
    segment.write(&[1, 0, 0], 0).unwrap();
    segment.sync();
    segment.write(&[2, 0, 0, 0, 0], 7).unwrap();
    let (records, end) = segment.read();
    let places = [0, 1].map(|at| (records[at].offset, records[at].end));
    let fields = [0, 1].map(|at| (records[at].seq, records[at].gap, records[at].synced));
    assert_eq!(places, [(512, 544), (544, 576)]);
    assert_eq!(fields, [(100, 0, 0), (108, 7, 544)]);
    assert_eq!(records[1].count().unwrap(), 2);
    assert_eq!((records.len(), end), (2, bad(576, Bad::Empty)));
}

#[test]
fn a_count_no_payload_can_hold_is_corruption() {
    let mut segment = Segment::over(vec![0; 4096], header());
    segment.write(&[200, 1], 0).unwrap();
    let (records, _) = segment.read();
    let error = fails(records[0].count(), ErrorKind::Corruption);
    assert_eq!(error.file_offset(), Some(512));
}

#[test]
fn a_full_segment_ends_without_a_bad_record() {
    let mut segment = Segment::over(vec![0; HEADER_BYTES + 3 * 64 + 16], header());
    while segment.write(&[0; 40], 0).is_some() {}
    let (records, end) = segment.read();
    assert_eq!((records.len(), end), (3, Step::End { offset: 512 + 192 }));
    let (_, end) = read(&segment.bytes[..100], &header());
    assert_eq!(end, Step::End { offset: 512 });
}

#[test]
fn stale_records_of_a_recycled_file_are_never_read() {
    let mut bytes = vec![0; 32 << 10];
    for round in 0..40 {
        let mut noise = Noise::new(round);
        let header = SegmentHeader {
            segment: 1 + round,
            salt: noise.next_u64(),
            start_seq: 1 + 10_000 * round,
            ..header()
        };
        let mut segment = Segment::over(bytes, header);
        let mut written = Vec::new();
        let count = noise.below(100);
        for _ in 0..count {
            // There are few lengths, so old and new records often start at the same offsets.
            let len = 40 * (1 + noise.below(3));
            let payload = noise.bytes(len);
            if segment.write(&payload, 0).is_some() {
                written.push(payload);
            }
        }
        let (records, end) = segment.read();
        let read: Vec<_> = records.iter().map(|record| record.payload).collect();
        assert_eq!(read, written, "seed {round}");
        assert!(matches!(end, Step::Bad { .. } | Step::End { .. }));
        let later = find_later_synced(&segment.bytes, &header, segment.at as u64);
        assert_eq!(later, None);
        bytes = segment.bytes;
    }
}

#[test]
fn a_record_belongs_to_its_segment_salt_and_offset() {
    let mut segment = Segment::over(vec![0; 4096], header());
    segment.write(&[0; 8], 0).unwrap();
    let [mut other, mut resalted, mut later] = [header(); 3];
    other.segment = 10;
    resalted.salt = 1;
    // The same segment with a later first sequence number: its records are too old for it.
    later.start_seq = 101;
    for (header, why) in [
        (other, Bad::Checksum),
        (resalted, Bad::Checksum),
        (later, Bad::Fields),
    ] {
        assert_eq!(read(&segment.bytes, &header), (vec![], bad(512, why)));
    }
    // Moved by one slot.
    let mut moved = segment.bytes.clone();
    moved.copy_within(512..544, 544);
    let (records, end) = read(&moved, &header());
    assert_eq!((records.len(), end), (1, bad(544, Bad::Checksum)));
}

#[test]
fn fields_no_writer_sets_end_the_segment() {
    let bind = header().binding();
    let mut bytes = Segment::over(vec![0; 4096], header()).bytes;
    let head = head(512, SEQ_MAX + 1);
    bytes[512..536].copy_from_slice(&encode_header(bind, &head, &[&[0; 8]]));
    assert_eq!(read(&bytes, &header()).1, bad(512, Bad::Fields));
}

#[test]
fn every_changed_byte_of_a_record_ends_the_segment_there() {
    let mut segment = Segment::over(vec![0; 1024], header());
    segment.write(&[7; 61], 0).unwrap();
    let second = segment.write(&[8; 30], 3).unwrap();
    for at in HEADER_BYTES..second + 24 + 30 {
        let padding = (HEADER_BYTES + 24 + 61..second).contains(&at);
        for damage in (0..8).map(|bit| 1u8 << bit).chain([0xff]) {
            let mut changed = segment.bytes.clone();
            changed[at] ^= damage;
            let (records, end) = read(&changed, &header());
            let expected = usize::from(padding) + usize::from(padding || at >= second);
            assert_eq!(records.len(), expected, "byte {at}");
            assert!(matches!(end, Step::Bad { .. }));
        }
    }
}

#[test]
fn damage_a_later_record_knew_to_be_synced_is_told_from_a_torn_tail() {
    let mut segment = Segment::over(vec![0xee; 64 << 10], header());
    let first = segment.write(&[1; 100], 0).unwrap();
    let unsynced = segment.write(&[2; 5000], 0).unwrap();
    segment.write(&[3; 100], 0).unwrap();
    segment.bytes[first + 30] ^= 1;
    let find =
        |segment: &Segment, from: usize| find_later_synced(&segment.bytes, &header(), from as u64);
    assert_eq!(find(&segment, first), None);
    segment.sync();
    let synced = segment.write(&[4; 6000], 0).unwrap();
    let last = segment.write(&[5; 10], 0).unwrap() as u64;
    let known = synced as u64;
    assert_eq!(find(&segment, first), Some((known, known)));
    assert_eq!(find(&segment, unsynced), Some((known, known)));
    assert_eq!(find(&segment, synced), None);
    // The evidence itself is damaged: the next record provides it.
    segment.bytes[synced + 3000] ^= 1;
    assert_eq!(find(&segment, first), Some((last, known)));
    assert_eq!(find(&segment, segment.bytes.len()), None);
    assert_eq!(find(&segment, usize::MAX), None);
}

#[test]
fn hostile_lengths_cost_no_more_than_linear_time() {
    // Every aligned offset holds a header of a record of half a segment that claims everything was
    // synced.
    let len = 1 << 20;
    let mut bytes = Segment::over(vec![0; len], header()).bytes;
    for at in (HEADER_BYTES..len - 32).step_by(24) {
        bytes[at + 4..at + 8].copy_from_slice(&(1u32 << 19).to_le_bytes());
        bytes[at + 8..at + 16].copy_from_slice(&500u64.to_le_bytes());
        bytes[at + 16..at + 20].copy_from_slice(&513u32.to_le_bytes());
    }
    // 20,000 candidates of half a megabyte: ten gigabytes if each were read.
    assert_eq!(find_later_synced(&bytes, &header(), 512), None);
    assert!(read(&bytes, &header()).0.is_empty());
}

#[test]
fn noise_is_never_a_record() {
    for seed in 0..300 {
        let mut noise = Noise::new(seed);
        let len = noise.below(4000);
        let mut bytes = noise.bytes(len);
        for byte in bytes.iter_mut().skip(512).step_by(1 + noise.below(4)) {
            *byte = 0;
        }
        assert!(read(&bytes, &header()).0.is_empty(), "seed {seed}");
        assert_eq!(find_later_synced(&bytes, &header(), 0), None, "seed {seed}");
        assert!(SegmentHeader::decode(&bytes).is_err());
    }
}

#[test]
#[should_panic(expected = "a payload holds at least its count")]
fn an_empty_payload_is_a_bug() {
    encode_header(header().binding(), &head(512, 1), &[&[]]);
}

#[test]
fn record_lengths_are_aligned_and_do_not_wrap() {
    let lengths = [1, 8, 9, u64::MAX].map(record_bytes);
    assert_eq!(lengths, [32, 32, 40, u64::MAX - 7]);
}

proptest! {
    #[test]
    fn any_records_round_trip(
        payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..300), 0..30),
        noise in any::<u64>(),
    ) {
        let old = Noise::new(noise).bytes(16 << 10);
        let mut segment = Segment::over(old, header());
        let mut written = Vec::new();
        for payload in &payloads {
            if segment.write(payload, 0).is_none() {
                break;
            }
            written.push(payload.as_slice());
        }
        let (records, _) = segment.read();
        let read: Vec<_> = records.iter().map(|record| record.payload).collect();
        prop_assert_eq!(read, written);
    }
}

/// Returns a segment with `count` records of 40 bytes each.
fn filled(count: u64) -> Vec<u8> {
    let mut bytes = header().encode().to_vec();
    for number in 0..count {
        let (head, mut record) = (head(bytes.len(), 100 + number), Vec::new());
        encode_record(header().binding(), &head, &[&[7; 16]], &mut record);
        bytes.extend_from_slice(&record);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
    }
    bytes.resize(4096, 0);
    bytes
}

#[test]
fn salvage_finds_the_records_after_damage() {
    let mut bytes = filled(20);
    // Two records are hit: the third, and the fifth in its length.
    bytes[512 + 2 * 40 + 30] ^= 1;
    bytes[512 + 4 * 40 + 5] = 0xff;
    let mut salvage = SegmentSalvage::new(&bytes, &header());
    let (mut seqs, mut gaps) = (Vec::new(), Vec::new());
    while let Some(found) = salvage.advance() {
        match found {
            Found::Record(record) => seqs.push(record.seq),
            Found::Gap { offset, end, .. } => gaps.push((offset, end)),
        }
    }
    let expected = (100..120).filter(|seq| ![102, 104].contains(seq));
    assert_eq!(seqs, expected.collect::<Vec<u64>>());
    assert_eq!(gaps, [(592, 632), (672, 712)]);
    let end = salvage.end().unwrap();
    assert_eq!((end.offset, end.why), (512 + 20 * 40, Some(Bad::Empty)));
    assert!(salvage.advance().is_none());
}

#[test]
fn a_damaged_header_is_inferred_from_the_first_record() {
    let (bytes, header) = (filled(2), header());
    for at in [3, 12, 24, 31, 100] {
        let mut damaged = bytes.clone();
        damaged[at] ^= 4;
        assert!(SegmentHeader::decode(&damaged).is_err());
        let end = first_record_end(&damaged[..HEAD_BYTES]).unwrap();
        let first = &damaged[..usize::try_from(end).unwrap()];
        let found = header_of_damaged(first).unwrap();
        assert_eq!((found.segment, found.salt), (header.segment, header.salt));
    }
    let mut lost = bytes;
    lost[16..32].fill(0);
    assert!(header_of_damaged(&lost).is_none());
}
