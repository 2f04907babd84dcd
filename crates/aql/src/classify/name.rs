//! What a tool's name says. The verb may stand anywhere: servers put their own name, or the noun, before it.

use super::{
    verbs::{self, Verb},
    words,
};
use crate::category::Category;

/// What was read from a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Said {
    /// All verbs that count; more than one where the name joins them ("create or update").
    pub verbs: Vec<Verb>,
    /// Whether the verb stands where only a verb can.
    pub sure: bool,
    /// The verb that only looks something up here, because of its object.
    pub instead_of: Option<&'static str>,
}

/// Words that may stand before the verb without being one.
const MODIFIERS: &[&str] = &["bulk", "batch", "api", "mcp", "tool", "auto", "async", "do", "please", "multi"];

/// Words after which a name tells circumstances ("issues_by_date"), never its verb.
const PREPOSITIONS: &[&str] = &[
    "by", "from", "with", "for", "via", "in", "on", "as", "using", "of", "to", "into", "and-then", "without",
];

/// Verbs that only look something up where their object is one of these.
const READS_OF: &[(&str, &[&str])] = &[
    ("resolve", &["id", "ids", "name", "names", "url", "address", "reference", "path", "host"]),
    ("convert", &["time", "date", "currency", "unit", "units", "timezone", "coordinates"]),
    (
        "generate",
        &["types", "query", "sql", "locator", "code", "commands", "summary", "schema", "embeddings"],
    ),
];

pub(super) fn read(name: &str, server: Option<&str>) -> Option<Said> {
    let all = words::of_name(name);
    let server = server.map(words::of_name).unwrap_or_default();
    let skipped = all.iter().take_while(|word| MODIFIERS.contains(&word.as_str())).count();
    let mut words: Vec<&str> = all.iter().skip(skipped).map(String::as_str).collect();
    if let [first, second, ..] = words.as_slice()
        && server.iter().any(|part| part == first)
        && verbs::plain(second).is_some()
    {
        words.remove(0);
    }
    let tail = words.iter().skip(1).position(|word| PREPOSITIONS.contains(word));
    words.truncate(tail.map_or(words.len(), |place| place + 1));
    if let Some(joined) = words.iter().find_map(|word| joined(word)) {
        return Some(Said { verbs: joined, sure: true, instead_of: None });
    }
    let (first, last) = (words.first()?, words.last()?);
    let found: Vec<(usize, Verb)> = words
        .iter()
        .enumerate()
        .filter_map(|(place, word)| Some((place, looked_up(word, last).or_else(|| verbs::plain(word))?)))
        .collect();
    let instead_of = words.iter().find(|word| looked_up(word, last).is_some());
    let instead_of = instead_of.and_then(|word| verbs::plain(word)).map(|verb| verb.word);
    let one = |verb: Verb, sure: bool| Some(Said { verbs: vec![verb], sure, instead_of });
    let firm = found.iter().find(|(_, verb)| !verb.doubtful);
    let leading = verbs::plain(first).map(|verb| looked_up(first, last).unwrap_or(verb));
    if let Some(verb) = leading.filter(|verb| verb.doubtful && verb.category == Category::Read) {
        // "search_index_delete" ends with its verb; of "list_delete_markers" only the description can tell.
        let ends_otherwise = verbs::plain(last).filter(|end| !end.doubtful && end.category.is_mutating());
        let alone = !found.iter().any(|(_, other)| !other.doubtful && other.category.is_mutating());
        return one(ends_otherwise.unwrap_or(verb), ends_otherwise.is_some() || alone);
    }
    if let (Some(verb), Some((_, firm))) = (leading, firm)
        && verb.category.is_mutating()
        && verb.doubtful
        && firm.category == Category::Read
    {
        // "mark_all_read" or "comment_get": only the description can tell.
        return one(verb, false);
    }
    if let Some((place, verb)) = firm {
        let joined = words.iter().skip(place + 1).take(2).any(|word| matches!(*word, "or" | "and"));
        let others = found.iter().filter(|(other, _)| joined && *other > *place && *other <= place + 2);
        let mut verbs = vec![*verb];
        verbs.extend(others.map(|(_, verb)| *verb));
        return Some(Said { verbs, sure: true, instead_of });
    }
    if let Some(verb) = leading {
        // "queue_details" may be a noun's name, "post_message" can only be a deed.
        return one(verb, words.len() > 1 && !verbs::looked_at(last));
    }
    if verbs::looked_at(last) {
        return verbs::plain("view").and_then(|verb| one(verb, false));
    }
    // Behind a prefix that nobody knows, "list" still reads "pull_requests".
    let second = found.first().filter(|(place, verb)| *place == 1 && verb.category == Category::Read);
    second.or(found.last()).and_then(|(_, verb)| one(*verb, false))
}

/// "createorupdate" written as one word.
fn joined(word: &str) -> Option<Vec<Verb>> {
    let (one, other) = word.split_once("or")?;
    Some(vec![verbs::plain(one)?, verbs::plain(other)?])
}

fn looked_up(word: &str, object: &str) -> Option<Verb> {
    let (_, objects) = READS_OF.iter().find(|(verb, _)| *verb == word)?;
    objects.contains(&object).then(|| verbs::plain("lookup")).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verbs_of(name: &str, server: Option<&str>) -> (String, bool) {
        read(name, server).map_or_else(Default::default, |said| {
            (said.verbs.iter().map(|verb| verb.word).collect::<Vec<_>>().join(" "), said.sure)
        })
    }

    /// REQ-CLASS-06 REQ-CLASS-07
    #[test]
    fn the_table_of_the_specification_holds() {
        use Category::{Create, Delete, Execute, Read, Update};
        for (name, category) in [
            ("create_user", Create),
            ("upload_file", Create),
            ("upsert_item", Create),
            ("list_users", Read),
            ("search", Read),
            ("get_status", Read),
            ("update_profile", Update),
            ("rename_file", Update),
            ("delete_user", Delete),
            ("purge_cache", Delete),
            ("execute_job", Execute),
            ("cancel_task", Execute),
            ("send_email", Execute),
        ] {
            assert_eq!(read(name, None).unwrap().verbs[0].category, category, "{name}");
        }
    }

    #[test]
    fn the_verb_is_found_wherever_it_stands() {
        for (name, verbs, sure) in [
            ("get_user", "get", true),
            ("deleteUser", "delete", true),
            ("cloud_disk_delete", "delete", true),
            ("contact-list-update", "update", true),
            ("list_deleted_items", "list", true),
            ("search_index_delete", "delete", true),
            ("security_scan_start", "start", true),
            ("scan_start", "start", true),
            ("list_delete_markers", "list", false),
            ("bulk-remove-tags", "remove", true),
            ("resources_create_or_update", "create update", true),
            ("tests_createorupdate", "create update", true),
            ("find_tasks_by_update", "find", true),
            ("network_request", "request", false),
            ("resolve_library_id", "lookup", true),
            ("resolve_thread", "resolve", true),
            ("node_status", "view", false),
            ("queue_details", "queue", false),
            ("acme_list_pull_requests", "list", false),
            ("bus_queue_details", "view", false),
            ("mark_all_read", "mark", false),
            ("frobnicate", "", false),
            ("", "", false),
        ] {
            assert_eq!(verbs_of(name, None), (verbs.to_owned(), sure), "{name}");
        }
    }

    #[test]
    fn a_server_s_name_in_front_is_no_verb() {
        assert_eq!(verbs_of("search_update_index", Some("search-mcp")), ("update".to_owned(), true));
        assert_eq!(verbs_of("search_documents", Some("search-mcp")), ("search".to_owned(), true));
    }
}
