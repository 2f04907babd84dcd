//! The addresses that we listen on, and whether a text leads to one.

use std::{
    borrow::Cow,
    net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket},
};

use reqwest::Url;

/// What a text may be cut into to find addresses in it.
const BETWEEN: &[char] = &['"', '\'', '`', '<', '>', '|', ';', '(', ')', '{', '}', ',', '^', '=', '&', ' '];

/// So much of a longer piece is read: an address says where it leads first.
const PIECE_BYTES_MAX: usize = 8192;
/// So far before its port a host is looked for.
const HOST_BYTES_MAX: usize = 255;
/// So many mentions of one of our ports are looked into.
const MENTIONS_MAX: usize = 4096;

/// Names for this machine that need no asking.
const LOCAL_NAMES: [&str; 6] = [
    "localhost",
    "localhost.localdomain",
    "localhost6",
    "ip6-localhost",
    "ip6-loopback",
    "host.docker.internal",
];

#[derive(Debug, Clone, Default)]
pub(super) struct Listeners {
    addresses: Vec<SocketAddr>,
    /// Our ports as they are written.
    ports: Vec<String>,
    /// Whether one of them is what a scheme means without saying it.
    is_unsaid: bool,
    /// Whether one can be reached by more than the loopback addresses.
    is_beyond_loopback: bool,
    machine: String,
}

impl Listeners {
    pub(super) fn new(addresses: &[SocketAddr]) -> Self {
        let machine = rustix::system::uname().nodename().to_string_lossy().to_ascii_lowercase();
        let mut listeners = Self { machine, ..Self::default() };
        addresses.iter().for_each(|address| listeners.add(*address));
        listeners
    }

    pub(super) fn with(&self, address: SocketAddr) -> Self {
        let mut listeners = self.clone();
        listeners.add(address);
        listeners
    }

    fn add(&mut self, address: SocketAddr) {
        // Port 0 stands for one that is not chosen yet.
        if address.port() == 0 || self.addresses.contains(&address) {
            return;
        }
        self.addresses.push(address);
        self.ports.push(address.port().to_string());
        self.is_unsaid |= matches!(address.port(), 21 | 80 | 443);
        self.is_beyond_loopback |= !address.ip().is_loopback();
    }

    pub(super) fn have_port(&self, port: u64) -> bool {
        self.addresses.iter().any(|address| u64::from(address.port()) == port)
    }

    /// Whether an address within the text is one of ours.
    pub(super) fn are_reached_by(&self, text: &str) -> bool {
        let names_port =
            || self.ports.iter().any(|port| memchr::memmem::find(text.as_bytes(), port.as_bytes()).is_some());
        if self.addresses.is_empty() || !(self.is_unsaid || names_port()) {
            return false;
        }
        let text = &*without_zones(text);
        let pieces = text.split(|c: char| c.is_control() || BETWEEN.contains(&c));
        pieces.chain([text]).any(|piece| {
            let piece = piece.trim();
            self.is_own(first(piece, PIECE_BYTES_MAX)) || self.is_own_after_scheme(piece)
        }) || self.is_own_before_port(text)
    }

    /// Whether one of our ports follows a host of ours, whatever stands before the two.
    fn is_own_before_port(&self, text: &str) -> bool {
        self.ports.iter().any(|port| {
            memchr::memmem::find_iter(text.as_bytes(), port.as_bytes()).take(MENTIONS_MAX).any(|start| {
                let after = text.as_bytes().get(start + port.len());
                let before = text.get(..start).unwrap_or_default().trim_end_matches('0').strip_suffix(':');
                let Some(before) = before.filter(|_| !after.is_some_and(u8::is_ascii_digit)) else {
                    return false;
                };
                let before = last(before, HOST_BYTES_MAX);
                let host = match before.strip_suffix(']').and_then(|inside| inside.rsplit_once('[')) {
                    Some((_, inside)) => inside,
                    None => before.rsplit(['/', '\\', '@', ':']).next().unwrap_or_default(),
                };
                self.are_at(host)
            })
        })
    }

    /// Whether a host and one of our ports stand in a command, as in `nc localhost 80`.
    pub(super) fn are_words_of(&self, text: &str) -> bool {
        let is_named = |port: &String| memchr::memmem::find(text.as_bytes(), port.as_bytes()).is_some();
        if !self.ports.iter().any(is_named) {
            return false;
        }
        let words = || {
            text.split(|c: char| c.is_whitespace() || BETWEEN.contains(&c)).filter(|word| !word.is_empty())
        };
        words()
            .zip(words().skip(1))
            .any(|(host, port)| port.parse().is_ok_and(|port| self.have_port(port)) && self.are_at(host))
    }

