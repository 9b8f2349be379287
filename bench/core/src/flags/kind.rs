//! Kinds of flag values.

/// The kind of a flag's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FlagKind {
    /// A switch.
    Bool,
    /// Any string.
    Text,
    /// A whole number in this range; a suffix K, M or G multiplies by powers of 1024.
    Number(i64, i64),
    /// A number in this range, inclusive.
    Ratio(f64, f64),
    /// One of these words, in any case.
    Word(&'static [&'static str]),
}

/// Threshold for ranges of counts and bytes, which take suffixes; lower maximums are percentages
/// and the like.
const COUNTED_IN_THOUSANDS: i64 = (1 << 20) - 1;

impl FlagKind {
    /// Returns the value in its canonical form, or `None` if it is not allowed.
    pub fn check(self, value: &str) -> Option<String> {
        match self {
            Self::Text => Some(value.to_owned()),
            Self::Bool => switch(value).map(str::to_owned),
            Self::Number(low, high) => number(value)
                .filter(|number| (low..=high).contains(number))
                .map(|number| number.to_string()),
            Self::Ratio(low, high) => {
                let ratio: f64 = value.parse().ok()?;
                (low..=high).contains(&ratio).then(|| ratio.to_string())
            }
            Self::Word(words) => words
                .iter()
                .find(|word| word.eq_ignore_ascii_case(value))
                .map(|&word| word.to_owned()),
        }
    }

    /// Returns a description of the allowed values for an error message.
    pub fn allowed(self) -> String {
        match self {
            Self::Bool => "1, 0, true, false, yes or no".into(),
            Self::Text => "any text".into(),
            Self::Number(low, i64::MAX) => {
                format!("a whole number (or one with K, M or G, times 1024) of at least {low}")
            }
            Self::Number(low, high) if high >= COUNTED_IN_THOUSANDS => {
                format!("a whole number (or one with K, M or G, times 1024) from {low} to {high}")
            }
            Self::Number(low, high) => format!("a whole number from {low} to {high}"),
            Self::Ratio(low, high) => format!("a number from {low} to {high}"),
            Self::Word(words) => format!("one of {}", words.join(", ")),
        }
    }

    /// Returns the name of the type for the help.
    pub const fn name(self) -> &'static str {
        const INT32_MAX: i64 = (1 << 31) - 1;
        match self {
            Self::Bool => "bool",
            Self::Text | Self::Word(_) => "string",
            Self::Number(_, high) if high <= INT32_MAX => "int32",
            Self::Number(..) => "int64",
            Self::Ratio(..) => "double",
        }
    }
}

fn switch(value: &str) -> Option<&'static str> {
    match value.to_ascii_lowercase().as_str() {
        "1" | "true" | "t" | "yes" | "y" => Some("1"),
        "0" | "false" | "f" | "no" | "n" => Some("0"),
        _ => None,
    }
}

fn number(value: &str) -> Option<i64> {
    let (digits, factor) = match value.chars().last()? {
        'k' | 'K' => (&value[..value.len() - 1], 1 << 10),
        'm' | 'M' => (&value[..value.len() - 1], 1 << 20),
        'g' | 'G' => (&value[..value.len() - 1], 1 << 30),
        _ => (value, 1),
    };
    digits.parse::<i64>().ok()?.checked_mul(factor)
}
