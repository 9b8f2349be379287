//! Seconds since 1970 as a UTC date and time.

/// Returns the year, month, day, hour, minute and second `seconds` seconds after the start of 1970,
/// and the number of days since Sunday. Months and days count from 1.
pub fn civil(seconds: u64) -> ([u64; 6], usize) {
    let days = seconds / 86_400;
    let leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let (mut year, mut rest) = (1970, days);
    while rest >= 365 + u64::from(leap(year)) {
        rest -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if rest < length {
            break;
        }
        rest -= length;
        month += 1;
    }
    // 1970 started on a Thursday.
    let weekday = usize::try_from((days + 4) % 7).unwrap_or(0);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    ([year, month, rest + 1, hour, minute, second], weekday)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leap_days_and_ends_of_years_are_right() {
        assert_eq!(civil(0), ([1970, 1, 1, 0, 0, 0], 4));
        assert_eq!(civil(951_782_400), ([2000, 2, 29, 0, 0, 0], 2));
        assert_eq!(civil(978_307_199), ([2000, 12, 31, 23, 59, 59], 0));
        assert_eq!(civil(1_311_811_199), ([2011, 7, 27, 23, 59, 59], 3));
    }
}
