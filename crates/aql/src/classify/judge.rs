//! From evidence to a judgement. Where two rules disagree, the one that expects more harm wins and a person is asked.

use super::{
    Evidence, Facts, Judgement, Override, Provenance, SURE_PERCENT_MIN, Trust, description,
    parameters::{self, Chooser, Hint},
    patterns,
    verbs::Verb,
    words,
};
use crate::{category::Category, danger::DangerLevel};

/// Verbs of reading that run whatever they are given.
const OPEN_ENDED: &[&str] = &["query", "evaluate"];

/// Verbs that do not tell whether they read or write.
const VAGUE: &[&str] =
    &["execute", "exec", "run", "perform", "manage", "handle", "request", "call", "invoke"];

/// Verbs of a description that may only tell how an answer comes about ("runs an analysis").
const SOFT: &[&str] = &[
    "execute", "exec", "run", "perform", "invoke", "call", "request", "test", "take", "generate", "make",
    "build", "resolve", "convert", "use",
];

/// Verbs that tell nothing of the deed.
const EMPTY: &[&str] = &["manage", "administer", "perform", "handle"];

/// Nouns whose change decides who may do things.
const RIGHTS: &[&str] = &[
    "permission",
    "permissions",
    "role",
    "roles",
    "access",
    "restriction",
    "restrictions",
    "credential",
    "credentials",
    "password",
    "secret",
    "secrets",
    "token",
    "tokens",
    "acl",
];

/// A judgement on its way.
struct Draft {
    category: Category,
    danger: DangerLevel,
    percent: u8,
    reasons: Vec<String>,
    evidence: Vec<Evidence>,
    /// The verb that decided, where one did.
    verb: Option<&'static str>,
    /// Whether the name alone decided.
    named: bool,
    /// Whether the name has no verb whatever.
    unnamed: bool,
    /// Whether a verb spoke of changing stored state, so that no phrase can make it a reader.
    changes: bool,
}

pub(super) fn judge(facts: &Facts<'_>, given: &Override) -> Judgement {
    let mut draft = by_verbs(facts);
    draft.by_choices(facts);
    draft.by_emptiness();
    draft.by_phrases(facts.description);
    draft.by_parameters(facts);
    draft.raise(facts);
    let mut category_from = Provenance::HeuristicClassification;
    let mut danger_from = Provenance::HeuristicClassification;
    let before = (draft.category, draft.danger);
    draft.by_annotations(facts);
    if draft.category != before.0 {
        category_from = Provenance::DirectSourceMetadata;
    }
    if draft.danger != before.1 {
        danger_from = Provenance::DirectSourceMetadata;
    }
    if draft.percent < SURE_PERCENT_MIN && draft.reasons.is_empty() {
        draft.reasons.push("the evidence is thin".to_owned());
    }
    if *given != Override::default() {
        draft.apply(given);
        if given.category.is_some() {
            category_from = Provenance::ManualOverride;
        }
        if given.danger.is_some() || given.category == Some(Category::Read) {
            danger_from = Provenance::ManualOverride;
        }
    }
    Judgement {
        category: draft.category,
        category_from,
        danger: draft.danger,
        danger_from,
        confidence_percent: draft.percent.min(100),
        reasons: draft.reasons,
        evidence: draft.evidence,
    }
}

