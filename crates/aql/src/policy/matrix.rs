//! What the danger of an operation and the trust in its server come to together.

use std::{fmt, str::FromStr};

use crate::{danger::DangerLevel, trust::TrustLevel};

/// What one cell says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behaviour {
    Allow,
    Confirm,
    Deny,
    /// Nothing but introspection, not even what is safe.
    IntrospectOnly,
}

impl Behaviour {
    pub const ALL: [Self; 4] = [Self::Allow, Self::Confirm, Self::Deny, Self::IntrospectOnly];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Confirm => "confirm",
            Self::Deny => "deny",
            Self::IntrospectOnly => "introspect_only",
        }
    }

    fn refuses(self) -> bool {
        matches!(self, Self::Deny | Self::IntrospectOnly)
    }
}

impl fmt::Display for Behaviour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a string is no behaviour.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is none of allow, confirm, deny, introspect_only")]
pub struct Error(String);

impl FromStr for Behaviour {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|known| known.as_str() == text).ok_or_else(|| Error(text.to_owned()))
    }
}

/// Twenty-five cells, of which an operator may set single ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matrix {
    rows: [[Cell; 5]; 5],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Cell {
    behaviour: Behaviour,
    /// Whether the operator said so, which then is the last word about the level.
    set: bool,
}

impl Default for Matrix {
    fn default() -> Self {
        use Behaviour::{Allow, Confirm, Deny, IntrospectOnly};
        let rows = [
            [IntrospectOnly, Allow, Allow, Allow, Allow],
            [Deny, Deny, Allow, Allow, Allow],
            [Deny, Deny, Confirm, Allow, Allow],
            [Deny, Deny, Deny, Confirm, Allow],
            [Deny, Deny, Deny, Deny, Confirm],
        ];
        Self { rows: rows.map(|row| row.map(|behaviour| Cell { behaviour, set: false })) }
    }
}

impl Matrix {
    /// The cell of a level and a trust.
    #[must_use]
    pub fn behaviour(&self, danger: DangerLevel, trust: TrustLevel) -> Behaviour {
        self.cell(danger, trust).map_or(Behaviour::Deny, |cell| cell.behaviour)
    }

    /// Whether the operator set the cell.
    #[must_use]
    pub fn is_set(&self, danger: DangerLevel, trust: TrustLevel) -> bool {
        self.cell(danger, trust).is_some_and(|cell| cell.set)
    }

    #[must_use]
    pub fn with(mut self, danger: DangerLevel, trust: TrustLevel, behaviour: Behaviour) -> Self {
        let row = self.rows.get_mut(usize::from(danger.number()));
        if let Some(cell) = row.and_then(|row| row.get_mut(trust as usize)) {
            *cell = Cell { behaviour, set: true };
        }
        self
    }

    /// The trust from which on the level would not be denied, if there is such.
    #[must_use]
    pub fn required(&self, danger: DangerLevel, trust: TrustLevel) -> Option<TrustLevel> {
        let above = TrustLevel::ALL.into_iter().filter(|level| *level > trust);
        above.into_iter().find(|level| !self.behaviour(danger, *level).refuses())
    }

    fn cell(&self, danger: DangerLevel, trust: TrustLevel) -> Option<Cell> {
        self.rows.get(usize::from(danger.number()))?.get(trust as usize).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// LREQ-DANGER-07
    #[test]
    fn every_cell_is_as_the_table_says() {
        let table = [
            ("safe", "introspect_only allow allow allow allow"),
            ("reversible", "deny deny allow allow allow"),
            ("destructive", "deny deny confirm allow allow"),
            ("dangerous", "deny deny deny confirm allow"),
            ("forbidden", "deny deny deny deny confirm"),
        ];
        for (danger, row) in table {
            let danger = danger.parse().unwrap();
            let found: Vec<&str> = TrustLevel::ALL
                .into_iter()
                .map(|trust| Matrix::default().behaviour(danger, trust).as_str())
                .collect();
            assert_eq!(found.join(" "), row, "{danger}");
        }
    }

    /// LREQ-DANGER-17
    #[test]
    fn setting_one_cell_changes_no_other() {
        for danger in DangerLevel::ALL {
            for trust in TrustLevel::ALL {
                let before = Matrix::default();
                let new = match before.behaviour(danger, trust) {
                    Behaviour::Confirm => Behaviour::Deny,
                    _ => Behaviour::Confirm,
                };
                let after = before.clone().with(danger, trust, new);
                for (d, t) in
                    DangerLevel::ALL.iter().flat_map(|d| TrustLevel::ALL.iter().map(move |t| (*d, *t)))
                {
                    let here = (d, t) == (danger, trust);
                    assert_eq!(after.behaviour(d, t), if here { new } else { before.behaviour(d, t) });
                    assert_eq!(after.is_set(d, t), here);
                }
            }
        }
    }

    #[test]
    fn the_trust_that_would_do_is_the_lowest_above() {
        use DangerLevel::{Dangerous, Forbidden, Safe};
        use TrustLevel::{Certified, CommunityReviewed, Generated, Untested, Validated};
        let matrix = Matrix::default();
        assert_eq!(matrix.required(Safe, Untested), Some(Generated));
        assert_eq!(matrix.required(Dangerous, Validated), Some(CommunityReviewed));
        assert_eq!(matrix.required(Forbidden, Untested), Some(Certified));
        assert_eq!(matrix.with(Forbidden, Certified, Behaviour::Deny).required(Forbidden, Validated), None);
    }

    #[test]
    fn behaviours_are_read_by_their_names_only() {
        for known in Behaviour::ALL {
            assert_eq!(known.as_str().parse(), Ok(known));
        }
        for bad in ["", "Allow", "ask"] {
            assert!(bad.parse::<Behaviour>().unwrap_err().to_string().contains(&format!("'{bad}'")));
        }
    }
}
