use super::{bounds::sections, *};

/// What is written, the place and message, and the help.
const MISTAKES: &[(&str, &str, &str)] = &[
    // keys
    ("[server]\nhtpp = 'x'", "2:1: 'server.htpp' is not a known key", "did you mean 'http'?"),
    ("[sever]", "1:2: 'sever' is not a known key", "did you mean 'server'?"),
    ("max_nesting_depth = 9", "1:1: 'max_nesting_depth' is not a known key", "it belongs under '[limits]'"),
    (
        "[entities]\n'a/b~c' = 1",
        "2:1: 'entities.a/b~c' is not a known key",
        "the keys of 'entities' are 'enabled', 'index'",
    ),
    (
        "zzz = 1",
        "1:1: 'zzz' is not a known key",
        "the keys of the file are 'auth', 'entities', 'executions', 'inspector', 'limits', 'operator', 'profile', 'safety', 'server', 'store', 'upstream'",
    ),
    (
        "[store]\ndata = 'x'\n[limits]\nb = 1\na = 1",
        "4:1: 'limits.b' is not a known key",
        "the keys of 'limits'",
    ),
    ("[server]\n[server]", "2:2: the file is not valid TOML: duplicate key", ""),
    ("[server]\nhttp = 'x'\nhttp = 'y'", "3:1: the file is not valid TOML: duplicate key", ""),
    ("[server\nhttp = 1", "1:8: the file is not valid TOML: unclosed table, expected ']'", ""),
    ("server = ", "1:10: the file is not valid TOML: ", ""),
    // types
    ("[server]\nhttp = 7171", "2:8: 'server.http' must be a string, but is a whole number", ""),
    ("[server]\n fast_path = 'no'", "2:14: 'server.fast_path' must be true or false, but is a string", ""),
    ("server = 1", "1:10: 'server' must be a table, but is a whole number", ""),
    ("[[server]]", "1:1: 'server' must be a table, but is an array", ""),
    ("auth.tokens = 'x'", "1:15: 'auth.tokens' must be an array, but is a string", ""),
    ("[safety]\nallow = ['a', 1]", "2:15: 'safety.allow[1]' must be a string, but is a whole number", ""),
    ("[safety]\nallow = '*'", "2:9: 'safety.allow' must be an array, but is a string", ""),
    (
        "[limits]\nmax_nesting_depth = 32.0",
        "2:21: 'limits.max_nesting_depth' must be a whole number, but is a number with a fraction",
        "",
    ),
    ("[store]\ndata = 1979-05-27", "2:8: 'store.data' must be a string, but is a date", ""),
    // missing
    (
        "\n[[auth.tokens]]\nprincipal = 'a'",
        "2:1: 'auth.tokens[0]' has no 'sha256'",
        "'sha256': The SHA-256 of",
    ),
    ("[profile.mine]", "1:1: 'profile.mine' has no 'families'", "'families': The families, each"),
    // a safety loop without its operations
    (
        "[safety]\nmax_danger = 'safe'\n[safety.loop]\nmode = 'enforcing'",
        "2:14: the safety loop is enforcing, but 'max_danger = \"safe\"' leaves out its execute_agent, record_execution_step,",
        "let these operations be called, or set",
    ),
    (
        "[safety]\nallow = ['list_*', 'get_*']\n[safety.loop]\nmode = 'monitoring'",
        "2:10: the safety loop is monitoring, but 'allow' leaves out its execute_agent,",
        "let these operations be called",
    ),
    (
        "[safety]\nallow = ['*_execution', 'execute_agent', 'verify_*']\n[safety.loop]\nmode = 'logging'",
        "2:10: the safety loop is logging, but 'allow' leaves out its record_execution_step",
        "let these operations be called",
    ),
    (
        "[safety]\ndeny = ['x', 'record_*']\n[safety.loop]\nmode = 'enforcing'",
        "2:14: the safety loop is enforcing, but 'record_*' under 'deny' leaves out its record_execution_step",
        "let these operations be called",
    ),
    (
        "[[safety.rule]]\noperations = ['verify_*']\nthen = 'deny'\n[safety.loop]\nmode = 'enforcing'",
        "5:8: the safety loop is enforcing, but a rule (",
        "let these operations be called",
    ),
    // quotas
    (
        "[[safety.quota]]\nmetric = 'requests_per_second'\nwarn = 1\npause = 2",
        "2:10: metric 'requests_per_second' is none of requests_per_minute, requests_per_hour,",
        "",
    ),
    (
        "[[safety.quota]]\nmetric = 'cost_per_day'\nwarn = 1",
        "1:1: 'safety.quota[0]' has no 'pause'",
        "'pause': Beyond",
    ),
    (
        "[[safety.quota]]\nmetric = 'cost_per_day'\nwarn = 'x'\npause = 2",
        "3:8: 'safety.quota[0].warn' must be a number, but is a string",
        "",
    ),
    (
        "[[safety.quota]]\nmetric = 'cost_per_day'\nwarn = -1\npause = 2",
        "3:8: 'warn' is -1, but must be between 0 and 1000000000000",
        "",
    ),
    (
        "[[safety.quota]]\nmetric = 'cost_per_day'\nwarn = nan\npause = 2",
        "3:8: 'warn' is NaN, but must be between 0 and 1000000000000",
        "",
    ),
    (
        "[[safety.quota]]\nmetric = 'requests_per_day'\nwarn = 1.5\npause = 2",
        "3:8: 'warn' is 1.5, but must be a whole number here",
        "",
    ),
    (
        "[[safety.quota]]\nmetric = 'cost_per_day'\nwarn = 3\npause = 2",
        "4:9: 'pause' is below 'warn'",
        "they are reached in the order warn, pause, hard_stop",
    ),
    (
        "[[safety.quota]]\nmetric = 'cost_per_day'\nwarn = 1\npause = 2.5\nhard_stop = 2.4",
        "5:13: 'hard_stop' is below 'pause'",
        "they are reached in the order",
    ),
    (
        "[[safety.quota]]\nmetric = 'cost_per_day'\nwarn = 1\npause = 2\nupstream = 'none'",
        "5:12: there is no upstream 'none'",
        "name one under '[upstream.NAME]'",
    ),
    (
        "[[safety.quota]]\nmetric = 'cost_per_day'\nwarn = 1\npause = 2\ncategory = 'BREAK'",
        "5:12: semantic category 'BREAK' is none of",
        "",
    ),
    (
        "[[safety.quota]]\nmetric = 'cost_per_day'\nwarn = 1\npause = 2\ncurrency = 'dollar'",
        "5:12: currency 'dollar' is not one like 'USD' or 'EUR'",
        "",
    ),
    (
        "[[safety.quota]]\nmetric = 'tokens_per_day'\nwarn = 1\npause = 2\ncurrency = 'USD'",
        "5:12: 'tokens_per_day' is not counted in a currency",
        "leave out 'currency'",
    ),
    (
        "[[safety.quota]]\nmetric = 'cost_per_day'\nwarn = 1\npause = 2\n[[safety.quota]]\nmetric = 'cost_per_day'\nwarn = 2\npause = 3",
        "6:10: there are two quotas of 'cost_per_day' for the same calls",
        "keep one of them",
    ),
    (
        "[upstream.a]\ncommand = 'x'\napi_limits = [{ scope = 'global', limit = 0, window = 'hour' }]",
        "3:43: 'api_limits.limit' is 0, but must be between 1 and 1000000000 calls",
        "",
    ),
    (
        "[upstream.a]\ncommand = 'x'\napi_limits = [{ scope = 'all', limit = 1, window = 'hour' }]",
        "3:25: scope 'all' is none of global, endpoint, category",
        "",
    ),
    (
        "[upstream.a]\ncommand = 'x'\napi_limits = [{ scope = 'endpoint', limit = 1, window = 'hour' }]",
        "3:25: the scope 'endpoint' needs 'endpoint'",
        "set 'endpoint'",
    ),
    (
        "[upstream.a]\ncommand = 'x'\napi_limits = [{ scope = 'global', endpoint = 'x', limit = 1, window = 'hour' }]",
        "3:46: 'endpoint' means nothing with the scope 'global'",
        "remove it",
    ),
    (
        "[upstream.a]\ncommand = 'x'\napi_limits = [{ scope = 'global', limit = 1, window = 'month' }]",
        "3:55: window 'month' is none of second, minute, hour, day",
        "",
    ),
    (
        "[upstream.a]\ncommand = 'x'\napi_limits = [{ scope = 'global', limit = 1, window = 'day', reset_header = 'a b' }]",
        "3:77: 'a b' is no name of an HTTP header",
        "",
    ),
    (
        "[upstream.a]\ncommand = 'x'\ncost = [{ cost_per_call = -1.0 }]",
        "3:27: 'cost_per_call' is -1, but must be between",
        "",
    ),
    // addresses
    (
        "[server]\nhttp = 'localhost:7171'",
        "2:8: 'localhost:7171' is not an IP address with a port",
        "write it as in '127.0.0.1:7171' or '[::1]:7171'",
    ),
    ("[server]\nallowed_hosts = ['a', 'http://b']", "2:23: 'http://b' is not a host", "write a name"),
    ("[server]\nallowed_hosts = ['*.b']", "2:18: '*.b' is not a host", "write a name"),
    ("[server]\nallowed_hosts = ['']", "2:18: '' is not a host", "write a name"),
    ("[server]\nallowed_origins = ['b.c']", "2:20: 'b.c' is not an origin", "write scheme and host"),
    ("[server]\nallowed_origins = ['http://b.c/']", "2:20: 'http://b.c/' is not an origin", "write scheme"),
    ("[server]\nallowed_origins = ['*']", "2:20: '*' is not an origin", "write scheme"),
    ("[server]\nallowed_origins = ['https://a@b']", "2:20: 'https://a@b' is not an origin", "write scheme"),
    // paths
    ("[store]\ndata = ''", "2:8: the path is empty", ""),
    ("[store]\ndata = '~bob/x'", "2:8: '~bob/x' names the home of another user", "write the whole path"),
    ("[store]\ndata = \"a\\u0000b\"", "2:8: the path 'a\\u{0}b' holds a null character", ""),
    // indexes
    (
        "[entities]\nindex = ['metadata.a', 'priority']",
        "2:24: 'priority' is not a path within 'metadata'",
        "write the keys with dots between, as in 'metadata.owner.team'",
    ),
    (
        "[entities]\nindex = ['metadata']",
        "2:10: 'metadata' is not a path within 'metadata'",
        "write the keys",
    ),
    ("[entities]\nindex = ['metadata..a']", "2:10: 'metadata..a' has an empty step", "write the keys"),
    ("[entities]\nindex = ['metadata.']", "2:10: 'metadata.' has an empty step", "write the keys"),
    (
        "[entities]\nindex = ['metadata.1.2.3.4.5.6.7.8.9.a.b.c.d.e.f.g']",
        "2:10: 'metadata.1.2.3.4.5.6.7.8.9.a.b.c.d.e.f.g' has more than 16 steps",
        "write the keys",
    ),
    (
        "[entities]\nindex = [\"metadata.a\\u0000\"]",
        "2:10: 'metadata.a\\u{0}' holds a control character",
        "write the keys",
    ),
    (
        "[entities]\nindex = ['metadata.a', 'metadata.b', 'metadata.a']",
        "2:38: 'metadata.a' is listed twice",
        "list each path once",
    ),
    // safety
    ("[safety]\ndeny = ['a', '']", "2:14: the pattern is empty", "write an operation's name"),
    (
        "[safety]\ndeny = ['delete-*']",
        "2:9: the pattern 'delete-*' can match no operation, since their names are snake_case",
        "write an operation's name",
    ),
    (
        "[safety]\nmax_danger = 'high'",
        "2:14: danger level 'high' is none of safe, reversible, destructive, dangerous, forbidden",
        "",
    ),
    (
        "[safety]\nwant_of_trust = 'allow'",
        "2:17: want_of_trust 'allow' is none of deny, confirm",
        "to allow it",
    ),
    ("[safety.matrix.mild]\ncertified = 'allow'", "1:16: danger level 'mild' is none of safe,", ""),
    ("[safety.matrix.safe]\nofficial = 'allow'", "2:1: trust level 'official' is none of untested,", ""),
    (
        "[safety.matrix.safe]\ncertified = 'ask'",
        "2:13: 'ask' is none of allow, confirm, deny, introspect_only",
        "",
    ),
    ("[safety.minimum_trust]\nread = 'low'", "2:8: trust level 'low' is none of untested,", ""),
    (
        "[safety.minimum_trust]\nwrites = 'low'",
        "2:1: 'safety.minimum_trust.writes' is not a known key",
        "the keys of",
    ),
    ("[safety.danger_patterns]\nsafe = ['a']", "2:1: a name makes nothing safe", "say it of a tool"),
    (
        "[safety.danger_patterns]\nforbidden = ['A']",
        "2:14: the pattern 'A' can match no operation",
        "write an",
    ),
    ("[[safety.rule]]\noperations = ['a']", "1:1: 'safety.rule[0]' has no 'then'", "'then': What then"),
    ("[[safety.rule]]\nthen = 'ask'", "2:8: 'ask' is none of allow, allow_unasked, confirm, deny", ""),
    (
        "[[safety.rule]]\nthen = 'allow_unasked'",
        "2:8: this rule would let every operation run unasked",
        "name the",
    ),
    (
        "[[safety.rule]]\nthen = 'deny'\noperations = []",
        "2:8: 'operations' of this rule is empty",
        "leave 'operations' out",
    ),
    ("[[safety.rule]]\nthen = 'deny'\ncallers = [' ']", "3:12: the pattern is empty", "write a name"),
    (
        "[[safety.rule]]\nthen = 'deny'\ncategories = ['WRITE']",
        "3:15: semantic category 'WRITE' is none of",
        "",
    ),
    ("[[safety.rule]]\nthen = 'deny'\nreason = ''", "3:10: the reason is empty", "say why"),
    (
        "[[safety.rule]]\nthen = 'deny'\nwhen = [{ param = 'a' }]",
        "3:19: the condition on 'a' has 0 tests",
        "give one of equals",
    ),
    (
        "[[safety.rule]]\nthen = 'deny'\nwhen = [{ param = 'a', less = 1, equals = 2 }]",
        "3:19: the condition on 'a' has 2 tests",
        "give one of equals",
    ),
    (
        "[[safety.rule]]\nthen = 'deny'\nwhen = [{ param = 'a..b', present = true }]",
        "3:19: the path 'a..b' has an empty step",
        "",
    ),
    (
        "[[safety.rule]]\nthen = 'deny'\nwhen = [{ param = 'a', regex = '(' }]",
        "3:32: '(' is no regular expression",
        "",
    ),
    (
        "[[safety.rule]]\nthen = 'deny'\nwhen = [{ param = 'a', one_of = [] }]",
        "3:19: it lists no value, so nothing could fit",
        "",
    ),
    (
        "[[safety.rule]]\nthen = 'deny'\nwhen = [{ param = 'a', equals = [1] }]",
        "3:33: 'safety.rule[0].when[0].equals' must be a string, a number, true or false, but is an array",
        "",
    ),
    (
        "[[safety.rule]]\nthen = 'deny'\nwhen = [{ param = 'a', greater = nan }]",
        "3:34: the bound must be a finite number",
        "",
    ),
];

