//! `[upstream.NAME]` and `[server] pinned`.

use aql::{category::Category, trust::TrustLevel};

use super::*;

fn upstream(text: &str) -> Upstream {
    let mut upstreams = load_text(text).unwrap().upstreams;
    assert_eq!(upstreams.len(), 1, "{text}");
    upstreams.remove(0)
}

/// Program, arguments, variables and directory.
type Parts<'a> = (String, Vec<&'a str>, Vec<(&'a str, &'a str)>, Option<String>);

fn parts(link: &Link) -> Parts<'_> {
    let Link::Command { program, args, env, cwd } = link else { panic!("{link:?}") };
    let env = env.iter().map(|(name, value)| (name.as_str(), value.expose())).collect();
    let cwd = cwd.as_ref().map(|path| path.display().to_string());
    (program.display().to_string(), args.iter().map(Secret::expose).collect(), env, cwd)
}

#[test]
fn a_command_alone_gets_every_default() {
    let upstream = upstream("[upstream.files]\ncommand = 'mcp-files'");
    assert_eq!(parts(&upstream.link), ("mcp-files".to_owned(), vec![], vec![], None));
    assert_eq!((upstream.name.as_str(), upstream.prefix.as_str()), ("files", "files_"));
    assert_eq!((upstream.trust, upstream.trust()), (None, TrustLevel::Validated));
    assert_eq!((upstream.call_timeout.as_secs(), upstream.start_timeout.as_secs()), (120, 30));
    assert_eq!((upstream.max_concurrent_calls, upstream.per_session), (64, false));
    assert_eq!(upstream.idle, Some(Duration::from_mins(30)));
    assert_eq!(upstream.recheck, Some(Duration::from_mins(60)));
    assert_eq!(upstream.definitions, Definitions::Pin);
    assert!(upstream.tools.allows("anything") && upstream.overrides.0.is_empty());
}

#[test]
fn every_key_of_a_full_upstream_takes_effect() {
    let checked = load_text(FULL).unwrap();
    let github = &checked.upstreams[0];
    let (program, args, env, cwd) = parts(&github.link);
    assert_eq!(program, "npx");
    assert_eq!(args, ["-y", "@modelcontextprotocol/server-github", "--home=/home/a", "$$5"]);
    assert_eq!(env, [("GITHUB_TOKEN", "ghp_secret"), ("EMPTY", "")]);
    assert_eq!(cwd.as_deref(), Some("/home/a/src"));
    assert_eq!((github.prefix.as_str(), github.trust), ("gh_", Some(TrustLevel::Certified)));
    assert_eq!((github.call_timeout.as_secs(), github.start_timeout.as_secs()), (300, 60));
    assert_eq!((github.max_concurrent_calls, github.per_session), (4, true));
    assert_eq!((github.idle, github.recheck), (None, Some(Duration::from_mins(5))));
    assert_eq!(github.definitions, Definitions::Follow);
    for (tool, allowed) in
        [("create_issue", true), ("listRepos", true), ("delete_issue", false), ("other", false)]
    {
        assert_eq!(github.tools.allows(tool), allowed, "{tool}");
    }
    let adapter = github.adapter.as_ref().and_then(|path| path.file_name());
    assert_eq!(adapter.map(|name| name.to_string_lossy()).as_deref(), Some("github-adapter.md"));
    let said = &github.overrides.0["listRepos"];
    assert_eq!((said.category, said.danger), (Some(Category::Read), Some(DangerLevel::Safe)));
    let Link::Http { url, headers, bearer } = &checked.upstreams[1].link else { panic!() };
    assert_eq!(url, "https://docs.example.com/mcp?key=url_secret");
    assert_eq!(headers, &[("x-api-key".to_owned(), Secret::new("header_secret"))]);
    assert_eq!(bearer, &Some(Bearer::Command(vec!["pass".to_owned(), "show".to_owned(), "docs".to_owned()])));
    let docs = &checked.upstreams[1];
    assert!(docs.forward_auth && docs.per_session && !github.forward_auth);
}

