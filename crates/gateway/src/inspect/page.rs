//! The Inspector's page as files of this program, for anybody who comes by: it holds no data, and its calls need a key.

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use http_body_util::Full;
use rust_embed::EmbeddedFile;

// `Files` is what the build script laid down: the page, or one that says how to get it. Each file has smaller variants
// beside it.
include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// Nothing from elsewhere is loaded, run, framed or posted to.
const HEADERS: [(HeaderName, &str); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'self'; base-uri 'none'; form-action 'none'; object-src 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// Files whose names change with what is in them never have to be asked for again.
const FOREVER: &str = "public, max-age=31536000, immutable";
const ASK_AGAIN: &str = "no-cache";

/// What lies at a path of the page: a file, or the page itself, which is one for all of its places and knows which there are.
pub fn answer(path: &str, headers: &HeaderMap) -> Response {
    let name = path.trim_start_matches('/');
    match name {
        "favicon.svg" => file(name, headers, ASK_AGAIN),
        _ if name.starts_with("assets/") => file(name, headers, FOREVER),
        _ => file("index.html", headers, ASK_AGAIN),
    }
}

fn file(name: &str, asked: &HeaderMap, keep: &'static str) -> Response {
    let Some(kind) = content_type(name) else { return missing() };
    let accepted = accepted(asked);
    let variant = accepted.iter().find_map(|encoding| {
        let file = Files::get(&format!("{name}.{}", encoding.ending()))?;
        Some((file, Some(*encoding)))
    });
    let Some((found, encoding)) = variant.or_else(|| Files::get(name).map(|file| (file, None))) else {
        return missing();
    };
    let tag = tag(&found);
    let is_known = asked.get_all(header::IF_NONE_MATCH).iter().any(|known| names_tag(known, &tag));
    let mut response = if is_known {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        Response::new(Body::new(Full::from(found.data.into_owned())))
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(keep));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    if let Some(encoding) = encoding.filter(|_| !is_known) {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding.name()));
    }
    add_headers(headers);
    response
}

fn missing() -> Response {
    let text = "There is no such file. The page may have been replaced by a newer one; load it again.";
    let mut response = (StatusCode::NOT_FOUND, text).into_response();
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    add_headers(response.headers_mut());
    response
}

fn add_headers(headers: &mut HeaderMap) {
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

/// Only what the page is made of; smaller variants are no files of their own.
fn content_type(name: &str) -> Option<&'static str> {
    match name.rsplit_once('.')?.1 {
        "html" => Some("text/html; charset=utf-8"),
        "js" => Some("text/javascript; charset=utf-8"),
        "css" => Some("text/css; charset=utf-8"),
        "svg" => Some("image/svg+xml"),
        _ => None,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Brotli,
    Gzip,
}

impl Encoding {
    fn name(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Gzip => "gzip",
        }
    }

    fn ending(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Gzip => "gz",
        }
    }
}

/// The encodings that may be answered with, the smallest first. How much each is liked does not matter to us.
fn accepted(headers: &HeaderMap) -> Vec<Encoding> {
    let named = |wanted: Encoding| {
        let texts = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
        texts.flat_map(|text| text.split(',')).any(|part| {
            let (name, rest) = part.split_once(';').unwrap_or((part, ""));
            let is_refused =
                rest.trim().strip_prefix("q=").is_some_and(|q| q.parse::<f32>().is_ok_and(|q| q <= 0.0));
            name.trim().eq_ignore_ascii_case(wanted.name()) && !is_refused
        })
    };
    [Encoding::Brotli, Encoding::Gzip].into_iter().filter(|encoding| named(*encoding)).collect()
}

/// The hash of what is sent, so that each variant has its own.
fn tag(file: &EmbeddedFile) -> String {
    let digits: String =
        file.metadata.sha256_hash().iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    format!("\"{digits}\"")
}

