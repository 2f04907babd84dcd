//! How far a server has to be trusted for what an operation does, where the operator wants such minimums.

use crate::{category::Category, danger::DangerLevel, trust::TrustLevel};

/// The least trust for each kind of operation. Introspection needs none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Minimums {
    pub read: TrustLevel,
    pub create: TrustLevel,
    pub update: TrustLevel,
    pub delete: TrustLevel,
    pub execute: TrustLevel,
    /// For every operation of level dangerous or above, whatever it does.
    pub dangerous: TrustLevel,
}

impl Default for Minimums {
    fn default() -> Self {
        Self {
            read: TrustLevel::Generated,
            create: TrustLevel::Validated,
            update: TrustLevel::Validated,
            delete: TrustLevel::CommunityReviewed,
            execute: TrustLevel::Validated,
            dangerous: TrustLevel::Certified,
        }
    }
}

impl Minimums {
    #[must_use]
    pub fn of(&self, category: Category, danger: DangerLevel) -> TrustLevel {
        let by_category = match category {
            Category::Read => self.read,
            Category::Create => self.create,
            Category::Update => self.update,
            Category::Delete => self.delete,
            Category::Execute => self.execute,
        };
        if danger >= DangerLevel::Dangerous { by_category.max(self.dangerous) } else { by_category }
    }
}