/// REQ-ISEC-05
#[test]
fn only_tokens_that_are_checked_here_are_passed_on_and_no_two_callers_share_what_they_open() {
    const TOKENS: &str = "[[auth.tokens]]\nprincipal = 'ann'\nsha256 = '95d5f6de8e90c5c37c5be9cd67c38edc3d5dc4f9a3a8c6dd0d7b4d2d4c8e1f00'\n";
    let section = |lines: &str| format!("[upstream.a]\nforward_auth = true\n{lines}");
    assert!(load_text(format!("{TOKENS}{}", section("url = 'http://127.0.0.1:1/mcp'"))).is_ok());
    for (text, message) in [
        (section("url = 'http://127.0.0.1:1/mcp'"), "'[auth]' has no tokens"),
        (format!("{TOKENS}{}", section("command = 'c'")), "no 'url' to forward anything to"),
        (
            format!("{TOKENS}{}", section("url = 'http://127.0.0.1:1/mcp'\nper_session = false")),
            "'forward_auth' with 'per_session = false'",
        ),
    ] {
        let error = load_text(text).unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
        assert!(error.help().is_some());
    }
    let off = "[upstream.a]\nforward_auth = false\ncommand = 'c'";
    assert!(!upstream(off).forward_auth);
}

#[test]
fn paths_and_programs_start_where_paths_do() {
    for (command, expected) in [
        ("npx", "npx"),
        ("/opt/x", "/opt/x"),
        ("~/bin/x", "/home/a/bin/x"),
        ("${HOME}/x", "/home/a/x"),
        ("./x", "BASE/./x"),
        ("sub/x", "BASE/sub/x"),
    ] {
        let place = place().file("aqueduct.toml", format!("[upstream.a]\ncommand = '{command}'\ncwd = 'd'"));
        let base = place.directory.path().display().to_string();
        let upstreams = place.load().unwrap().upstreams;
        let (program, _, _, cwd) = parts(&upstreams[0].link);
        assert_eq!(program, expected.replace("BASE", &base), "{command}");
        assert_eq!(cwd, Some(format!("{base}/d")));
    }
}

#[test]
fn names_are_normalised_and_no_two_may_become_the_same() {
    let named = upstream("[upstream.'Brave Search']\ncommand = 'c'");
    assert_eq!((named.name.as_str(), named.prefix.as_str()), ("brave_search", "brave_search_"));
    let order = load_text("[upstream.z]\ncommand = 'c'\n[upstream.a]\ncommand = 'c'").unwrap().upstreams;
    assert_eq!(order.iter().map(|upstream| upstream.name.as_str()).collect::<Vec<_>>(), ["z", "a"]);
    for (names, message) in [
        (["a-b", "a_b"], "3:11: upstreams 'a-b' and 'a_b' would both be called 'a_b'"),
        (["GitHub", "github"], "3:11: upstreams 'GitHub' and 'github' would both be called 'github'"),
        (["日本語", "b"], "1:11: upstream name '日本語' has no letter from a to z and no digit"),
        (["", "b"], "1:11: upstream name '' has no letter"),
        (["\u{202e}x!", "b"], ""),
    ] {
        let text = names.map(|name| format!("[upstream.'{name}']\ncommand = 'c'\n")).concat();
        match load_text(text) {
            Ok(checked) => assert_eq!((message, checked.upstreams[0].name.as_str()), ("", "x")),
            Err(error) => {
                assert!(error.to_string().starts_with(&format!("aqueduct.toml:{message}")), "{error}");
                assert!(error.help().is_some());
            }
        }
    }
    let long = |count: usize| load_text(format!("[upstream.{}]\ncommand = 'c'", "a".repeat(count)));
    assert!(long(64).is_ok());
    assert!(long(65).unwrap_err().to_string().ends_with("has more than 64 characters"));
}

/// Two are the same also if one of them is not used: turning it on must not break what works.
#[test]
fn an_upstream_that_is_off_is_checked_for_its_form_alone() {
    let off = "[upstream.a]\nenabled = false\n";
    for fine in [
        "command = 'c'\nargs = ['${NONE}']",
        "command = '${NONE}'",
        "command = 'c'\ncwd = '${NONE}'",
        "url = '${NONE}/mcp'",
        "url = 'http://x'\nheaders = { A = '${NONE}' }",
        "url = 'http://x'\nbearer_env = 'NONE'",
    ] {
        let checked = load_text(format!("{off}{fine}")).unwrap();
        assert!(checked.upstreams.is_empty() && checked.warnings.is_empty(), "{fine}");
    }
    for wrong in ["", "command = 'c'\nargs = ['$']", "command = 'c'\nurl = 'http://x'", "url = 'ftp://x'"] {
        assert!(load_text(format!("{off}{wrong}")).is_err(), "{wrong}");
    }
    assert!(load_text(format!("{off}command = 'c'\n[upstream.A]\ncommand = 'c'")).is_err());
}