    /// The piece as an address without a scheme, as in `localhost:80/x`.
    fn is_own(&self, piece: &str) -> bool {
        if !piece.contains(':') && !self.is_unsaid {
            return false;
        }
        Url::parse(&format!("http://{piece}")).is_ok_and(|url| self.is_own_url(&url, 80))
    }

    /// The piece from every colon on that could end a scheme. All of them are read as the web's, which takes every way
    /// of writing a number for one.
    fn is_own_after_scheme(&self, piece: &str) -> bool {
        const SCHEMES_TRIED: usize = 64;
        piece.match_indices(':').take(SCHEMES_TRIED).any(|(at, _)| {
            let (before, after) = piece.split_at(at);
            let after = first(after.trim_start_matches([':', '/', '\\']), PIECE_BYTES_MAX);
            let scheme = before.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
            let unsaid = match scheme.to_ascii_lowercase().as_str() {
                "https" | "wss" => 443,
                "ftp" => 21,
                _ => 80,
            };
            !after.is_empty()
                && Url::parse(&format!("http://{after}")).is_ok_and(|url| self.is_own_url(&url, unsaid))
        })
    }

    fn is_own_url(&self, url: &Url, unsaid: u16) -> bool {
        // The port of http itself is left out of what was read.
        let port = url.port().unwrap_or(unsaid);
        self.have_port(u64::from(port)) && url.host_str().is_some_and(|host| self.is_local(host))
    }

    /// Whether a text on its own names this machine.
    pub(super) fn are_at(&self, text: &str) -> bool {
        let text = text.trim();
        if text.is_empty() || text.len() > HOST_BYTES_MAX || text.contains(char::is_whitespace) {
            return false;
        }
        let bare = text.split_once("://").map_or(text, |(_, rest)| rest);
        let address =
            bare.trim_start_matches('[').trim_end_matches(']').split('%').next().unwrap_or_default();
        let bracketed = format!("http://[{address}]/");
        let plain = format!("http://{bare}/");
        [plain, bracketed].iter().any(|text| {
            Url::parse(text).is_ok_and(|url| url.host_str().is_some_and(|host| self.is_local(host)))
        })
    }

    fn is_local(&self, host: &str) -> bool {
        let literal = host.trim_start_matches('[').trim_end_matches(']');
        if let Ok(address) = literal.parse::<IpAddr>() {
            return self.is_local_address(address);
        }
        let name = host.trim_end_matches('.').to_ascii_lowercase();
        // Schemes that are not the web's leave numbers as they were written.
        LOCAL_NAMES.contains(&name.as_str()) || name.ends_with(".localhost") || name == self.machine
    }

    fn is_local_address(&self, address: IpAddr) -> bool {
        let address = match address {
            IpAddr::V6(six) => match six.to_ipv4_mapped().or_else(|| embedded(six.octets())) {
                Some(four) => IpAddr::V4(four),
                None => address,
            },
            IpAddr::V4(_) => address,
        };
        if address.is_loopback() || address.is_unspecified() {
            return true;
        }
        // An address can be bound to only where it is one of this machine's.
        self.addresses.iter().any(|own| own.ip() == address)
            || (self.is_beyond_loopback && UdpSocket::bind((address, 0)).is_ok())
    }
}

/// At most so many bytes from the beginning.
fn first(text: &str, bytes: usize) -> &str {
    let end = (0..=bytes.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or_default()).unwrap_or_default()
}

/// At most so many bytes before the end.
fn last(text: &str, bytes: usize) -> &str {
    let start = (text.len().saturating_sub(bytes)..=text.len()).find(|start| text.is_char_boundary(*start));
    text.get(start.unwrap_or_default()..).unwrap_or_default()
}

/// The text without the zones of addresses such as `[fe80::1%eth0]`, which many programs take and drop.
fn without_zones(text: &str) -> Cow<'_, str> {
    if !(text.contains('[') && text.contains('%')) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, from)) = rest.split_once('[') {
        clean.push_str(before);
        clean.push('[');
        let end = from.find(']').unwrap_or(from.len());
        let (inside, after) = from.split_at(end);
        let (address, _zone) = inside.split_once('%').unwrap_or((inside, ""));
        let is_address = address.bytes().all(|byte| byte.is_ascii_hexdigit() || b":.".contains(&byte));
        clean.push_str(if is_address { address } else { inside });
        rest = after;
    }
    clean.push_str(rest);
    Cow::Owned(clean)
}

/// The IPv4 address that older notations and translators keep within one of IPv6.
fn embedded(octets: [u8; 16]) -> Option<Ipv4Addr> {
    let [before @ .., a, b, c, d] = octets;
    let compatible = before == [0; 12] && a != 0;
    let translated = before == [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0];
    (compatible || translated).then(|| Ipv4Addr::new(a, b, c, d))
}
