//! Advice about definitions: nothing here keeps a registry from loading, all of it makes one easier to call rightly.
//!
//! Each finding carries the id of the requirement it comes from.

use crate::{
    category::Category,
    operation::Operation,
    param::Param,
    registry::{RESERVED, Registry},
};

/// One piece of advice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub operation: String,
    /// The requirement that asks for it.
    pub rule: &'static str,
    pub message: String,
}

/// Everything worth changing in a registry's own operations, in their order. Those of other servers are not the user's
/// to change.
#[must_use]
pub fn lint(registry: &Registry) -> Vec<Finding> {
    let own = |operation: &&Operation| {
        operation.server().is_none() && !RESERVED.contains(&operation.name().as_str())
    };
    let operations: Vec<&Operation> =
        registry.operations().map(|(_, operation)| operation).filter(own).collect();
    let names: Vec<&str> = operations.iter().map(|operation| operation.name().as_str()).collect();
    let mut findings = Vec::new();
    for operation in operations {
        let advice = [
            verb(operation),
            stop_without_cancel(operation, &names),
            category_against_name(operation),
            undeclared_danger(operation),
        ];
        let advice = advice
            .into_iter()
            .flatten()
            .chain(operation.params().iter().filter_map(|param| description(param)));
        findings.extend(advice.map(|(rule, message)| Finding {
            operation: operation.name().to_string(),
            rule,
            message,
        }));
    }
    findings
}

/// A rule and what it says.
type Advice = (&'static str, String);

/// A verb, the category it speaks of, and the canonical verb it is only another word for.
struct Verb {
    word: &'static str,
    category: Category,
    synonym_of: Option<&'static str>,
}

const fn verb_of(category: Category, word: &'static str) -> Verb {
    Verb { word, category, synonym_of: None }
}

const fn synonym(category: Category, word: &'static str, canonical: &'static str) -> Verb {
    Verb { word, category, synonym_of: Some(canonical) }
}

/// What a name's first word says of the operation. Where a resource may not exist yet the verb is CREATE's, and where
/// the effect is outside the adapter it is EXECUTE's.
const VERBS: &[Verb] = {
    use Category::{Create, Delete, Execute, Read, Update};
    &[
        verb_of(Create, "create"),
        synonym(Create, "add", "create"),
        synonym(Create, "insert", "create"),
        synonym(Create, "make", "create"),
        verb_of(Create, "upload"),
        verb_of(Create, "import"),
        verb_of(Create, "register"),
        verb_of(Create, "upsert"),
        verb_of(Create, "save"),
        verb_of(Create, "copy"),
        verb_of(Create, "clone"),
        verb_of(Create, "record"),
        verb_of(Read, "get"),
        verb_of(Read, "list"),
        synonym(Read, "fetch", "get"),
        synonym(Read, "read", "get"),
        synonym(Read, "retrieve", "get"),
        synonym(Read, "show", "get"),
        synonym(Read, "find", "list"),
        verb_of(Read, "search"),
        verb_of(Read, "query"),
        verb_of(Read, "count"),
        verb_of(Read, "check"),
        verb_of(Read, "describe"),
        verb_of(Read, "inspect"),
        verb_of(Read, "introspect"),
        verb_of(Read, "export"),
        verb_of(Read, "download"),
        verb_of(Read, "compare"),
        verb_of(Update, "update"),
        synonym(Update, "edit", "update"),
        synonym(Update, "modify", "update"),
        synonym(Update, "change", "update"),
        verb_of(Update, "rename"),
        verb_of(Update, "move"),
        verb_of(Update, "set"),
        verb_of(Update, "patch"),
        verb_of(Update, "replace"),
        verb_of(Update, "enable"),
        verb_of(Update, "disable"),
        verb_of(Update, "archive"),
        verb_of(Delete, "delete"),
        synonym(Delete, "remove", "delete"),
        synonym(Delete, "erase", "delete"),
        verb_of(Delete, "purge"),
        verb_of(Delete, "drop"),
        verb_of(Delete, "truncate"),
        verb_of(Delete, "destroy"),
        verb_of(Delete, "wipe"),
        verb_of(Delete, "clear"),
        verb_of(Execute, "execute"),
        verb_of(Execute, "cancel"),
        synonym(Execute, "run", "execute"),
        synonym(Execute, "invoke", "execute"),
        verb_of(Execute, "start"),
        verb_of(Execute, "stop"),
        verb_of(Execute, "pause"),
        verb_of(Execute, "resume"),
        verb_of(Execute, "retry"),
        verb_of(Execute, "restart"),
        verb_of(Execute, "abort"),
        verb_of(Execute, "trigger"),
        verb_of(Execute, "send"),
        verb_of(Execute, "notify"),
        verb_of(Execute, "publish"),
        verb_of(Execute, "deploy"),
    ]
};

/// Words that may stand before the verb without being one.
const MODIFIERS: [&str; 3] = ["bulk", "batch", "force"];

fn canonical(category: Category) -> &'static [&'static str] {
    match category {
        Category::Create => &["create"],
        Category::Read => &["get", "list"],
        Category::Update => &["update"],
        Category::Delete => &["delete"],
        Category::Execute => &["execute", "cancel"],
    }
}