/// One server's missing token is no reason to withhold the others.
#[test]
fn an_upstream_waits_for_all_its_variables_and_the_others_do_not() {
    for (written, variables) in [
        ("command = 'c'\nargs = ['${NONE}', 'hunter2']", &["NONE"][..]),
        (
            "command = '${NONE}/x'\nenv = { A = '${B}', C = '${NONE}${D}' }\ncwd = '${E}'",
            &["NONE", "B", "D", "E"],
        ),
        ("url = 'https://${HOST}/?k=hunter2'\nheaders = { A = 'hunter2${B}' }", &["B", "HOST"]),
        ("url = 'https://x/${A}'\nbearer_env = 'B'", &["A", "B"]),
    ] {
        let text = format!("[upstream.One]\n{written}\n[upstream.two]\ncommand = 'd'");
        let checked = load_text(&text).unwrap();
        let names: Vec<_> = checked.upstreams.iter().map(|upstream| upstream.name.as_str()).collect();
        assert_eq!((names, checked.warnings.len(), checked.left_out.len()), (vec!["two"], 0, 1), "{text}");
        let left_out = &checked.left_out[0];
        assert_eq!(left_out.name, "one");
        assert_eq!(left_out.variables, variables);
        let warning = left_out.warning();
        assert!(variables.iter().all(|name| warning.contains(&format!("'{name}'"))), "{warning}");
        assert!(warning.contains("export ") && !warning.to_lowercase().contains("at "), "{warning}");
        assert!(!format!("{left_out:?}{warning}").contains("hunter2"), "{left_out:?}");
        let set: Vec<_> = variables.iter().map(|name| (*name, "v")).collect();
        let set = place().file("aqueduct.toml", &text).environment(&set).load().unwrap();
        assert_eq!((set.upstreams.len(), set.left_out.len()), (2, 0), "{text}");
    }
    // A mistake is a mistake whether the variables are set or not.
    for wrong in ["command = 'c'\nargs = ['${NONE}', '$']", "url = 'ftp://x'\nheaders = { A = '${NONE}' }"] {
        assert!(load_text(format!("[upstream.a]\n{wrong}")).is_err(), "{wrong}");
    }
    let same = "[upstream.a]\ncommand = '${NONE}'\n[upstream.A]\ncommand = 'c'";
    assert!(load_text(same).is_err());
}

