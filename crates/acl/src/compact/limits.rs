//! Limits that a reader sets for foreign bytes.

/// The limits a reader keeps. Counts and lengths in the bytes are checked against them before memory is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Memory that one decoded value may take, in bytes, estimated from above. A few bytes can say "a million equal
    /// rows", so the length of the input bounds nothing.
    pub budget_bytes: usize,
    /// Levels to which values may nest; at most 96.
    pub levels: u32,
    /// Permission for containers that contain themselves, directly or through others. Such containers leak unless the
    /// program takes them apart, so bytes of strangers must not create them.
    pub circles: bool,
}

impl Limits {
    /// Limits for stored bytes, and for bytes of a trusted source: 64 MiB.
    pub const DEFAULT: Self = Self { budget_bytes: 64 << 20, levels: super::writer::LEVELS, circles: true };

    /// For messages: the same, without circles.
    pub const MESSAGE: Self = Self { circles: false, ..Self::DEFAULT };

    /// Returns the same limits with another budget.
    #[must_use]
    pub const fn with_budget_bytes(self, budget_bytes: usize) -> Self {
        Self { budget_bytes, ..self }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Limits of the memory for one direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkLimits {
    /// Number of agents, and also of texts and shapes.
    pub items: u32,
    /// The longest that is remembered, in bytes.
    pub item_bytes: usize,
}

impl LinkLimits {
    /// Limits that both ends of a link assume unless they agreed on others: 4096 agents, and 4096 texts and shapes of
    /// at most 1 KiB each. The worst case is 8 MiB.
    pub const DEFAULT: Self = Self { items: 4096, item_bytes: 1024 };

    /// Nothing is remembered: each message is self-contained.
    pub const NONE: Self = Self { items: 0, item_bytes: 0 };
}

impl Default for LinkLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
