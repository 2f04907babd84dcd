use super::*;

fn shown(given: &str) -> String {
    text("note", given)
}

#[test]
fn values_are_hidden_behind_their_names_wherever_these_stand() {
    for (given, expected) in [
        ("Authorization:Bearer mF_9.B5f-4.1JqM", "Authorization:[redacted] [redacted]"),
        ("Authorization=Bearer mF_9.B5f-4.1JqM it", "Authorization=[redacted] [redacted] it"),
        (
            "\"Authorization\": \"Bearer mF_9.B5f-4.1JqM\", b",
            "\"Authorization\": \"[redacted] [redacted]\", b",
        ),
        ("{'Authorization':'Bearer a','b':1} c", "{'Authorization':'[redacted] [redacted]','b':1} c"),
        (
            "Authorization: Digest username=\"me\", response=\"a\"\nb",
            "Authorization: [redacted] [redacted]\", [redacted]\"\nb",
        ),
        ("authorization: Token abc\nb", "authorization: [redacted] [redacted]\nb"),
        ("Cookie:a=1; b=2\nc", "Cookie:[redacted]; [redacted]\nc"),
        ("username=bob&password=Hunter2Pass", "username=bob&password=[redacted]"),
        ("username=bob&password=Hunter2Pass&page=2", "username=bob&password=[redacted]&page=2"),
        ("/login?user=a&password=X", "/login?user=a&password=[redacted]"),
        ("INFO {\"user\":\"bob\",\"password\":\"X\"}", "INFO {\"user\":\"bob\",\"password\":\"[redacted]\"}"),
        ("{\"a\":1,\"password\":\"X\"} trailing", "{\"a\":1,\"password\":\"[redacted]\"} trailing"),
        ("{\"a\":1}\n{\"password\":\"X\"}\n", "{\"a\":1}\n{\"password\":\"[redacted]\"}\n"),
        ("{\"password\":\"a,b=c\",\"d\":1} e", "{\"password\":\"[redacted]\",\"d\":1} e"),
        ("{\"password\":\"a\\\"b\",\"d\":1} e", "{\"password\":\"[redacted]\",\"d\":1} e"),
        (
            "x=\"{\\\"password\\\":\\\"X\\\",\\\"d\\\":1}\"",
            "x=\"{\\\"password\\\":\\\"[redacted]\\\",\\\"d\\\":1}\"",
        ),
        (
            "{\"password\": \"correct horse\", \"d\": 1} e",
            "{\"password\": \"[redacted] [redacted]\", \"d\": 1} e",
        ),
        (
            "{\"url\":\"https://me:pw@host/\",\"password\":\"X\"} e",
            "{\"url\":\"https://REDACTED@host/\",\"password\":\"[redacted]\"} e",
        ),
        ("Server=h;Password=X;", "Server=h;Password=[redacted];"),
        ("Server=h;Password=X;Database=d", "Server=h;Password=[redacted];Database=d"),
        ("password = X and", "password = [redacted] and"),
        ("password : X and", "password : [redacted] and"),
        ("password =X and", "password =[redacted] and"),
        ("\"password\" : \"X\", b", "\"password\" : \"[redacted]\", b"),
        ("$config['password'] = 'X'; b", "$config['password'] = '[redacted]'; b"),
        ("$config['password']='X';b", "$config['password']='[redacted]';b"),
        ("PASSWORD=\nUSER=bob", "PASSWORD=\nUSER=bob"),
        ("connect(user=\"a\",password=\"X\")", "connect(user=\"a\",password=\"[redacted]\")"),
        ("level:info:password=X", "level:info:password=[redacted]"),
        ("one\\npassword=X", "one\\npassword=[redacted]"),
        ("password=Hun,ter2", "password=[redacted]"),
        ("password: -abc", "password: [redacted]"),
        ("DATABASE_URL=postgres://me:pw@db/x", "DATABASE_URL=postgres://REDACTED@db/x"),
        ("password=abc://def", "password=[redacted]"),
        ("x {\"credentials\":{\"password\":\"hunter2\"}}", "x {\"credentials\":{[redacted]}}"),
        ("{'secrets':{'api_key':'a}b','c':[1]}} x", "{'secrets':{[redacted]}} x"),
        ("{\"secrets\":[\"hunter2\",\"hunter3\"]} x", "{\"secrets\":[[redacted]]} x"),
        (
            "{\"secrets\": [\"hunter2\", \"hunter3\"], \"b\": 1} x",
            "{\"secrets\": [[redacted] [redacted]], \"b\": 1} x",
        ),
        ("credentials: {password: hunter2} x", "credentials: {[redacted] [redacted]} x"),
        ("credentials: {password: hunter2\nuser: bob", "credentials: {[redacted] [redacted]\nuser: bob"),
        (
            "credentials:\n  password: hunter2\n  user: bob",
            "credentials:\n  password: [redacted]\n  user: bob",
        ),
        ("secret: password: hunter2", "secret: password: [redacted]"),
        ("[ghp_0123456789abcdef,x]", "[[redacted],x]"),
        ("dXNlcjE6cGFzc3dvcmQxMjM0NTY=", "[redacted]"),
    ] {
        assert_eq!(shown(given), expected, "{given}");
        assert_eq!(shown(expected), expected, "twice is once");
        assert_eq!(long_way("note", given), expected, "{given}");
    }
}

#[test]
fn words_code_and_prose_stay_as_they_are() {
    for given in [
        "a = b, key = value; x := 1 and the password is wrong",
        "if password == other { return Err(Error::Password); }",
        "let token = lexer.next_token(); let token = next(a, b)",
        "use crate::token::Token; impl Token::Secret {}",
        "{\"a\":1,\"b\":{\"c\":\"d\"}} {\"e\":[1,2]} trailing",
        "user=bob&page=2;sort=name,desc?x={y}",
        "git log --format=%H:%s -- a/b.rs:12:4",
        "the bearer of this, a basic one (token), and a digest",
        "at 10:45:12, 2026-11-15T19:22:46Z: done",
        "C:\\Users\\me\\file.txt and \\n written out",
        "fn f(a: &str, b: Vec<u8>) -> Result<(), Error> { a?.b() }",
        "==== Section ==== x=y==z :: :smile: ::1 a=>b",
        "<a href=\"https://host/x?page=2\">word</a>",
        "it's a key: value, and isn't secret",
        "credentials: see: the manual",
    ] {
        assert_eq!(shown(given), given);
    }
}

#[test]
fn a_type_of_tokens_is_no_scheme() {
    // As much as `token = x` always was.
    assert_eq!(shown("let token: Token = x;"), "let token: [redacted] = [redacted];");
}

/// Nobody makes the recorder work for ever by what he writes.
#[test]
fn a_long_word_takes_no_longer_than_it_is_long() {
    for piece in [
        "(",
        ",",
        "=",
        ":",
        "\"",
        "a=",
        "a,b=",
        "password=(",
        "password=a,",
        "\"password\":\"a",
        "x://",
        "\\\"",
        "a=b,)",
        "\"=",
        "-----BEGIN PRIVATE KEY----- ",
    ] {
        for (first, last) in
            [("", ""), ("password=x", ""), ("a", "))))"), ("password=\"", "x"), ("", "-----END")]
        {
            let last = if last.starts_with(')') { last.repeat(25_000) } else { last.to_owned() };
            let given = format!("{first}{}{last}", piece.repeat(50_000));
            let started = std::time::Instant::now();
            let _ = long_way("note", &given);
            assert!(started.elapsed().as_secs() < 5, "{first}{piece}…{last}");
        }
    }
}