fn known(word: &str) -> Option<&'static Verb> {
    VERBS.iter().find(|verb| verb.word == word)
}

/// The words of a name from its verb on.
fn from_verb(name: &str) -> Vec<&str> {
    name.split('_').skip_while(|word| MODIFIERS.contains(word)).collect()
}

/// The category that a name's verb speaks of. A name without a known verb in front says nothing: a guess from a later
/// word could take what deletes for what reads.
#[must_use]
pub fn classify_name(name: &str) -> Option<Category> {
    from_verb(name).first().and_then(|word| known(word)).map(|verb| verb.category)
}

/// The category of an operation whose author also hinted that it only reads. The hint fills in for an unknown verb,
/// and never talks a known one down.
#[must_use]
pub fn classify(name: &str, read_only_hint: bool) -> Option<Category> {
    classify_name(name).or(read_only_hint.then_some(Category::Read))
}

/// Whether a description says why an unusual word was chosen.
fn gives_a_reason(description: &str) -> bool {
    const REASONS: [&str; 8] =
        ["because", "since ", "rather than", "instead of", "unlike ", "custom", "convention", "commonly"];
    let description = description.to_lowercase();
    REASONS.iter().any(|word| description.contains(word))
}

fn names_one_of(description: &str, words: &[&str]) -> bool {
    let description = description.to_lowercase();
    let mut said = description.split(|c: char| !c.is_alphanumeric());
    said.any(|word| words.contains(&word))
}

/// The verb stands first, is the canonical one, or is accounted for.
fn verb(operation: &Operation) -> Option<Advice> {
    let name = operation.name().as_str();
    let words = from_verb(name);
    let (first, rest) = words.split_first()?;
    let expected = canonical(operation.category());
    let verb = known(first);
    if verb.is_none()
        && let Some(later) = rest.iter().rev().find(|word| known(word).is_some())
    {
        let others: Vec<&str> = words.iter().filter(|word| *word != later).copied().collect();
        let better = format!("{later}_{}", others.join("_"));
        return Some((
            "REQ-NAME-05",
            format!("names begin with their verb: '{better}' rather than '{name}'"),
        ));
    }
    if Category::ALL.iter().any(|category| canonical(*category).contains(first)) {
        return None;
    }
    let description = operation.description();
    if gives_a_reason(description) && names_one_of(description, expected) {
        return None;
    }
    if let Some(canonical) = verb.and_then(|verb| verb.synonym_of) {
        let better = format!("{canonical}_{}", rest.join("_"));
        let better = better.trim_end_matches('_');
        return Some(("REQ-NAME-02", format!("'{canonical}' is the usual verb: '{better}'")));
    }
    let words = expected.join("' or '");
    let message = format!(
        "'{first}' is not one of the usual verbs; the description should say why ('because') and name '{words}'"
    );
    Some(("REQ-NAME-07", message))
}

fn stop_without_cancel(operation: &Operation, names: &[&str]) -> Option<Advice> {
    let resource = operation.name().as_str().strip_prefix("stop_")?;
    let cancel = format!("cancel_{resource}");
    let missing = operation.category() == Category::Execute && !names.contains(&cancel.as_str());
    missing.then(|| {
        let message =
            format!("'cancel' covers pending and running executions alike; offer '{cancel}' as well");
        ("REQ-NAME-04", message)
    })
}

/// A name that speaks of another category than the declared one needs an explanation.
fn category_against_name(operation: &Operation) -> Option<Advice> {
    let name = operation.name().as_str();
    let said = classify_name(name).filter(|said| *said != operation.category())?;
    (!gives_a_reason(operation.description())).then(|| {
        let declared = operation.category();
        let message = format!("the name speaks of {said}, the category is {declared}; the description should say why ('because')");
        ("REQ-CLASS-07", message)
    })
}