#[test]
fn each_mistake_has_its_place_its_sentence_and_its_help() {
    for (text, message, help) in MISTAKES {
        let error = load_text(text).unwrap_err();
        assert!(error.to_string().starts_with(&format!("aqueduct.toml:{message}")), "{text}\n{error}");
        match error.help() {
            Some(found) => assert!(!help.is_empty() && found.starts_with(help), "{text}\n{found}"),
            None => assert_eq!(*help, "", "{text}"),
        }
        assert_eq!((error.source_name(), error.source_text()), (Some("aqueduct.toml"), Some(*text)));
        assert!(text.get(error.span().unwrap()).is_some(), "{text}");
        assert!(!error.message().contains(['`', '\n']), "{error}");
    }
}

#[test]
fn indexes_are_bounded() {
    let listed = |count: usize| {
        let paths: Vec<String> = (0..count).map(|number| format!("'metadata.p{number}'")).collect();
        load_text(format!("[entities]\nindex = [{}]", paths.join(", ")))
    };
    assert_eq!(listed(16).unwrap().entities.index.len(), 16);
    let error = listed(17).unwrap_err();
    assert!(error.to_string().ends_with("more than 16 paths are listed"), "{error}");
}

const HASH: &str = "2bd806c97f0e00af1a1fc3328fa763a9269723c8db8fac4f93af71db186d6e90";

