//! Defects of other clients, which tests put in to show that they would be found.

/// A defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Defect {
    /// A ledger that somebody else began to recover is never recovered.
    GivesUpOnRecoveryBegun,
    /// One bookie that does not have an entry makes it absent.
    FirstAbsenceDecides,
    /// Recovery reads one entry at a time.
    OneAtATime,
    /// An ack quorum of answers for each write set counts as fenced. Entries are then asked for without fencing, as
    /// fencing reads make up for it.
    WeakCoverage,
    /// A replacement at the very start of a segment is lost when the ledger is closed.
    DropsReplacedSegment,
    /// A second replacement during recovery brings the first dead bookie back.
    ForgetsFirstReplacement,
    /// Recovery that ends second fails.
    RefusesWinner,
    /// Requests wait for ever.
    NoTimeOuts,
    /// Closing stops ensemble changes and waits for appends.
    CloseStopsChanges,
    /// Entries are written back without priority, so that read-only bookies refuse.
    NoPriority,
    /// The length of a recovered ledger is taken from the answer that told the last acknowledged entry.
    LengthFromLac,
    /// Acknowledges before every bookie's fence is durable without asking the metadata store.
    NoGuard,
    /// Answers of bookies that were replaced count.
    StaleAnswers,
    /// Acknowledges while an ensemble change is under way.
    AcknowledgesDuringChange,
    /// Recovery asks for entries without fencing.
    PlainRecoveryReads,
    /// A digest that does not match is a "no such entry".
    MismatchIsAbsence,
    /// A bookie that did not answer counts as one that does not have the entry.
    SilenceIsAbsence,
    /// Ensemble changes have no limit.
    EndlessChanges,
}

/// The defect that a machine has, if any. Without the feature `test-defects` it has none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Defects {
    #[cfg(feature = "test-defects")]
    defect: Option<Defect>,
}

impl Defects {
    /// No defect.
    pub const NONE: Self = Self {
        #[cfg(feature = "test-defects")]
        defect: None,
    };

    /// One defect.
    #[cfg(feature = "test-defects")]
    pub const fn with(defect: Defect) -> Self {
        Self { defect: Some(defect) }
    }

    /// Whether it has this defect.
    #[cfg(feature = "test-defects")]
    pub fn has(&self, defect: Defect) -> bool {
        self.defect == Some(defect)
    }

    /// Whether it has this defect.
    #[cfg(not(feature = "test-defects"))]
    pub(crate) const fn has(&self, _: Defect) -> bool {
        false
    }
}
