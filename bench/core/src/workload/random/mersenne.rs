//! The generator with which RocksDB's program draws keys: the 64-bit Mersenne twister of the C++
//! library (Matsumoto and Nishimura, "Mersenne Twister", 1998; 64-bit constants of 2004).

const WORDS: usize = 312;
const MIDDLE: usize = 156;
const TWIST: u64 = 0xb502_6f5a_a966_19e9;
const UPPER: u64 = 0xffff_ffff_8000_0000;
const SEEDING: u64 = 6_364_136_223_846_793_005;

/// The generator.
#[derive(Clone, Debug)]
pub struct Mersenne {
    words: [u64; WORDS],
    next: usize,
}

impl Mersenne {
    /// Creates a generator from a seed.
    pub fn new(seed: u64) -> Self {
        let mut words = [seed; WORDS];
        let mut last = seed;
        for (at, word) in (0u64..).zip(&mut words).skip(1) {
            last = SEEDING.wrapping_mul(last ^ (last >> 62)).wrapping_add(at);
            *word = last;
        }
        Self { words, next: WORDS }
    }

    /// Returns the next number.
    #[inline]
    #[expect(
        clippy::should_implement_trait,
        reason = "it never ends, so it is not an iterator"
    )]
    pub fn next(&mut self) -> u64 {
        if self.next == WORDS {
            self.twist();
        }
        let mut word = self.words[self.next];
        self.next += 1;
        word ^= (word >> 29) & 0x5555_5555_5555_5555;
        word ^= (word << 17) & 0x71d6_7fff_eda6_0000;
        word ^= (word << 37) & 0xfff7_eee0_0000_0000;
        word ^ (word >> 43)
    }

    #[cold]
    fn twist(&mut self) {
        for at in 0..WORDS {
            let both = (self.words[at] & UPPER) | (self.words[(at + 1) % WORDS] & !UPPER);
            let twisted = (both >> 1) ^ if both & 1 == 1 { TWIST } else { 0 };
            self.words[at] = self.words[(at + MIDDLE) % WORDS] ^ twisted;
        }
        self.next = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_thousandth_number_of_the_default_seed_is_the_standards() {
        let mut generator = Mersenne::new(5489);
        let last = (0..10_000).map(|_| generator.next()).last();
        assert_eq!(last, Some(9_981_545_732_273_789_042));
    }
}