/// What name and description say together.
fn by_verbs(facts: &Facts<'_>) -> Draft {
    let name = super::name::read(facts.name, facts.server);
    let mut lead = description::lead(facts.description);
    if lead.is_empty() {
        lead = facts.title.map(description::lead).unwrap_or_default();
    }
    let instead_of = name.as_ref().and_then(|said| said.instead_of);
    lead.retain(|verb| Some(verb.word) != instead_of);
    let told = description::heaviest(&lead);
    let named = name.as_ref().and_then(|said| description::heaviest(&said.verbs));
    let sure = name.as_ref().is_some_and(|said| said.sure);
    let mut draft = Draft {
        category: Category::Execute,
        danger: DangerLevel::Destructive,
        percent: 20,
        reasons: Vec::new(),
        evidence: Vec::new(),
        verb: None,
        named: sure,
        unnamed: named.is_none(),
        changes: named.into_iter().chain(told).any(|verb| changes(&verb)),
    };
    if let Some(verb) = named {
        draft.note("name", speaks_for("the name's", verb));
    }
    if let Some(verb) = told {
        draft.note("description", speaks_for("the description's", verb));
    }
    match (named, told) {
        (Some(named), told) if sure => draft.by_sure_name(named, told),
        (Some(named), Some(told)) => draft.by_both(named, told),
        (Some(named), None) => {
            draft.take(named, 50);
            draft.at_least(DangerLevel::Reversible, "name", "only one word of the name tells".to_owned());
            draft.reasons.push(format!("only the name's word '{}' tells its effect", named.word));
        }
        (None, Some(told)) => {
            draft.take(told, 65);
            draft.at_least(DangerLevel::Reversible, "description", "only the description tells".to_owned());
            draft.reasons.push(format!("only the description's word '{}' tells its effect", told.word));
        }
        (None, None) => {
            draft.note("unknown", "no known verb, so EXECUTE and destructive".to_owned());
            draft.reasons.push("neither name nor description has a known verb".to_owned());
        }
    }
    // Where a resource may not exist yet, creating is what is done to it.
    let creates = name.iter().flat_map(|said| &said.verbs).any(|verb| verb.category == Category::Create);
    if sure && creates && draft.category == Category::Update {
        draft.category = Category::Create;
    }
    let several = name.is_some_and(|said| said.verbs.len() > 1);
    if several && draft.category == Category::Create {
        draft.at_least(DangerLevel::Destructive, "name", "it may change something already there".to_owned());
    }
    draft
}

fn speaks_for(whose: &str, verb: Verb) -> String {
    format!("{whose} verb '{}' speaks for {} and {}", verb.word, verb.category, verb.danger)
}

impl Draft {
    fn note(&mut self, rule: &'static str, says: String) {
        self.evidence.push(Evidence { rule, says });
    }

    fn take(&mut self, verb: Verb, percent: u8) {
        (self.category, self.danger, self.percent) = (verb.category, verb.danger, percent);
        self.verb = Some(verb.word);
    }

    fn by_sure_name(&mut self, named: Verb, told: Option<Verb>) {
        self.take(named, 85);
        let Some(told) = told else { return };
        if told.category == named.category {
            self.percent = 95;
        } else if named.category == Category::Read && !told.doubtful && !softens(named, told) {
            self.take(told, 50);
            self.named = false;
            self.reasons.push(disagree(named, told));
        } else if told.category.is_mutating() == named.category.is_mutating() {
            self.danger = self.danger.max(told.danger);
        } else {
            self.percent = 75;
        }
    }

    /// A word of the name that may be a noun is decided by the description.
    fn by_both(&mut self, named: Verb, told: Verb) {
        if told.category == named.category {
            self.take(told, 85);
            self.danger = self.danger.max(named.danger);
        } else if softens(named, told) {
            self.take(named, SURE_PERCENT_MIN);
        } else if told.doubtful && told.category == Category::Read {
            self.take(named, 50);
            self.reasons.push(disagree(named, told));
        } else {
            self.take(told, SURE_PERCENT_MIN);
        }
    }

    /// A parameter that chooses among deeds tells more than a vague verb.
    fn by_choices(&mut self, facts: &Facts<'_>) {
        let Some(chooser) = parameters::chooser(facts.schema) else { return };
        let telling = self.named && self.category.is_mutating() && !self.is_vague();
        if telling && !chooser.required {
            return;
        }
        let verbs = known_values(&chooser);
        let Some(heaviest) = description::heaviest(&verbs) else { return };
        let text = format!("a value of '{}' is '{}', {}", chooser.parameter, heaviest.word, heaviest.danger);
        if heaviest.category.is_mutating() {
            self.changes = self.changes || verbs.iter().any(changes);
            self.note("choices", text);
            let silent = self.verb.is_none_or(|verb| EMPTY.contains(&verb));
            if silent && verbs.len() == chooser.values.len() {
                // Every value is known, so the tool is too, whatever its own name leaves out.
                self.take(heaviest, 75);
                self.danger = DangerLevel::Destructive.max(heaviest.danger);
                self.reasons.clear();
            } else if !self.category.is_mutating() {
                self.category = heaviest.category;
                self.percent = 60;
            }
            self.danger = self.danger.max(heaviest.danger);
        } else if verbs.len() == chooser.values.len() && !telling {
            self.note("choices", format!("every value of '{}' reads", chooser.parameter));
            (self.category, self.danger) = (Category::Read, DangerLevel::Safe);
            self.percent = self.percent.max(75);
            self.reasons.clear();
        }
    }

