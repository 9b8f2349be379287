//! One entry of `--benchmarks`: a name and a repeat count.

/// A workload and its number of runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The name without its suffix.
    pub name: String,
    /// Number of measured runs.
    pub repeats: u32,
    /// Number of unreported runs before the measured ones.
    pub warmups: u32,
}

impl Step {
    /// Parses `name`, `name[X5]`, `name[W2]` or `name[X5-W2]`.
    ///
    /// # Errors
    /// An error message about the suffix.
    pub fn parse(text: &str) -> Result<Self, String> {
        let plain = |name: &str| Self {
            name: name.to_owned(),
            repeats: 1,
            warmups: 0,
        };
        let Some((name, suffix)) = text.split_once('[') else {
            return Ok(plain(text));
        };
        let refuse = || format!("{text}: a suffix is [X5], [W2] or [X5-W2]");
        let mut step = plain(name);
        for part in suffix.strip_suffix(']').ok_or_else(refuse)?.split('-') {
            let count = |digits: &str| {
                digits
                    .parse()
                    .ok()
                    .filter(|count| (1..=1000).contains(count))
            };
            if let Some(digits) = part.strip_prefix(['X', 'x']) {
                step.repeats = count(digits).ok_or_else(refuse)?;
            } else if let Some(digits) = part.strip_prefix(['W', 'w']) {
                step.warmups = count(digits).ok_or_else(refuse)?;
            } else {
                return Err(refuse());
            }
        }
        Ok(step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_are_read_and_others_refused() {
        let step = |text| Step::parse(text).map(|step| (step.name, step.repeats, step.warmups));
        assert_eq!(step("fillseq"), Ok(("fillseq".into(), 1, 0)));
        assert_eq!(step("readseq[X5]"), Ok(("readseq".into(), 5, 0)));
        assert_eq!(step("readseq[W2]"), Ok(("readseq".into(), 1, 2)));
        assert_eq!(step("readseq[X5-W2]"), Ok(("readseq".into(), 5, 2)));
        for bad in [
            "readseq[]",
            "readseq[X0]",
            "readseq[Y2]",
            "readseq[X2",
            "readseq[X2-]",
            "a[X-1]",
        ] {
            assert!(step(bad).is_err(), "{bad}");
        }
    }
}