/// Serious consequences are declared, not left to the category's default.
fn undeclared_danger(operation: &Operation) -> Option<Advice> {
    const SERIOUS_WORDS: [&str; 7] = ["bulk", "truncate", "all", "wipe", "drop", "destroy", "purge"];
    const SERIOUS_PHRASES: [&str; 4] = ["irreversib", "permanent", "cannot be undone", "can not be undone"];
    if operation.danger_declared || !operation.category().is_mutating() {
        return None;
    }
    let name = operation.name().as_str();
    let description = operation.description().to_lowercase();
    let why = if let Some(word) = name.split('_').find(|word| SERIOUS_WORDS.contains(word)) {
        format!("its name says '{word}'")
    } else if SERIOUS_PHRASES.iter().any(|phrase| description.contains(phrase)) {
        "its description says that nothing brings back what it does".to_owned()
    } else if operation.category() == Category::Delete {
        "it deletes".to_owned()
    } else {
        return None;
    };
    Some(("REQ-CLASS-08", format!("{why}, so it should declare 'dangerous' or a danger level")))
}

/// A parameter's description says more than its name does.
fn description(param: &Param) -> Option<Advice> {
    let own = match &param.deprecated {
        Some(_) => param.description.split_once(". ").map_or("", |(_, own)| own),
        None => &param.description,
    };
    // Notes in brackets behind it were added by the registry.
    let own = own.split('(').next().unwrap_or_default().trim().trim_end_matches('.');
    let bare = own.to_lowercase().replace([' ', '-'], "_");
    let fault = if own.is_empty() {
        "has no description"
    } else if bare == param.name() {
        "is described by its name alone"
    } else {
        return None;
    };
    Some(("REQ-INTRO-24", format!("parameter '{}' {fault}; say what it means", param.name())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{danger::DangerLevel, define};

    fn operation(category: Category, name: &str, description: &str) -> define::Operation {
        let operation = define::Operation::new(category, name, description);
        if category == Category::Update {
            return operation.param(define::Param::new("input", "object", "The fields to change"));
        }
        operation
    }

    fn findings(operations: Vec<define::Operation>) -> Vec<Finding> {
        lint(&Registry::builder("lint").operations(operations).build().unwrap())
    }

    fn rules(definition: define::Operation) -> Vec<&'static str> {
        findings(vec![definition]).iter().map(|finding| finding.rule).collect()
    }

    /// REQ-NAME-02
    #[test]
    fn synonyms_of_the_canonical_verbs_are_told_the_usual_name() {
        use Category::{Create, Delete, Execute, Read, Update};
        for (category, name, better) in [
            (Create, "add_user", "create_user"),
            (Read, "fetch_document", "get_document"),
            (Read, "find_items", "list_items"),
            (Update, "edit_profile", "update_profile"),
            (Delete, "remove_account", "delete_account"),
            (Execute, "run_workflow", "execute_workflow"),
        ] {
            let found = findings(vec![operation(category, name, "Does it")]);
            let finding = found.iter().find(|finding| finding.rule == "REQ-NAME-02").unwrap();
            assert_eq!(finding.operation, name);
            assert!(finding.message.contains(&format!("'{better}'")), "{}", finding.message);
        }
        for (category, name) in [
            (Create, "create_user"),
            (Read, "get_user"),
            (Read, "list_users"),
            (Update, "update_user"),
            (Execute, "execute_job"),
            (Execute, "cancel_job"),
        ] {
            assert_eq!(rules(operation(category, name, "Does it")), [""; 0], "{name}");
        }
    }

    /// REQ-NAME-04
    #[test]
    fn stop_stands_beside_cancel_not_in_its_place() {
        let stop = || operation(Category::Execute, "stop_job", "Like cancel, because engines call it stop");
        assert_eq!(rules(stop()), ["REQ-NAME-04"]);
        let cancel = operation(Category::Execute, "cancel_job", "Ends a job");
        assert_eq!(findings(vec![stop(), cancel]), []);
    }

    /// REQ-NAME-05
    #[test]
    fn the_verb_comes_first() {
        let found = findings(vec![operation(Category::Create, "item_create", "Adds an item")]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].rule, "REQ-NAME-05");
        assert!(found[0].message.contains("'create_item'"), "{}", found[0].message);
        assert_eq!(rules(operation(Category::Create, "create_item", "Adds an item")), [""; 0]);
        assert_eq!(findings(vec![]), [], "introspect itself is above advice");
    }

    /// REQ-NAME-06 REQ-NAME-07
    #[test]
    fn an_unusual_verb_is_explained() {
        for (description, expected) in [
            ("Upload a file", vec!["REQ-NAME-07"]),
            ("Upload a file; create is meant", vec!["REQ-NAME-07"]),
            ("Upload a file, as is the custom with files", vec!["REQ-NAME-07"]),
            ("Upload a file; says upload rather than create by the custom of file stores", vec![]),
        ] {
            assert_eq!(rules(operation(Category::Create, "upload_file", description)), expected);
        }
        let reads = "Search items, because a list takes no free text";
        assert_eq!(rules(operation(Category::Read, "search_items", reads)), [""; 0]);
        assert_eq!(rules(operation(Category::Read, "ponder_item", "Thinks")), ["REQ-NAME-07"]);
    }

    /// REQ-CLASS-06
    #[test]
    fn names_classify_as_the_published_table_says() {
        use Category::{Create, Delete, Execute, Read, Update};
        for (name, category) in [
            ("create_user", Create),
            ("upload_file", Create),
            ("list_users", Read),
            ("search", Read),
            ("get_status", Read),
            ("update_profile", Update),
            ("rename_file", Update),
            ("delete_user", Delete),
            ("purge_cache", Delete),
            ("execute_job", Execute),
            ("cancel_task", Execute),
        ] {
            assert_eq!(classify_name(name), Some(category), "{name}");
        }
        assert_eq!(classify_name("bulk_delete_users"), Some(Delete));
        assert_eq!(classify_name("account_check"), None, "only a verb in front speaks");
    }

    /// REQ-CLASS-07
    #[test]
    fn ambiguous_names_follow_the_published_order_and_need_a_reason() {
        assert_eq!(classify_name("upsert_item"), Some(Category::Create));
        assert_eq!(classify_name("send_email"), Some(Category::Execute));
        assert_eq!(classify("ponder_item", true), Some(Category::Read));
        assert_eq!(classify("ponder_item", false), None);
        assert_eq!(classify("delete_item", true), Some(Category::Delete), "a hint talks no verb down");
        let view = |description| rules(operation(Category::Read, "delete_view", description));
        assert_eq!(view("The view of deletions"), ["REQ-CLASS-07"]);
        assert_eq!(view("The view of deletions; a noun, by convention of the product"), [""; 0]);
        assert_eq!(rules(operation(Category::Create, "upsert_item", "Stores an item")), ["REQ-NAME-07"]);
    }

    /// REQ-CLASS-08
    #[test]
    fn serious_operations_declare_their_danger() {
        use Category::{Create, Delete, Execute, Update};
        let because = "Done because of custom, not create, update, delete or execute";
        for (category, name, description) in [
            (Delete, "delete_item", "Deletes an item"),
            (Update, "update_all_items", "Changes items"),
            (Execute, "bulk_execute_jobs", "Starts jobs"),
            (Delete, "truncate_table", because),
            (Create, "create_fork", "Irreversible"),
        ] {
            assert_eq!(rules(operation(category, name, description)), ["REQ-CLASS-08"], "{name}");
            let declared = operation(category, name, description).danger(DangerLevel::Destructive, &["gone"]);
            assert_eq!(rules(declared), [""; 0], "{name}");
            let marked = define::Operation { dangerous: true, ..operation(category, name, description) };
            assert_eq!(rules(marked), [""; 0], "{name}");
        }
        assert_eq!(rules(operation(Category::Read, "list_all_items", "Lists everything")), [""; 0]);
    }

    /// REQ-INTRO-24
    #[test]
    fn parameters_are_described_in_more_than_their_name() {
        let with = |param| rules(operation(Category::Read, "get_item", "Gets an item").param(param));
        for description in ["", "item_id", "Item ID", "item-id."] {
            let param = define::Param::new("item_id", "string", description);
            assert_eq!(with(param.clone()), ["REQ-INTRO-24"], "{description}");
            assert_eq!(with(param.alias("itemId").nullable()), ["REQ-INTRO-24"], "{description}");
        }
        assert_eq!(with(define::Param::new("item_id", "string", "Which item")), [""; 0]);
        let mut old = define::Param::new("item_id", "string", "");
        old.deprecated = Some(define::Deprecation { replacement: Some("id".into()), removal_date: None });
        assert_eq!(with(old.clone()), ["REQ-INTRO-24"]);
        old.description = "Which item".into();
        assert_eq!(with(old), [""; 0]);
    }
}