/// What is written under `[upstream.a]`, the place and message, and the help.
const MISTAKES: &[(&str, &str, &str)] = &[
    ("", "1:11: upstream 'a' has neither 'command' nor 'url'", "set 'command'"),
    ("command = 'c'\nurl = 'http://x'", "3:7: upstream 'a' has both 'command' and 'url'", "keep one"),
    ("command = ''", "2:11: the command of 'upstream.a' is empty", "write the program"),
    ("command = ' '", "2:11: the command of 'upstream.a' is empty", "write the program"),
    ("command = '~bob/x'", "2:11: '~bob/x' names the home of another user", "write the whole path"),
    ("command = 'c'\nheaders = { A = 'b' }", "3:13: 'upstream.a.headers' goes with 'url', which", "remove"),
    ("command = 'c'\nbearer_env = 'T'", "3:14: 'upstream.a.bearer_env' goes with 'url', which", "remove"),
    ("command = 'c'\nbearer_command = ['t']", "3:18: 'upstream.a.bearer_command' goes with 'url'", "remove"),
    ("url = 'http://x'\nargs = ['a']", "3:9: 'upstream.a.args' goes with 'command', which", "remove"),
    ("url = 'http://x'\nenv = { A = 'b' }", "3:9: 'upstream.a.env' goes with 'command', which", "remove"),
    ("url = 'http://x'\ncwd = '/'", "3:7: 'upstream.a.cwd' goes with 'command', which", "remove"),
    ("command = 'c'\nargs = ['x', '$y']", "3:14: 'upstream.a.args[1]' holds a '$' on its own", "write '$$'"),
    ("command = 'c'\nenv = { 'A=B' = 'x' }", "3:9: 'upstream.a.env' has 'A=B', which cannot name", ""),
    ("command = 'c'\nenv = { '' = 'x' }", "3:9: 'upstream.a.env' has '', which cannot name", ""),
    ("command = 'c'\nenv = { A = \"\\u0000\" }", "3:13: 'upstream.a.env.A' holds a null character", ""),
    ("command = 'c'\nargs = [\"\\u0000\"]", "3:9: 'upstream.a.args[0]' holds a null character", ""),
    ("command = 'c'\ncwd = ''", "3:7: 'upstream.a.cwd' is empty", ""),
    ("command = 'c'\ncwd = '~bob/x'", "3:7: 'upstream.a.cwd' names the home of another user", "write the"),
    (
        "command = 'c'\nenv = { A = 1 }",
        "3:13: 'upstream.a.env.A' must be a string, but is a whole number",
        "",
    ),
    ("url = 'x'", "2:7: 'upstream.a.url' must begin with 'http://' or 'https://'", "write it as in"),
    ("url = ''", "2:7: 'upstream.a.url' is not a URL", "write it as in"),
    ("url = 'ftp://x/y'", "2:7: 'upstream.a.url' must begin with", "write it as in"),
    ("url = 'file:///etc/passwd'", "2:7: 'upstream.a.url' ", "write it as in"),
    ("url = 'http://'", "2:7: 'upstream.a.url' ", "write it as in"),
    ("url = 'http://a b'", "2:7: 'upstream.a.url' is not a URL", "write it as in"),
    ("url = 'http://u:p@x/'", "2:7: 'upstream.a.url' holds a name or password", "send them in 'headers'"),
    ("url = 'http://x'\nheaders = { 'a b' = 'c' }", "3:13: 'upstream.a.headers' has 'a b', which cannot", ""),
    ("url = 'http://x'\nheaders = { é = 'c' }", "3:", ""),
    (
        "url = 'http://x'\nheaders = { A = \"b\\nc\" }",
        "3:17: 'upstream.a.headers.a' is not a value",
        "keep to",
    ),
    (
        "url = 'http://x'\nheaders = { A = 'b', a = 'c' }",
        "3:22: 'upstream.a.headers' names 'a' twice",
        "keep",
    ),
    (
        "url = 'http://x'\nbearer_env = 'T'\nheaders = { Authorization = 'b' }",
        "4:13: 'upstream.a' has both a bearer token and the header 'authorization'",
        "keep one of them",
    ),
    (
        "url = 'http://x'\nbearer_env = 'T'\nbearer_command = ['t']",
        "4:18: 'upstream.a' has both 'bearer_env' and 'bearer_command'",
        "keep one of them",
    ),
    ("url = 'http://x'\nbearer_env = 'ghp-x'", "3:14: 'upstream.a.bearer_env' is not the name", "write the"),
    (
        "url = 'http://x'\nbearer_command = []",
        "3:18: 'upstream.a.bearer_command' is empty",
        "write a program",
    ),
    ("url = 'http://x'\nbearer_command = ['']", "3:19: the command of 'upstream.a' is empty", "write the"),
    (
        "command = 'c'\nprefix = 'GH'",
        "3:10: prefix 'GH' must be snake_case and end with",
        "write it as in 'a_'",
    ),
    ("command = 'c'\nprefix = 'gh'", "3:10: prefix 'gh' must be", "write it"),
    ("command = 'c'\nprefix = '_'", "3:10: prefix '_' must be", "write it"),
    ("command = 'c'\ntrust = 'high'", "3:9: trust level 'high' is none of untested, generated,", ""),
    ("command = 'c'\ndefinitions = 'x'", "3:15: definitions 'x' is none of pin, follow", ""),
    ("command = 'c'\nallow = ['a', '']", "3:15: the pattern is empty", "write a tool's name"),
    ("command = 'c'\ndeny = ['']", "3:9: the pattern is empty", "write a tool's name"),
    ("command = 'c'\n[upstream.a.tools.x]", "3:19: nothing is said of the tool 'x'", "set its 'category'"),
    ("command = 'c'\n[upstream.a.tools.x]\ndanger = 'z'", "4:10: danger level 'z' is none of safe,", ""),
    ("command = 'c'\n[upstream.a.tools.x]\ncategory = 'z'", "4:12: semantic category 'z' is none of", ""),
    ("comand = 'c'", "2:1: 'upstream.a.comand' is not a known key", "did you mean 'command'?"),
    (
        "command = 'c'\ntimeout_seconds = 0",
        "3:19: 'upstream.a.timeout_seconds' is 0, but must be between",
        "",
    ),
];

#[test]
fn each_mistake_has_its_place_its_sentence_and_its_help() {
    for (text, message, help) in MISTAKES {
        let text = format!("[upstream.a]\n{text}");
        let error = load_text(&text).unwrap_err();
        assert!(error.to_string().starts_with(&format!("aqueduct.toml:{message}")), "{text}\n{error}");
        match error.help() {
            Some(found) => assert!(!help.is_empty() && found.starts_with(help), "{text}\n{found}"),
            None => assert_eq!(*help, "", "{text}"),
        }
        // A published runner takes "at x" for a stack frame, also within a longer word.
        let said = format!("{} {}", error.message(), error.help().unwrap_or_default()).to_lowercase();
        assert!(!said.contains("at "), "{said}");
        assert_eq!(error.source_text().map(str::len), Some(text.len()));
        assert!(text.get(error.span().unwrap()).is_some(), "{text}");
    }
}

