use super::*;

const MODE: &str = "MCP_AQL_ENDPOINT_MODE";
const PROFILE: &str = "MCP_AQL_ENDPOINT_PROFILE";
const PREFIX: &str = "MCP_AQL_TOOL_PREFIX";

fn shown(checked: &Checked) -> (&str, &str, &str) {
    (checked.server.mode.as_str(), checked.server.profile.name(), checked.server.prefix.as_str())
}

/// LREQ-MODE-01
#[test]
fn the_environment_selects_the_mode() {
    for (given, mode) in [
        ("semantic", "semantic"),
        ("single", "single"),
        ("all", "all"),
        ("discrete", "discrete"),
        ("crude", "semantic"),
        ("", "semantic"),
    ] {
        let checked = place().environment(&[(MODE, given)]).load().unwrap();
        assert_eq!(shown(&checked), (mode, "crude", ""), "{given}");
    }
    let error = place().environment(&[(MODE, "banana")]).load().unwrap_err();
    assert_eq!(
        error.to_string(),
        "environment variable 'MCP_AQL_ENDPOINT_MODE': endpoint mode 'banana' is none of semantic, single, all, discrete"
    );
}

/// LREQ-MODE-02
#[test]
fn the_environment_selects_the_profile() {
    let checked = place().environment(&[(PROFILE, "discover")]).load().unwrap();
    assert_eq!(shown(&checked), ("semantic", "discover", ""));
    let own = "[profile.ops]\nfamilies = [{ name = 'all_of_it', purpose = 'All.', operations = ['*'] }]";
    let checked = place().file("aqueduct.toml", own).environment(&[(PROFILE, "ops")]).load().unwrap();
    assert_eq!(shown(&checked).1, "ops");
    let error = place().file("aqueduct.toml", own).environment(&[(PROFILE, "discovr")]).load().unwrap_err();
    assert_eq!(
        error.to_string(),
        "environment variable 'MCP_AQL_ENDPOINT_PROFILE': \
         profile 'discovr' is not known; the known ones are 'crude', 'discover', 'ops'"
    );
    assert_eq!(error.help(), Some("did you mean 'discover'?"));
}

/// LREQ-MCP-17
#[test]
fn a_flag_beats_the_environment_which_beats_the_file() {
    let file = "[server]\nhttp = '127.0.0.1:1'\nmode = 'single'\nprofile = 'discover'\nprefix = 'file_'";
    let environment = [
        (MODE, "all"),
        (PROFILE, "crude"),
        (PREFIX, "env_"),
        ("AQUEDUCT_HTTP", "127.0.0.1:2"),
        ("AQUEDUCT_DATA", "env"),
    ];
    let by_file = place().file("aqueduct.toml", file).load().unwrap();
    assert_eq!((shown(&by_file), by_file.server.http.port()), (("single", "discover", "file_"), 1));

    let by_environment = place().file("aqueduct.toml", file).environment(&environment).load().unwrap();
    assert_eq!((shown(&by_environment), by_environment.server.http.port()), (("all", "crude", "env_"), 2));
    assert_eq!(by_environment.store.data.to_str(), Some("env"));

    let flags = |flags: &mut Overrides| {
        flags.http = Some("127.0.0.1:3".to_owned());
        flags.data = Some("flag".into());
        flags.mode = Some("semantic".to_owned());
        flags.profile = Some("discover".to_owned());
        flags.prefix = Some(String::new());
    };
    let by_flag = place().file("aqueduct.toml", file).environment(&environment).flags(flags).load().unwrap();
    assert_eq!((shown(&by_flag), by_flag.server.http.port()), (("semantic", "discover", ""), 3));
    assert_eq!(by_flag.store.data.to_str(), Some("flag"));
}

#[test]
fn mode_crude_asks_for_the_profile_where_it_is_asked_for() {
    let file = "[server]\nprofile = 'discover'";
    let stronger = place().file("aqueduct.toml", file).environment(&[(MODE, "crude")]).load().unwrap();
    assert_eq!(shown(&stronger).1, "crude");
    let weaker = place().environment(&[(MODE, "crude")]).flags(|f| f.profile = Some("discover".to_owned()));
    assert_eq!(shown(&weaker.load().unwrap()).1, "discover");
    let error = load_text("[server]\nmode = 'crude'\nprofile = 'discover'").unwrap_err();
    assert_eq!(
        error.to_string(),
        "aqueduct.toml:3:11: mode 'crude' means the profile 'crude', not 'discover'"
    );
}

#[test]
fn a_mistake_does_not_hide_behind_a_stronger_source() {
    let flag =
        place().file("aqueduct.toml", "[server]\nmode = 'banana'").flags(|f| f.mode = Some("all".to_owned()));
    assert!(flag.load().unwrap_err().to_string().starts_with("aqueduct.toml:2:8: endpoint mode 'banana'"));
}

