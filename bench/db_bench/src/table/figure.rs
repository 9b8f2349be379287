//! Figures with three digits.

use super::row::is_event;

/// Formats a rate, or the time of an event, with three digits.
pub(crate) fn amount(workload: &str, rate: f64) -> String {
    if is_event(workload) {
        time(1.0 / rate)
    } else {
        short(rate)
    }
}

pub(super) fn digits(value: f64) -> String {
    let decimals = usize::from(value < 10.0) + usize::from(value < 100.0);
    format!("{value:.decimals$}")
}

pub(super) fn short(rate: f64) -> String {
    if rate >= 1e6 {
        format!("{}M", digits(rate / 1e6))
    } else if rate >= 1e3 {
        format!("{}k", digits(rate / 1e3))
    } else {
        digits(rate)
    }
}

fn time(seconds: f64) -> String {
    if seconds >= 1.0 {
        format!("{}s", digits(seconds))
    } else if seconds >= 1e-3 {
        format!("{}ms", digits(seconds * 1e3))
    } else {
        format!("{}us", digits(seconds * 1e6))
    }
}
