//! How many bookies hold an entry, which, and what may be concluded from how many answers.

/// The largest ensemble, so that members fit a set of bits.
pub const MAX_ENSEMBLE: usize = 64;

/// The three numbers of a ledger: ensemble ≥ write quorum ≥ ack quorum ≥ 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Quorum {
    ensemble: u8,
    write: u8,
    ack: u8,
}

/// A set of indexes into an ensemble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Members(u64);

impl Members {
    /// The empty set.
    pub const NONE: Self = Self(0);

    /// Adds a member and says whether it was absent.
    pub fn insert(&mut self, index: usize) -> bool {
        let before = self.0;
        self.0 |= 1_u64.checked_shl(index as u32).unwrap_or(0);
        before != self.0
    }

    /// Removes a member.
    pub fn remove(&mut self, index: usize) {
        self.0 &= !1_u64.checked_shl(index as u32).unwrap_or(0);
    }

    /// Whether it is a member.
    pub fn contains(self, index: usize) -> bool {
        self.0 & 1_u64.checked_shl(index as u32).unwrap_or(0) != 0
    }

    /// How many there are.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl FromIterator<usize> for Members {
    fn from_iter<I: IntoIterator<Item = usize>>(indexes: I) -> Self {
        let mut members = Self::NONE;
        for index in indexes {
            members.insert(index);
        }
        members
    }
}

impl Quorum {
    /// One bookie.
    pub const ONE: Self = Self { ensemble: 1, write: 1, ack: 1 };

    /// `None` unless ensemble ≥ write ≥ ack ≥ 1 and the ensemble is at most [`MAX_ENSEMBLE`].
    pub fn new(ensemble: usize, write: usize, ack: usize) -> Option<Self> {
        let ordered = MAX_ENSEMBLE >= ensemble && ensemble >= write && write >= ack && ack >= 1;
        ordered.then_some(Self { ensemble: ensemble as u8, write: write as u8, ack: ack as u8 })
    }

    /// Bookies a ledger is spread over.
    pub fn ensemble(self) -> usize {
        usize::from(self.ensemble)
    }

    /// Bookies an entry is sent to.
    pub fn write(self) -> usize {
        usize::from(self.write)
    }

    /// Bookies that must have it before it is acknowledged.
    pub fn ack(self) -> usize {
        usize::from(self.ack)
    }

    /// The indexes of the bookies that hold `entry`, the first to be asked first.
    pub fn write_set(self, entry: i64) -> impl Iterator<Item = usize> + Clone + use<> {
        let (ensemble, write) = (self.ensemble(), self.write());
        let first = entry.rem_euclid(ensemble as i64) as usize;
        (0..write).map(move |offset| (first + offset) % ensemble)
    }

    /// Whether `index` is one of those that hold `entry`.
    pub fn holds(self, entry: i64, index: usize) -> bool {
        self.write_set(entry).any(|member| member == index)
    }

    /// Whether nothing can be acknowledged behind the back of those that `answered`: of every write set, fewer than
    /// an ack quorum have not.
    pub fn is_covered_by(self, answered: Members) -> bool {
        (0..self.ensemble()).all(|first| {
            let silent = self.write_set(first as i64).filter(|index| !answered.contains(*index)).count();
            silent < self.ack()
        })
    }

    /// How many of an entry's bookies must say that they do not have it before it is known never to have been
    /// acknowledged: so many that those left are fewer than an ack quorum.
    pub fn absent(self) -> usize {
        self.write() - self.ack() + 1
    }
}
