//! Numbers of a suite: values that the corresponding flag refuses are refused here too, with their
//! line. The run itself checks no bounds.

use bench_core::workload::key::DIGITS;

use super::{File, Section, SuiteText, Variant};
use crate::flags;
use crate::suite::job::scaled;

/// A number of a file: its key, its value, the flag that has the bounds, and its unit as a multiple
/// of the flag's.
type Number = (&'static str, Option<u64>, &'static str, u64);

const MIB: u64 = 1 << 20;

impl SuiteText<'_> {
    /// Returns the numbers of the whole file.
    pub(super) fn numbers(&self, file: &File) -> Result<(), String> {
        self.bounded(
            0,
            &[
                ("num", Some(file.num), "num", 1),
                ("rounds", Some(file.rounds.into()), "rounds", 1),
                ("row_timeout", Some(file.row_timeout), "row_timeout", 1),
            ],
        )
    }

    pub(super) fn numbers_of_variant(&self, variant: &Variant) -> Result<(), String> {
        let at = variant.name.span().start;
        self.bounded(
            at,
            &[
                ("write_mb", variant.write_mb, "write_buffer_size", MIB),
                ("cache_mb", variant.cache_mb, "cache_size", MIB),
                (
                    "bloom_bits",
                    variant.bloom_bits.map(u64::from),
                    "bloom_bits",
                    1,
                ),
            ],
        )
    }

    pub(super) fn numbers_of_section(&self, file: &File, section: &Section) -> Result<(), String> {
        let at = section.name.span().start;
        let value_size = section.value_size.map(|size| size as u64);
        let key_size = section.key_size.map(|size| size as u64);
        self.bounded(
            at,
            &[
                ("memory_mb", section.memory_mb, "memory", MIB),
                ("limit_mb", section.limit_mb, "memory_limit", MIB),
                ("value_size", value_size, "value_size", 1),
                ("key_size", key_size, "key_size", 1),
                ("batch_size", section.batch_size, "batch_size", 1),
                (
                    "keyspaces",
                    section.keyspaces.map(u64::from),
                    "keyspaces",
                    1,
                ),
                ("ranges", section.ranges.map(u64::from), "ranges", 1),
                ("threads", section.threads.map(u64::from), "threads", 1),
                ("rounds", section.rounds.map(u64::from), "rounds", 1),
            ],
        )?;
        if let Some(bytes) = section.key_size.filter(|&bytes| bytes < DIGITS) {
            let what = format!("key_size = {bytes}: keys have at least {DIGITS} bytes");
            return Err(self.refuse(at, &what));
        }
        let (_, most) = flags::bounds("num");
        for (key, times) in [("times", section.times), ("ops", section.ops)] {
            let is_allowed = |times: f64| times > 0.0 && scaled(file.num, Some(times)) <= most;
            if let Some(times) = times.filter(|&times| !is_allowed(times)) {
                let what = format!(
                    "{key} = {times}: a number above 0 is allowed, and with num = {} not more than \
                     {most} entries",
                    file.num
                );
                return Err(self.refuse(at, &what));
            }
        }
        Ok(())
    }

    /// Refuses numbers out of bounds.
    fn bounded(&self, at: usize, numbers: &[Number]) -> Result<(), String> {
        for &(key, number, flag, unit) in numbers {
            let (least, most) = flags::bounds(flag);
            let (least, most) = (least.div_ceil(unit), most / unit);
            if let Some(number) = number.filter(|number| !(least..=most).contains(number)) {
                let what =
                    format!("{key} = {number}: a whole number from {least} to {most} is allowed");
                return Err(self.refuse(at, &what));
            }
        }
        Ok(())
    }
}
