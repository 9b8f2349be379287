//! Number formats: significant digits only, thousands separated, units last.

const UNITS: [(f64, &str); 3] = [(1e9, "G"), (1e6, "M"), (1e3, "k")];
const MIB: f64 = 1_048_576.0;

/// Returns a count as a float.
#[expect(
    clippy::cast_precision_loss,
    reason = "every figure is shown with a few digits"
)]
pub(crate) const fn float(count: u64) -> f64 {
    count as f64
}

/// Formats an integer with a comma between thousands.
pub(crate) fn thousands(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a rate as the page of 2011 does: three significant digits, thousands separated.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounded, not negative, and below the limit checked first"
)]
pub(crate) fn rate(value: f64) -> String {
    if !(0.0..1e18).contains(&value) {
        return "-".into();
    }
    if value < 100.0 {
        return trimmed(value);
    }
    let step = 10_f64.powi(value.log10().floor() as i32 - 2);
    thousands(((value / step).round() * step).round() as u64)
}

/// Formats a rate with three digits and a unit: `4.03M`.
pub(crate) fn short(value: f64) -> String {
    for (size, unit) in UNITS {
        if value >= size * 0.9995 {
            return format!("{}{unit}", digits(value / size));
        }
    }
    trimmed(value)
}

/// Formats a ratio, with more decimals the smaller it is: `1.08`, `0.0035`, `120`.
pub(crate) fn ratio(value: f64) -> String {
    if !value.is_finite() || value < 0.0 {
        return "-".into();
    }
    if value >= 99.5 {
        return rate(value);
    }
    if value >= 9.95 {
        return format!("{value:.1}");
    }
    if value >= 0.095 || value == 0.0 {
        return format!("{value:.2}");
    }
    // Two significant digits, however small the value.
    let mut decimals = 3;
    while decimals < 9 && value < 0.95 * 10_f64.powi(1 - decimals) {
        decimals += 1;
    }
    let decimals = usize::try_from(decimals).unwrap_or(3);
    format!("{value:.decimals$}")
}

/// Formats a time given in nanoseconds with three digits, so that columns align.
pub(crate) fn time(nanoseconds: f64) -> String {
    if !nanoseconds.is_finite() || nanoseconds < 0.0 {
        return "-".into();
    }
    if nanoseconds == 0.0 {
        return "0 ns".into();
    }
    let (value, unit) = match nanoseconds {
        ns if ns < 999.5 => (ns, "ns"),
        ns if ns < 999.5e3 => (ns / 1e3, "\u{b5}s"),
        ns if ns < 999.5e6 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    format!("{} {unit}", digits(value))
}

/// Formats bytes in MB of 1,048,576 bytes, like the result lines.
pub(crate) fn megabytes(bytes: f64) -> String {
    let value = bytes / MIB;
    if value >= 1000.0 {
        rate(value)
    } else {
        digits(value)
    }
}

/// Formats an amount of memory or disk space: `24,100 MB`.
pub(crate) fn memory(bytes: u64) -> String {
    format!("{} MB", megabytes(float(bytes)))
}

/// Formats the day of a time given in seconds since 1970: `2011-07-27`.
pub(crate) fn day(seconds: u64) -> String {
    // Years start in March here, so that the leap day is the last day (Howard Hinnant's algorithm).
    let days = seconds / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Formats a value with three digits: `4.03`, `40.3`, `403`.
fn digits(value: f64) -> String {
    let decimals = usize::from(value < 9.995) + usize::from(value < 99.95);
    format!("{value:.decimals$}")
}

/// Like [`digits`], but without trailing zeros.
fn trimmed(value: f64) -> String {
    let text = digits(value);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_apart() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(999), "999");
        assert_eq!(thousands(1000), "1,000");
        assert_eq!(thousands(u64::MAX), "18,446,744,073,709,551,615");
    }

    #[test]
    fn rates_have_three_digits() {
        assert_eq!(rate(4_031_234.0), "4,030,000");
        assert_eq!(rate(999.6), "1,000");
        assert_eq!(rate(88_512.0), "88,500");
        assert_eq!(rate(7.0), "7");
        assert_eq!(rate(0.0), "0");
        assert_eq!(rate(31.26), "31.3");
        assert_eq!(rate(f64::NAN), "-");
        assert_eq!(rate(f64::INFINITY), "-");
    }

    #[test]
    fn short_rates_carry_a_unit() {
        assert_eq!(short(4_031_234.0), "4.03M");
        assert_eq!(short(999_950.0), "1.00M");
        assert_eq!(short(48_600.0), "48.6k");
        assert_eq!(short(7.0), "7");
    }

    #[test]
    fn ratios_keep_two_digits_however_small() {
        assert_eq!(ratio(1.0783), "1.08");
        assert_eq!(ratio(0.999), "1.00");
        assert_eq!(ratio(12.34), "12.3");
        assert_eq!(ratio(1234.0), "1,230");
        assert_eq!(ratio(0.00013), "0.00013");
        assert_eq!(ratio(0.0035), "0.0035");
        assert_eq!(ratio(0.0), "0.00");
        assert_eq!(ratio(f64::NAN), "-");
    }

    #[test]
    fn times_and_sizes_take_the_unit_that_fits() {
        assert_eq!(time(8.25), "8.25 ns");
        assert_eq!(time(999.7), "1.00 \u{b5}s");
        assert_eq!(time(1_500_000.0), "1.50 ms");
        assert_eq!(time(61e9), "61.0 s");
        assert_eq!(time(0.0), "0 ns");
        assert_eq!(megabytes(41_566_208.0), "39.6");
    }

    #[test]
    fn days_are_those_of_the_calendar() {
        assert_eq!(day(0), "1970-01-01");
        assert_eq!(day(951_782_400), "2000-02-29");
        assert_eq!(day(1_311_811_199), "2011-07-27");
        assert_eq!(day(4_107_542_400), "2100-03-01");
    }
}