#[test]
fn a_wrong_flag_is_named() {
    let text = || Some("x".to_owned());
    for (name, wrong) in [
        ("--http", Overrides { http: text(), ..Overrides::default() }),
        ("--mode", Overrides { mode: text(), ..Overrides::default() }),
        ("--profile", Overrides { profile: text(), ..Overrides::default() }),
        ("--prefix", Overrides { prefix: text(), ..Overrides::default() }),
        ("--data", Overrides { data: Some("".into()), ..Overrides::default() }),
    ] {
        let error = place().flags(|flags| *flags = wrong).load().unwrap_err();
        assert!(error.to_string().starts_with(&format!("flag '{name}': ")), "{error}");
        assert_eq!(
            (error.place(), error.span(), error.source_name()),
            (&super::super::Place::Flag(name), None, None)
        );
    }
}

/// LREQ-MCP-18
#[test]
fn prefixes_are_checked_and_long_ones_warned_of() {
    for bad in ["GitHub_", "git-hub_", "github"] {
        let error = place().environment(&[(PREFIX, bad)]).load().unwrap_err();
        let expected =
            format!("environment variable 'MCP_AQL_TOOL_PREFIX': tool prefix '{bad}' must hold only");
        assert!(error.to_string().starts_with(&expected), "{error}");
        let error = load_text(format!("[server]\nprefix = '{bad}'")).unwrap_err();
        assert_eq!(error.line_column(), Some((2, 10)));
    }
    let warned = |prefix: &str| place().environment(&[(PREFIX, prefix)]).load().unwrap().warnings;
    assert_eq!(warned("github_"), [""; 0]);
    assert_eq!(warned(&format!("{}_", "a".repeat(19))), [""; 0]);
    let warnings = warned(&format!("{}_", "a".repeat(20)));
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].contains("has 21 characters"), "{warnings:?}");
}

/// REQ-MODE-06
#[test]
fn a_file_defines_profiles_of_any_families() {
    let text = r#"
        server.profile = "crude_and_authorize"
        [profile.crude_and_authorize]
        families = [
            { name = "create", purpose = "C.", categories = ["CREATE"] },
            { name = "read", purpose = "R.", categories = ["READ"] },
            { name = "update", purpose = "U.", categories = ["UPDATE"] },
            { name = "delete", purpose = "D.", categories = ["DELETE"] },
            { name = "execute", purpose = "E.", categories = ["EXECUTE"] },
            { name = "authorize", purpose = "A.", operations = ["approve_*"] },
        ]
        [[profile.other.families]]
        name = "inspect"
        purpose = "Looking."
        categories = ["READ"]
    "#;
    let checked = load_text(text).unwrap();
    let families: Vec<_> =
        checked.server.profile.families().iter().map(|family| family.name.as_str()).collect();
    assert_eq!(families, ["create", "read", "update", "delete", "execute", "authorize"]);
    let place =
        checked.server.profile.place(&"approve_it".parse().unwrap(), aql::category::Category::Execute);
    assert_eq!(place, Some(5));
}

/// REQ-MODE-06
#[test]
fn what_is_no_profile_is_refused_at_its_place() {
    let family =
        |inner: &str| format!("[profile.p]\nfamilies = [\n{{ name = 'a', purpose = 'A.', {inner} }},\n]");
    let two = |inner: &str| {
        format!(
            "[profile.p]\nfamilies = [\n{{ name = 'a', purpose = 'A.', categories = ['READ'] }},\n{{ {inner} }},\n]"
        )
    };
    for (text, message) in [
        (
            "[profile.crude]\nfamilies = []".to_owned(),
            "1:10: profile 'crude' is shipped and cannot be redefined",
        ),
        ("[profile.discover]\nfamilies = []".to_owned(), "1:10: profile 'discover' is shipped"),
        (
            "[profile.'My profile']\nfamilies = []".to_owned(),
            "1:10: profile name 'My profile' must be snake_case",
        ),
        ("[profile.p]\nfamilies = []".to_owned(), "2:12: profile 'p' has no families; give it one or more"),
        (family("categories = []"), "3:10: family 'a' has neither categories nor operations"),
        (family("categories = ['QUERY']"), "3:45: semantic category 'QUERY' is none of CREATE,"),
        (family("operations = ['']"), "3:45: the pattern is empty"),
        (family("colour = 'red'"), "3:31: 'profile.p.families[0].colour' is not a known key"),
        (two("name = 'b', categories = ['UPDATE']"), "4:1: 'profile.p.families[1]' has no 'purpose'"),
        (two("name = 'b', purpose = ' ', categories = ['UPDATE']"), "4:25: family 'b' has an empty purpose"),
        (
            two("name = 'B', purpose = 'B.', categories = ['UPDATE']"),
            "4:10: endpoint family 'B' must be snake_case",
        ),
        (
            two("name = 'a', purpose = 'B.', categories = ['UPDATE']"),
            "4:10: profile 'p' names the family 'a' twice",
        ),
        (
            two("name = 'b', purpose = 'B.', categories = ['UPDATE', 'read']"),
            "4:55: profile 'p' gives category READ to both 'a' and 'b'; each category has one family",
        ),
        (
            "[server]\nprofile = 'q'\n".to_owned() + &family("categories = ['READ']"),
            "2:11: profile 'q' is not known; the known ones are 'crude', 'discover', 'p'",
        ),
    ] {
        let error = load_text(&text).unwrap_err();
        assert!(error.to_string().starts_with(&format!("aqueduct.toml:{message}")), "{text}\n{error}");
    }
}
