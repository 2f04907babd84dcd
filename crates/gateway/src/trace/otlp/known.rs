//! What is known of a name. A few come with every span, so each is looked at once.

use std::{cell::RefCell, collections::HashMap};

use super::{
    alias::{self, Lines},
    map, origin, own, veil,
};

/// Names of which is remembered what they are, and the longest of them.
const NAMES_MAX: usize = 4096;
const NAME_BYTES_MAX: usize = 128;

/// What has to be looked for in a span, since a name of it was seen. More may be set than is there, never less.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Seen(u8);

impl Seen {
    /// What only spans of ours say.
    pub(super) const OWN: Self = Self(1);
    /// Who names the session.
    pub(super) const SESSION: Self = Self(1 << 1);
    /// Temporal's own attributes.
    pub(super) const TEMPORAL: Self = Self(1 << 2);
    /// Names that mean something only beside others.
    pub(super) const BESIDE: Self = Self(1 << 3);
    /// A name of a whole family that others have.
    pub(super) const FAMILY: Self = Self(1 << 4);

    pub(super) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// What is known of a name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    /// What has it is secret.
    pub(super) is_secret: bool,
    /// So it is where it is a number. Counts are told of many things whose names sound like secrets.
    pub(super) is_secret_number: bool,
    /// It holds a secret itself.
    pub(super) holds_secret: bool,
    pub(super) seen: Seen,
    /// Where in the table of what others call things it stands, as a name of theirs and as one of ours.
    theirs: Lines,
    ours: Lines,
}

impl Known {
    fn look(name: &str) -> Self {
        let mut seen = Seen::default();
        for (is_it, what) in [
            (own::ALL.contains(&name), Seen::OWN),
            (map::SESSIONS.contains(&name), Seen::SESSION),
            (origin::is_temporals(name), Seen::TEMPORAL),
            (alias::is_beside(name), Seen::BESIDE),
            (alias::family(name).is_some(), Seen::FAMILY),
        ] {
            if is_it {
                seen.add(what);
            }
        }
        let (is_secret, is_secret_number) = veil::is_secret_name(name);
        Self {
            is_secret,
            is_secret_number,
            holds_secret: veil::text_shown(name).is_some(),
            seen,
            theirs: Lines::theirs(name),
            ours: Lines::ours(name),
        }
    }
}

pub(super) fn known(name: &str) -> Known {
    thread_local! {
        static KNOWN: RefCell<HashMap<Box<str>, Known, foldhash::fast::RandomState>> = RefCell::default();
    }
    KNOWN.with_borrow_mut(|all| {
        if let Some(known) = all.get(name) {
            return *known;
        }
        let known = Known::look(name);
        if all.len() >= NAMES_MAX {
            all.clear();
        }
        if name.len() <= NAME_BYTES_MAX {
            all.insert(name.into(), known);
        }
        known
    })
}

/// What is known of all names of a span together.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Gathered {
    pub(super) seen: Seen,
    pub(super) theirs: Lines,
    pub(super) ours: Lines,
}

impl Gathered {
    pub(super) fn add(&mut self, known: Known) {
        self.join(Self { seen: known.seen, theirs: known.theirs, ours: known.ours });
    }

    pub(super) fn join(&mut self, other: Self) {
        self.seen.add(other.seen);
        self.theirs.add(other.theirs);
        self.ours.add(other.ours);
    }
}