    /// A verb that tells nothing of the deed is one to look at, unless the choices told enough.
    fn by_emptiness(&mut self) {
        if let Some(verb) =
            self.verb.filter(|verb| EMPTY.contains(verb) && self.category == Category::Execute)
        {
            self.percent = self.percent.min(60);
            self.reasons.push(format!("'{verb}' does not tell its effect"));
        }
    }

    fn is_vague(&self) -> bool {
        self.verb.is_none_or(|verb| VAGUE.contains(&verb))
    }

    fn by_phrases(&mut self, text: &str) {
        let undecided = self.category == Category::Execute && self.is_vague() && !self.changes;
        let promise = description::only_reads(text);
        if let Some(phrase) = promise.filter(|_| undecided) {
            self.note("phrases", format!("the description says '{phrase}'"));
            self.category = Category::Read;
            // A promise is the server's own word, which is enough to try but not to be called safe.
            (self.danger, self.percent) = (DangerLevel::Reversible, SURE_PERCENT_MIN);
            self.reasons.clear();
        }
        if let Some(method) = description::writing_method(text)
            && self.category == Category::Read
            && (self.unnamed || (self.percent <= SURE_PERCENT_MIN && promise.is_none()))
        {
            self.note("phrases", format!("the description names the method {method}"));
            (self.category, self.danger, self.percent) = (Category::Execute, DangerLevel::Reversible, 50);
            self.reasons.push(format!("it seems to read, but through {method}"));
        }
    }

    fn by_parameters(&mut self, facts: &Facts<'_>) {
        let hints = parameters::hints(facts.schema);
        let first =
            |wanted: Hint| hints.iter().find(|(hint, _)| *hint == wanted).map(|(_, name)| name.clone());
        let open = self.verb.is_some_and(|verb| OPEN_ENDED.contains(&verb));
        let promised = description::only_reads(facts.description).is_some();
        if open && !promised {
            let text = "a query can do all its language allows".to_owned();
            self.at_least(DangerLevel::Reversible, "open", text);
        }
        let runs = self.category == Category::Execute || (open && !promised);
        if let Some(name) = first(Hint::Runs).filter(|_| runs) {
            self.category = Category::Execute;
            self.at_least(DangerLevel::Dangerous, "parameters", format!("it runs whatever '{name}' says"));
            self.reasons.push(format!("its effect depends on '{name}'"));
        }
        if let Some(name) = first(Hint::Saves).filter(|_| self.category == Category::Read) {
            self.note("parameters", format!("it writes a file where '{name}' says"));
            (self.category, self.danger, self.percent) = (Category::Create, DangerLevel::Reversible, 60);
            self.reasons.push(format!("it reads, but may write a file where '{name}' says"));
        }
        if let Some(name) = first(Hint::Forces).filter(|_| self.category.is_mutating()) {
            self.at_least(DangerLevel::Destructive, "parameters", format!("'{name}' takes a safety away"));
        }
        let body = first(Hint::Writes).is_some();
        if self.category == Category::Read && !body && first(Hint::Reads).is_some() {
            self.note("parameters", "it takes pages or filters, as readers do".to_owned());
            self.percent = (self.percent + 5).min(99);
        }
    }

