//! Commit subjects are `area: imperative summary`, with at most 60 characters;
//! a commit that changes 50 lines or more has a body.
//!
//! The rule checks the commits after the one named in the settings, because older ones can no
//! longer be changed. `make hooks` installs a hook that checks a subject before the commit is made.

use crate::finding::Finding;
use crate::history::History;
use crate::house::House;

pub(super) fn check(house: &House) -> Vec<Finding> {
    let History::Known(commits) = &house.history else {
        return Vec::new();
    };
    let bad = commits.iter().filter(|commit| !commit.complaint.is_empty());
    bad.map(|commit| {
        let message = format!(
            "`{}` {}; reword the commit before it is pushed",
            commit.subject, commit.complaint
        );
        Finding::new(format!("commit {}", commit.hash), 0, "subject", message)
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Commit;
    use crate::house::{house, lines};

    #[test]
    fn a_bad_subject_is_reported_with_its_commit() {
        let commit = |hash: &str, complaint: &str| Commit {
            hash: hash.to_owned(),
            subject: "Add it".to_owned(),
            complaint: complaint.to_owned(),
        };
        let mut house = house("", &[]);
        assert_eq!(check(&house), []);
        house.history = History::Known(vec![
            commit("12ab", "starts with no area"),
            commit("34cd", ""),
        ]);
        let expected = "commit 12ab: subject: `Add it` starts with no area; reword the commit before it \
                        is pushed";
        assert_eq!(lines(&check(&house)), [expected]);
    }
}
