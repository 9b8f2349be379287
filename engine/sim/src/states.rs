//! Enumeration of the states of one crash point.
//!
//! With few pending units every subset is tried. With more, the subsets that reveal bugs are tried:
//! none, all, each unit alone, all but one unit, every prefix, every pair of name operations out of
//! order, and random subsets. States with equal content are returned once.

use std::collections::BTreeSet;
use std::sync::Arc;

use cairndb_env::random::Random;

use crate::crash::{CrashChoice, CrashPoint, Fill, Keep, PendingUnit, Profile};
use crate::machine::SimEnv;

/// Maximum number of pending units for which all subsets are tried.
const EXHAUSTIVE_MAX: usize = 10;
/// Number of random subsets of a crash point with more units: the number of requested states,
/// within these bounds.
const RANDOM_SUBSETS: std::ops::RangeInclusive<usize> = 64..=4096;

/// One state that a crash may leave.
#[derive(Debug)]
pub struct CrashState {
    /// The environment to open the database in.
    pub image: Arc<SimEnv>,
    /// The choice that produced it and can reproduce it.
    pub choice: CrashChoice,
    /// Its [`SimEnv::image_hash`].
    pub hash: u64,
}

/// The distinct states of one crash point, up to the requested number.
#[derive(Debug)]
pub struct CrashStates {
    point: CrashPoint,
    profile: Profile,
    places: Vec<PendingUnit>,
    choices: std::vec::IntoIter<CrashChoice>,
    seen: BTreeSet<u64>,
    left: usize,
}

impl CrashPoint {
    /// Returns up to `max` distinct states that a crash here may leave under `profile`. If there
    /// are more, `seed` selects among them; nothing kept and everything kept are always included.
    pub fn states(&self, profile: Profile, seed: u64, max: usize) -> CrashStates {
        let places = self.places();
        let choices = match profile {
            Profile::Strict => vec![CrashChoice::new(Keep::None)],
            Profile::Kill => subsets(self.pieces().min(EXHAUSTIVE_MAX), false),
            Profile::Ordered | Profile::Weak if places.len() <= EXHAUSTIVE_MAX => {
                let fills = profile == Profile::Weak && self.can_have_gaps();
                subsets(places.len(), fills)
            }
            Profile::Ordered | Profile::Weak => chosen(&places, seed, max),
        };
        CrashStates {
            point: self.clone(),
            profile,
            places,
            choices: choices.into_iter(),
            seen: BTreeSet::new(),
            left: max,
        }
    }
}

impl SimEnv {
    /// Returns the distinct states of a crash now: [`CrashPoint::states`] of
    /// [`SimEnv::crash_point`].
    pub fn crash_states(&self, profile: Profile, seed: u64, max: usize) -> CrashStates {
        self.crash_point().states(profile, seed, max)
    }
}

impl Iterator for CrashStates {
    type Item = CrashState;

    fn next(&mut self) -> Option<CrashState> {
        if self.left == 0 {
            return None;
        }
        loop {
            let choice = self.choices.next()?;
            let image = self.point.image_of(self.profile, &choice, &self.places);
            let hash = image.image_hash();
            if self.seen.insert(hash) {
                self.left -= 1;
                return Some(CrashState {
                    image,
                    choice,
                    hash,
                });
            }
        }
    }
}

/// Returns all subsets, starting with the empty and the full one; with `fills`, each subset is
/// returned with every kind of fill.
fn subsets(count: usize, fills: bool) -> Vec<CrashChoice> {
    let full = (1u64 << count) - 1;
    let middle = 1..full;
    let bits = [0, full].into_iter().chain(middle);
    let mut choices = Vec::new();
    for bits in bits {
        let keep = Keep::Subset(bits);
        choices.push(CrashChoice::new(keep));
        if fills {
            let noise = Fill::Noise(bits);
            choices.push(CrashChoice { keep, fill: noise });
            let old = Fill::Old(bits);
            choices.push(CrashChoice { keep, fill: old });
        }
    }
    choices
}

/// Returns the most revealing choices among too many, in random order.
fn chosen(places: &[PendingUnit], seed: u64, max: usize) -> Vec<CrashChoice> {
    let mut random = Random::new(seed);
    let mut keeps = Vec::new();
    for index in 0..places.len() {
        keeps.extend([
            Keep::Only(index),
            Keep::Named(index),
            Keep::Missing(index),
            Keep::Prefix(index + 1),
        ]);
    }
    let is_name = |&index: &usize| matches!(places[index], PendingUnit::Name(_));
    let names: Vec<usize> = (0..places.len()).filter(is_name).collect();
    for (nth, &late) in names.iter().enumerate() {
        for &early in &names[nth + 1..] {
            for between in [false, true] {
                keeps.push(Keep::Swapped {
                    late,
                    early,
                    between,
                });
            }
        }
    }
    let randoms = max.clamp(*RANDOM_SUBSETS.start(), *RANDOM_SUBSETS.end());
    keeps.extend((0..randoms).map(|_| Keep::Random(random.next_u64())));
    for index in (1..keeps.len()).rev() {
        keeps.swap(index, random.index(index + 1));
    }
    let first = [Keep::None, Keep::All].into_iter();
    let choice = |(index, keep)| {
        let fill = match index % 3 {
            0 => Fill::Zeros,
            1 => Fill::Noise(index as u64),
            _ => Fill::Old(index as u64),
        };
        CrashChoice { keep, fill }
    };
    first.chain(keeps).enumerate().map(choice).collect()
}
