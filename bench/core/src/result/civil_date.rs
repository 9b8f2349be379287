//! Seconds since 1970 as a UTC date and time.

/// A UTC date and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Civil {
    /// Year.
    pub year: u64,
    /// Month, 1 for January.
    pub month: u64,
    /// Day of the month, from 1.
    pub day: u64,
    /// Days since Sunday.
    pub weekday: usize,
    /// Hour.
    pub hour: u64,
    /// Minute.
    pub minute: u64,
    /// Second.
    pub second: u64,
}

impl Civil {
    /// Returns the date and time `seconds` seconds after the start of 1970.
    pub fn of(seconds: u64) -> Self {
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
        Self {
            year,
            month,
            day: rest + 1,
            // 1970 started on a Thursday.
            weekday: usize::try_from((days + 4) % 7).unwrap_or(0),
            hour: seconds / 3600 % 24,
            minute: seconds / 60 % 60,
            second: seconds % 60,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leap_days_and_ends_of_years_are_right() {
        let reported = |seconds| {
            let at = Civil::of(seconds);
            (
                at.year, at.month, at.day, at.weekday, at.hour, at.minute, at.second,
            )
        };
        assert_eq!(reported(0), (1970, 1, 1, 4, 0, 0, 0));
        assert_eq!(reported(951_782_400), (2000, 2, 29, 2, 0, 0, 0));
        assert_eq!(reported(978_307_199), (2000, 12, 31, 0, 23, 59, 59));
        assert_eq!(reported(1_311_811_199), (2011, 7, 27, 3, 23, 59, 59));
    }
}
