//! Rows of sizes with bars, as `stats` prints them.

use crate::failure::Failure;
use crate::output::Output;

/// Length of the longest bar.
const BAR_WIDTH: u64 = 40;

/// A label and a number of bytes.
pub(crate) type Row = (String, u64);

/// Prints rows, with bars in proportion to the longest one.
pub(crate) fn print_rows(rows: &[Row], output: &mut Output) -> Result<(), Failure> {
    let longest = rows.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0);
    for (label, bytes) in rows {
        let line = format!("{label:<18}{:>10}  {}", size(*bytes), bar(*bytes, longest));
        output.line(line.trim_end())?;
    }
    Ok(())
}

/// Returns a bar in proportion to the longest one. Only zero has none.
fn bar(bytes: u64, whole: u64) -> String {
    let scaled = u128::from(bytes) * u128::from(BAR_WIDTH) / u128::from(whole.max(1));
    let width = usize::try_from(scaled).unwrap_or(0);
    "█".repeat(width.max(usize::from(bytes > 0)))
}

/// Returns a size with a unit, in powers of 1,000.
fn size(bytes: u64) -> String {
    const UNITS: [(&str, u64); 4] = [
        ("TB", 1_000_000_000_000),
        ("GB", 1_000_000_000),
        ("MB", 1_000_000),
        ("kB", 1_000),
    ];
    match UNITS.into_iter().find(|(_, unit)| bytes >= *unit) {
        Some((name, unit)) => {
            let tenths = bytes / (unit / 10);
            format!("{}.{} {name}", tenths / 10, tenths % 10)
        }
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_bars() {
        assert_eq!(size(999), "999 B");
        assert_eq!(size(1_250_000), "1.2 MB");
        assert_eq!(size(u64::MAX), "18446744.0 TB");
        assert_eq!(bar(0, 100), "");
        assert_eq!(bar(1, 1_000_000), "█");
        assert_eq!(bar(100, 100).chars().count(), 40);
    }
}
