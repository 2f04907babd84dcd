//! Which tools the operations stand behind: endpoint modes, and profiles of endpoint families.

use std::{fmt, str::FromStr};

use crate::{
    category::Category,
    name::{FamilyName, OperationName},
};

/// How many tools are exposed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// One tool for each family of the profile.
    #[default]
    Semantic,
    /// One tool for everything.
    Single,
    /// Both.
    All,
    /// One tool for each operation, for clients that search tools themselves. Not one of the specification's modes.
    Discrete,
}

impl Mode {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Semantic => "semantic",
            Self::Single => "single",
            Self::All => "all",
            Self::Discrete => "discrete",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a string is no endpoint mode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("endpoint mode '{0}' is none of semantic, single, all, discrete")]
pub struct ModeError(String);

impl FromStr for Mode {
    type Err = ModeError;

    /// `crude` is what earlier drafts called semantic mode with the CRUDE profile.
    fn from_str(text: &str) -> Result<Self, ModeError> {
        match text {
            "semantic" | "crude" => Ok(Self::Semantic),
            "single" => Ok(Self::Single),
            "all" => Ok(Self::All),
            "discrete" => Ok(Self::Discrete),
            other => Err(ModeError(other.to_owned())),
        }
    }
}

/// One exposed tool's worth of operations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Family {
    pub name: FamilyName,
    /// One sentence for the tool's description.
    pub purpose: String,
    /// Operations of these categories belong here, unless another family names them.
    pub categories: Vec<Category>,
    /// Operations named here belong here whatever their category; `*` stands for any run of characters.
    pub operations: Vec<String>,
}

/// A named set of families.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    name: String,
    families: Vec<Family>,
}

/// Why a set of families is no profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    #[error("profile '{0}' has no families; give it one or more")]
    Empty(String),
    #[error("profile '{profile}' names the family '{family}' twice")]
    Twice { profile: String, family: String },
    #[error(
        "profile '{profile}' gives category {category} to both '{first}' and '{second}'; each category has one family"
    )]
    Shared { profile: String, category: Category, first: String, second: String },
}

impl Profile {
    pub fn new(name: &str, families: Vec<Family>) -> Result<Self, ProfileError> {
        if families.is_empty() {
            return Err(ProfileError::Empty(name.to_owned()));
        }
        for (index, family) in families.iter().enumerate() {
            for earlier in families.iter().take(index) {
                if earlier.name == family.name {
                    return Err(ProfileError::Twice {
                        profile: name.to_owned(),
                        family: family.name.to_string(),
                    });
                }
                if let Some(category) = family.categories.iter().find(|c| earlier.categories.contains(c)) {
                    return Err(ProfileError::Shared {
                        profile: name.to_owned(),
                        category: *category,
                        first: earlier.name.to_string(),
                        second: family.name.to_string(),
                    });
                }
            }
        }
        Ok(Self { name: name.to_owned(), families })
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    #[must_use]
    pub fn families(&self) -> &[Family] {
        &self.families
    }

    /// The standard profile: a family for each category.
    #[must_use]
    pub fn crude() -> Self {
        let families = [
            ("create", Category::Create, "Additive operations."),
            ("read", Category::Read, "Safe, read-only operations."),
            ("update", Category::Update, "Modifying operations that overwrite data."),
            ("delete", Category::Delete, "Destructive operations that remove data."),
            ("execute", Category::Execute, "Execution lifecycle operations."),
        ];
        let families = families
            .into_iter()
            .filter_map(|(name, category, purpose)| family(name, &[category], &[], purpose));
        Self { name: "crude".to_owned(), families: families.collect() }
    }

    /// The alternative profile that the specification names: discover, query, manage, operate.
    #[must_use]
    pub fn discover() -> Self {
        use Category::{Create, Delete, Execute, Read, Update};
        let inspection = &["introspect", "describe_*", "check_*", "count_*"];
        let families = [
            family("discover", &[], inspection, "Discovery and inspection operations."),
            family("query", &[Read], &[], "Retrieval and filtering operations."),
            family("manage", &[Create, Update, Delete], &[], "Mutating and administrative operations."),
            family("operate", &[Execute], &[], "Runtime and lifecycle operations."),
        ];
        Self { name: "discover".to_owned(), families: families.into_iter().flatten().collect() }
    }

    /// The one family an operation belongs to, by index: where it is named, else where its category is.
    #[must_use]
    pub fn place(&self, operation: &OperationName, category: Category) -> Option<usize> {
        let named =
            |family: &Family| family.operations.iter().any(|p| matches_pattern(p, operation.as_str()));
        self.families
            .iter()
            .position(named)
            .or_else(|| self.families.iter().position(|family| family.categories.contains(&category)))
    }

    #[must_use]
    pub fn is_crude(&self) -> bool {
        self.name == "crude"
    }
}

fn family(name: &str, categories: &[Category], operations: &[&str], purpose: &str) -> Option<Family> {
    Some(Family {
        name: name.parse().ok()?,
        purpose: purpose.to_owned(),
        categories: categories.to_vec(),
        operations: operations.iter().map(|&text| text.to_owned()).collect(),
    })
}

/// Whether `text` is what `pattern` describes, `*` standing for any run of characters.
#[must_use]
pub fn matches_pattern(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(profile: &Profile, name: &str, category: Category) -> String {
        let index = profile.place(&name.parse().unwrap(), category).unwrap();
        profile.families()[index].name.to_string()
    }

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, text, expected) in [
            ("get_*", "get_item", true),
            ("get_*", "forget_it", false),
            ("*_all", "delete_all", true),
            ("*_all", "delete_all_now", false),
            ("a*c*e", "abcde", true),
            ("a*c*e", "abde", false),
            ("exact", "exact", true),
            ("exact", "exactly", false),
            ("*", "", true),
            ("a*a", "a", false),
        ] {
            assert_eq!(matches_pattern(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn a_named_operation_goes_before_its_category() {
        let profile = Profile::discover();
        assert_eq!(placed(&profile, "introspect", Category::Read), "discover");
        assert_eq!(placed(&profile, "get_item", Category::Read), "query");
        assert_eq!(placed(&profile, "delete_item", Category::Delete), "manage");
    }

    #[test]
    fn a_category_belongs_to_one_family() {
        let twice = vec![
            family("one", &[Category::Read], &[], "").unwrap(),
            family("two", &[Category::Read], &[], "").unwrap(),
        ];
        let message = Profile::new("p", twice).unwrap_err().to_string();
        assert!(
            message.contains("READ") && message.contains("'one'") && message.contains("'two'"),
            "{message}"
        );
        assert!(Profile::new("p", vec![]).is_err());
    }
}