#[test]
fn pinned_operations_are_names_each_listed_once() {
    let pinned =
        |list: &str| load_text(format!("[server]\npinned = [{list}]")).map(|found| found.server.pinned);
    assert_eq!(pinned("'b_c', 'a'").unwrap(), ["b_c", "a"]);
    for (list, message) in [
        ("'a', 'B'", "operation name 'B' must be snake_case"),
        ("''", "operation name '' must be snake_case"),
        ("'a', 'a'", "'a' is listed twice"),
    ] {
        assert!(pinned(list).unwrap_err().message().starts_with(message), "{list}");
    }
    let many = |count: usize| (0..count).map(|number| format!("'o{number}'")).collect::<Vec<_>>().join(",");
    assert_eq!(pinned(&many(16)).unwrap().len(), 16);
    assert_eq!(pinned(&many(17)).unwrap_err().message(), "more than 16 operations are pinned");
}

#[test]
fn what_works_but_is_better_known_is_told() {
    let warned = |text: &str| load_text(format!("[upstream.a]\n{text}")).unwrap().warnings;
    assert_eq!(warned("url = 'http://x/mcp'"), [""; 0]);
    assert_eq!(warned("url = 'http://127.0.0.1:1/mcp'\nheaders = { A = 'b' }"), [""; 0]);
    assert_eq!(warned("url = 'http://[::1]:1/mcp'\nheaders = { A = 'b' }"), [""; 0]);
    assert_eq!(warned("url = 'https://x/mcp'\nheaders = { A = 'b' }"), [""; 0]);
    assert!(warned("url = 'http://x/mcp'\nheaders = { A = 'b' }")[0].contains("over plain 'http'"));
    assert!(warned("url = 'https://x/'\nbearer_env = 'NONE'")[0].contains("'NONE', which is not set"));
    let transport = "[upstream.a]\nurl = 'https://x/'\nheaders = { Accept = 'b', X = 'y' }";
    let checked = load_text(transport).unwrap();
    assert!(checked.warnings[0].contains("'upstream.a.headers.accept' is set by the transport"));
    let Link::Http { headers, .. } = &checked.upstreams[0].link else { panic!() };
    assert_eq!(headers.len(), 1);
}

#[test]
fn secrets_are_neither_in_errors_nor_shown_for_debugging() {
    let secret = "hunter2";
    for text in [
        "command = 'c'\nargs = ['hunter2', '$']",
        "command = 'c'\nargs = ['hunter2$']",
        "command = 'c'\nenv = { A = 'hunter2', B = 7 }",
        "command = 'c'\nenv = { A = ['hunter2'] }",
        "command = 'c'\nenv = 'hunter2'",
        "command = 'c'\ntoken = 'hunter2'",
        "command = 'c'\ncwd = '~hunter2'",
        "command = 'c'\nenv = { A = '''\nhunter2\n''' }\nx = 1",
        "command = 'c'\nenv = { A = 'hunter2",
        "command = 'c'\nargs = [\n'hunter2',\n'b",
        "url = 'hunter2'",
        "url = 'ftp://x/?k=hunter2'",
        "url = 'https://x:hunter2@y/'",
        "url = 'http://x'\nbearer_env = 'hunter2-'",
        "url = 'http://x'\nbearer_command = ['x', \"hunter2\\u0000\"]",
        "url = 'http://x'\nheaders = { A = \"hunter2\\n\" }",
        "url = 'http://x'\nheaders = { A = 'hunter2', a = 'b' }",
    ] {
        let error = load_text(format!("[upstream.a]\n{text}")).unwrap_err();
        assert!(!format!("{error} {error:?}").contains(secret), "{text}\n{error:?}");
    }
    let full = load_text(FULL).unwrap();
    let written = format!("{full:?} {:?}", File::parse("full", FULL).unwrap());
    for secret in ["ghp_secret", "url_secret", "header_secret", "server-github", "show"] {
        assert!(FULL.contains(secret) && !written.contains(secret), "{secret}");
    }
    assert_eq!(full.upstreams[1].link.shown(), "https://docs.example.com/mcp");
    let environment = Environment::new([("TOKEN", secret)]);
    assert!(!format!("{environment:?}").contains(secret));
}
