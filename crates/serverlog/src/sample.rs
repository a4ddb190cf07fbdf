//! A few of many, each as likely as any other, without keeping the rest (Vitter's algorithm R, ACM TOMS 11, 1985).

/// At most this many are kept.
const KEPT: usize = 64;

/// A sample of what was offered.
#[derive(Clone, Debug)]
pub struct Sample<T> {
    kept: Vec<T>,
    offered: u64,
    state: u64,
}

impl<T> Default for Sample<T> {
    fn default() -> Self {
        Self { kept: Vec::new(), offered: 0, state: 0x9E37_79B9_7F4A_7C15 }
    }
}

impl<T> Sample<T> {
    /// Offer one; it is made only where it is kept.
    pub fn offer(&mut self, make: impl FnOnce() -> T) {
        self.offered += 1;
        if self.kept.len() < KEPT {
            self.kept.push(make());
            return;
        }
        let chosen = self.random() % self.offered;
        if let Some(place) = self.kept.get_mut(chosen as usize) {
            *place = make();
        }
    }

    /// What was kept.
    pub fn kept(&self) -> &[T] {
        &self.kept
    }

    /// xorshift64 (Marsaglia, "Xorshift RNGs", 2003).
    fn random(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }
}
