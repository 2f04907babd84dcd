//! Addresses as they may be shown: without their users and what is secret in them.

use super::secrets::{is_looking, is_secret_key, tells_apart};

/// What stands where a secret stood, since brackets mean something else in an address.
const REDACTED: &str = "REDACTED";

/// An address without its user and the values in it that are secret. The rest stays, so that it can be judged.
pub(super) fn shown(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    // A setting may stand before it: `--url=https://…`.
    let (rest, fragment) =
        rest.split_once('#').map_or((rest, None), |(rest, fragment)| (rest, Some(fragment)));
    let (before, query) = rest.split_once('?').map_or((rest, None), |(before, query)| (before, Some(query)));
    let (authority, path) = before.split_once('/').map_or((before, None), |(host, path)| (host, Some(path)));
    let mut shown = format!("{scheme}://");
    match authority.rsplit_once('@') {
        Some((_, host)) => {
            shown.push_str(REDACTED);
            shown.push('@');
            pairs(host, is_secret_key, &mut shown);
        }
        None => pairs(authority, is_secret_key, &mut shown),
    }
    for segment in path.into_iter().flat_map(|path| path.split('/')) {
        shown.push('/');
        pairs(segment, is_secret_key, &mut shown);
    }
    for (mark, given) in [('?', query), ('#', fragment)] {
        if let Some(given) = given {
            shown.push(mark);
            pairs(given, is_secret_in_query, &mut shown);
        }
    }
    shown
}

/// What joins pairs, in queries and in the settings that addresses of databases end with.
const JOINTS: [char; 4] = ['&', ';', ',', '|'];

/// Writes a part of an address without the values that are secret by their names or their looks.
fn pairs(part: &str, is_secret_name: impl Fn(&str) -> bool, shown: &mut String) {
    for pair in part.split_inclusive(JOINTS) {
        let bare = pair.strip_suffix(JOINTS).unwrap_or(pair);
        match bare.split_once('=') {
            Some((name, value))
                if !value.is_empty()
                    && (is_secret_name(name)
                        || is_looking(value, tells_apart(name))
                        || holds_user(value)) =>
            {
                shown.push_str(name);
                shown.push('=');
                shown.push_str(REDACTED);
            }
            None if is_looking(bare, false) => shown.push_str(REDACTED),
            _ => shown.push_str(bare),
        }
        shown.push_str(pair.get(bare.len()..).unwrap_or_default());
    }
}

/// Whether a value is an address with a user in it.
fn holds_user(value: &str) -> bool {
    value.split_once("://").is_some_and(|(_, rest)| rest.contains('@'))
}

/// Addresses call them shorter than parameters do.
fn is_secret_in_query(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    is_secret_key(&name)
        || ["key", "sig", "signature", "auth", "code", "x-amz-signature"].contains(&name.as_str())
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn users_and_secret_values_are_hidden_and_the_rest_stays() {
        for (given, expected) in [
            (
                "https://me:pw@host/x?token=abc&page=2#key=1",
                "https://REDACTED@host/x?token=REDACTED&page=2#key=REDACTED",
            ),
            ("https://me:p,w@host/x", "https://REDACTED@host/x"),
            (
                "jdbc:sqlserver://h:1433;databaseName=d;user=u;password=X;encrypt=true",
                "jdbc:sqlserver://h:1433;databaseName=d;user=u;password=REDACTED;encrypt=true",
            ),
            ("https://host/x;password=X/y", "https://host/x;password=REDACTED/y"),
            ("https://host/a?next=https://me:pw@host/&page=2", "https://host/a?next=REDACTED&page=2"),
            ("https://host/x?a=1,2&b=c;d", "https://host/x?a=1,2&b=c;d"),
            ("https://host/a,b/c?page=2#part", "https://host/a,b/c?page=2#part"),
        ] {
            assert_eq!(shown(given), expected);
        }
    }
}
