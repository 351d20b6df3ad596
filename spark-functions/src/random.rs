//! Spark's `XORShiftRandom`: the same numbers for the same seed.

/// A generator of Spark's; [`Self::next_f64`] is Java's `nextDouble` over it.
#[derive(Debug, Clone)]
pub struct XorShiftRandom {
    state: i64,
}

impl XorShiftRandom {
    /// The generator that Spark has for `seed`.
    #[must_use]
    pub fn new(seed: i64) -> Self {
        Self {
            state: hash_seed(seed),
        }
    }

    fn next(&mut self, bits: u32) -> i64 {
        let mut next = self.state ^ (self.state << 21);
        #[allow(clippy::cast_possible_wrap, clippy::cast_sign_loss)] // Java's `>>>`
        {
            next ^= ((next as u64) >> 35) as i64;
        }
        next ^= next << 4;
        self.state = next;
        next & ((1 << bits) - 1)
    }

    /// The next double of `[0, 1)`.
    #[allow(clippy::cast_precision_loss)] // 53 bits
    pub fn next_f64(&mut self) -> f64 {
        let high = self.next(26) << 27;
        (high + self.next(27)) as f64 / (1_u64 << 53) as f64
    }
}

/// Two Murmur3 hashes of the seed's bytes, the second one seeded by the first.
#[allow(clippy::cast_possible_wrap)]
fn hash_seed(seed: i64) -> i64 {
    let low = murmur3(&seed.to_be_bytes(), 0x3c07_4a61);
    let high = murmur3(&seed.to_be_bytes(), low);
    ((u64::from(high) << 32) | u64::from(low)) as i64
}

/// Murmur3 (x86, 32 bits) of whole words.
fn murmur3(bytes: &[u8; 8], seed: u32) -> u32 {
    let [a, b, c, d, e, f, g, h] = *bytes;
    let mut hash = seed;
    for word in [u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h])] {
        let mixed = word
            .wrapping_mul(0xcc9e_2d51)
            .rotate_left(15)
            .wrapping_mul(0x1b87_3593);
        hash = (hash ^ mixed)
            .rotate_left(13)
            .wrapping_mul(5)
            .wrapping_add(0xe654_6b64);
    }
    hash ^= 8;
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
}