fn token(principal: &str, sha256: &str) -> String {
    format!("[[auth.tokens]]\nprincipal = '{principal}'\nsha256 = '{sha256}'\n")
}

#[test]
fn tokens_are_hashes_of_different_principals() {
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let newline = "01ba4719c80b6fe911b091a7c05124b64eeece964e09c058ef8f9805daca546b";
    let digits = "the sha256 of principal 'a' must be 64 hexadecimal digits";
    for (text, message) in [
        (
            token("a", HASH) + &token("a", newline),
            "6:10: the sha256 of principal 'a' is that of an empty token",
        ),
        (token("a", HASH) + &token("a", &"1".repeat(64)), "5:13: principal 'a' is named twice"),
        (token("a", HASH) + &token("b", &HASH.to_uppercase()), "6:10: 'a' and 'b' have the same token"),
        (token("", HASH), "2:13: a principal must have a name, without spaces around it"),
        (token(" a", HASH), "2:13: a principal must have a name, without spaces around it"),
        (token(&"a".repeat(129), HASH), "2:13: a principal must be up to 128 printable characters"),
        (token("a", empty), "3:10: the sha256 of principal 'a' is that of an empty token"),
        (token("a", ""), &format!("3:10: {digits}")),
        (token("a", &HASH[1..]), &format!("3:10: {digits}")),
        (token("a", &format!("{HASH}0")), &format!("3:10: {digits}")),
        (token("a", &HASH.replace('2', "g")), &format!("3:10: {digits}")),
        (token("a", &HASH.replace('2', "é")), &format!("3:10: {digits}")),
    ] {
        let error = load_text(&text).unwrap_err();
        assert_eq!(error.to_string(), format!("aqueduct.toml:{message}"), "{text}");
        assert!(error.help().is_some() || message.contains("a principal must"), "{text}");
    }
    let tokens = load_text(token(&"é".repeat(128), HASH)).unwrap().auth.tokens;
    assert_eq!(tokens.len(), 1);
}

/// Who mistakes the key for the token's own has written a secret there.
#[test]
fn what_should_be_a_hash_is_not_repeated() {
    let error = load_text(token("a", "hunter2")).unwrap_err();
    assert!(!error.to_string().contains("hunter2") && !error.help().unwrap().contains("hunter2"));
    assert!(error.help().unwrap().contains("'printf %s TOKEN | sha256sum'"));
}

/// Whatever a key's type, anything of another type is refused by the key's name, never in serde's words.
#[test]
fn every_key_refuses_other_types_by_name() {
    let schema = schema();
    for (section, inner) in sections(&schema) {
        for (key, expected) in inner["properties"].as_object().into_iter().flatten() {
            let literals =
                [("string", "'x'"), ("integer", "1"), ("boolean", "true"), ("array", "[]"), ("object", "{}")];
            for (_, literal) in literals.iter().filter(|(kind, _)| *kind != expected["type"]) {
                let error = load_text(format!("[{section}]\n{key} = {literal}")).unwrap_err();
                assert!(error.message().starts_with(&format!("'{section}.{key}' must be ")), "{error}");
                assert_eq!(error.line_column(), Some((2, key.len() + 4)));
            }
        }
    }
}