    /// What raises the danger of something that writes.
    fn raise(&mut self, facts: &Facts<'_>) {
        if !self.category.is_mutating() {
            return;
        }
        if let Some((level, phrase)) = description::raised(facts.description) {
            self.at_least(level, "phrases", format!("the description says '{phrase}'"));
        }
        if self.category == Category::Update {
            if let Some(word) = description::overwrites(facts.description) {
                let text = format!("'{word}': it changes something already there, or much together");
                self.at_least(DangerLevel::Destructive, "phrases", text);
            }
            let parts = words::of_name(facts.name);
            if let Some(word) = parts.iter().find(|part| RIGHTS.contains(&part.as_str())) {
                let text = format!("'{word}' decides who may do things");
                self.at_least(DangerLevel::Destructive, "rights", text);
            }
        }
        if let Some((level, pattern)) = patterns::level(facts.name, facts.server) {
            self.at_least(level, "patterns", format!("the name fits '{pattern}'"));
        }
    }

    fn at_least(&mut self, level: DangerLevel, rule: &'static str, says: String) {
        if self.danger < level {
            self.danger = level;
            self.note(rule, format!("{says}, so {level}"));
        }
    }

    fn by_annotations(&mut self, facts: &Facts<'_>) {
        let claims = facts.annotations;
        if facts.trust == Trust::Ignored {
            return;
        }
        match claims.read_only_hint {
            Some(false) if self.category == Category::Read => {
                self.note("annotations", "readOnlyHint is false".to_owned());
                self.reasons.push("it seems to read, but its server says otherwise".to_owned());
                (self.category, self.danger) = (Category::Execute, DangerLevel::Reversible);
                self.percent = self.percent.min(60);
            }
            Some(true) if self.category.is_mutating() => {
                self.note("annotations", "readOnlyHint is true".to_owned());
                if facts.trust == Trust::Trusted {
                    (self.category, self.danger, self.percent) = (Category::Read, DangerLevel::Safe, 90);
                    self.reasons.clear();
                } else {
                    self.reasons.push("its server calls it read-only, which nothing else shows".to_owned());
                }
            }
            _ => {}
        }
        match claims.destructive_hint {
            // Neither reading nor adding destroys anything, so it must be something else.
            Some(true) if matches!(self.category, Category::Read | Category::Create) => {
                self.note("annotations", "destructiveHint is true".to_owned());
                if self.category == Category::Read {
                    self.reasons.push("it seems to read, but its server calls it destructive".to_owned());
                    self.percent = self.percent.min(60);
                }
                (self.category, self.danger) = (Category::Execute, self.danger.max(DangerLevel::Destructive));
            }
            Some(true) if self.category.is_mutating() => {
                self.at_least(DangerLevel::Destructive, "annotations", "destructiveHint is true".to_owned());
            }
            Some(false)
                if facts.trust == Trust::Trusted
                    && self.category.is_mutating()
                    && self.danger > DangerLevel::Reversible =>
            {
                self.note("annotations", "destructiveHint is false, and the server is trusted".to_owned());
                self.danger = DangerLevel::Reversible;
            }
            _ => {}
        }
    }

    /// What the operator says settles it. A category alone brings its own danger where the old one cannot be.
    fn apply(&mut self, given: &Override) {
        if let Some(category) = given.category {
            self.note("override", format!("the operator says {category}"));
            self.category = category;
            self.danger = match category {
                Category::Read => DangerLevel::Safe,
                _ => self.danger.max(category.default_danger()),
            };
        }
        if let Some(danger) = given.danger {
            self.note("override", format!("the operator says {danger}"));
            self.danger = danger;
        }
        if given.category.is_some() {
            self.percent = 100;
            self.reasons.clear();
        }
    }
}

/// Whether the description's verb only tells how the reading comes about that the name speaks of. A query is no such
/// reading: running one is what writes.
fn softens(named: Verb, told: Verb) -> bool {
    named.category == Category::Read && SOFT.contains(&told.word) && !OPEN_ENDED.contains(&named.word)
}

fn changes(verb: &Verb) -> bool {
    matches!(verb.category, Category::Create | Category::Update | Category::Delete)
}

fn disagree(named: Verb, told: Verb) -> String {
    format!(
        "the name says '{}' ({}), the description '{}' ({})",
        named.word, named.category, told.word, told.category
    )
}

/// The verbs among a chooser's values.
pub(super) fn known_values(chooser: &Chooser) -> Vec<Verb> {
    let verbs = chooser.values.iter().filter_map(|value| super::name::read(value, None));
    verbs.filter_map(|said| description::heaviest(&said.verbs)).collect()
}