fn names_tag(known: &HeaderValue, tag: &str) -> bool {
    let Ok(text) = known.to_str() else { return false };
    text.split(',').map(str::trim).any(|one| one == "*" || one.trim_start_matches("W/") == tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The most that a browser has to load before it shows anything, compressed.
    const FIRST_LOAD_BYTES_MAX: usize = 180_000;

    fn asking(encodings: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_str(encodings).unwrap());
        headers
    }

    fn text(response: &Response, name: HeaderName) -> &str {
        response.headers().get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }

    fn index() -> String {
        String::from_utf8(Files::get("index.html").unwrap().data.into_owned()).unwrap()
    }

    /// Whether the page itself is here, and not the one that stands in for it.
    fn is_built() -> bool {
        Files::get("favicon.svg").is_some()
    }

    #[test]
    fn the_page_is_html_that_may_load_and_be_framed_by_nothing_else() {
        let response = file("index.html", &HeaderMap::new(), ASK_AGAIN);
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(text(&response, header::CONTENT_TYPE), "text/html; charset=utf-8");
        assert_eq!(text(&response, header::CACHE_CONTROL), "no-cache");
        assert_eq!(text(&response, header::X_CONTENT_TYPE_OPTIONS), "nosniff");
        let policy = text(&response, header::CONTENT_SECURITY_POLICY);
        assert!(policy.starts_with("default-src 'self';") && policy.contains("frame-ancestors 'none'"));
        assert!(!policy.contains("unsafe"));
    }

    #[test]
    fn the_page_has_nothing_that_its_own_policy_forbids() {
        let html = index();
        let scripts = html.matches("<script").count();
        assert_eq!(scripts, html.matches("src=\"/assets/").count());
        for wrong in ["style=", "<style", "javascript:", "http://", "https://", " on"] {
            assert!(!html.split("<body>").next().unwrap().contains(wrong), "{wrong}");
        }
    }

    #[test]
    fn variants_have_their_own_tags_and_are_sent_to_who_takes_them() {
        if !is_built() {
            return;
        }
        let mut tags = Vec::new();
        for (asked, sent) in
            [("gzip, deflate, br", "br"), ("gzip;q=0.5", "gzip"), ("br;q=0, GZIP", "gzip"), ("deflate", "")]
        {
            let response = file("index.html", &asking(asked), ASK_AGAIN);
            assert_eq!(text(&response, header::CONTENT_ENCODING), sent, "{asked}");
            assert_eq!(text(&response, header::VARY), "accept-encoding");
            tags.push(text(&response, header::ETAG).to_owned());
        }
        assert_eq!(tags[1], tags[2]);
        assert!(tags[0] != tags[1] && tags[1] != tags[3] && tags[0] != tags[3], "{tags:?}");
    }

    #[test]
    fn what_a_browser_has_already_is_not_sent_again() {
        let first = file("index.html", &HeaderMap::new(), ASK_AGAIN);
        let tag = text(&first, header::ETAG).to_owned();
        for (known, status) in [
            (tag.clone(), StatusCode::NOT_MODIFIED),
            (format!("\"x\", W/{tag}"), StatusCode::NOT_MODIFIED),
            ("\"x\"".to_owned(), StatusCode::OK),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::IF_NONE_MATCH, HeaderValue::from_str(&known).unwrap());
            assert_eq!(file("index.html", &headers, ASK_AGAIN).status(), status, "{known}");
        }
    }

    #[test]
    fn nothing_but_files_of_the_page_is_there() {
        for name in [
            "assets/nothing.js",
            "assets/../index.html",
            "../Cargo.toml",
            "index.html.gz",
            "assets",
            "",
            "/etc/passwd",
            "assets/\0.js",
        ] {
            let response = file(name, &HeaderMap::new(), FOREVER);
            assert_eq!(response.status(), StatusCode::NOT_FOUND, "{name}");
            assert_eq!(text(&response, header::CACHE_CONTROL), "no-store", "{name}");
        }
    }

    /// What the page names is there, and a first load is small.
    #[test]
    fn the_first_load_is_small() {
        if !is_built() {
            return;
        }
        let html = index();
        let mut bytes = Files::get("index.html.gz").unwrap().data.len();
        let named: Vec<_> = html.split('"').filter(|part| part.starts_with("/assets/")).collect();
        assert!(named.len() >= 2, "{html}");
        for name in named {
            let response = file(&name[1..], &asking("gzip"), FOREVER);
            assert_eq!(response.status(), StatusCode::OK, "{name}");
            assert_eq!(text(&response, header::CACHE_CONTROL), FOREVER);
            bytes += Files::get(&format!("{}.gz", &name[1..])).unwrap().data.len();
        }
        assert!(bytes <= FIRST_LOAD_BYTES_MAX, "{bytes}");
    }

    #[test]
    fn every_place_can_be_linked_to_and_the_page_knows_which_there_are() {
        for path in
            ["/", "", "/live", "/live/", "/sessions/a%2Fb", "/x/%ff", "/index.html", "/assets", "/assetsx"]
        {
            let response = answer(path, &HeaderMap::new());
            assert_eq!(response.status(), StatusCode::OK, "{path}");
            assert_eq!(text(&response, header::CONTENT_TYPE), "text/html; charset=utf-8", "{path}");
        }
        for path in
            ["/assets/", "/assets/..%2Findex.html", "/assets/../index.html", "/assets/%ff", "//assets/a/b.js"]
        {
            assert_eq!(answer(path, &HeaderMap::new()).status(), StatusCode::NOT_FOUND, "{path}");
        }
    }
}
