//! A hint as words, each with what is known of it and where it stands: what is said to be done, and with what words.

use super::{
    commands::{Command, is_argument, is_source, redirected},
    weights::{WEIGHTS, known},
};
use crate::{classify, danger::DangerLevel};

/// Verbs that only say that something else is done.
const NEUTRAL: [&str; 7] = ["call", "invoke", "execute", "exec", "run", "perform", "request"];
/// So many words behind such a verb may say what it is.
const LED_TO: usize = 3;
/// Words that a new deed begins behind.
const JOINTS: [&str; 9] = ["and", "then", "or", "to", "also", "next", "now", "by", "finally"];
const ARTICLES: [&str; 3] = ["the", "a", "an"];
/// So many single letters in a row are a word that is not to be read.
const SPELLED_MIN: usize = 4;

/// Verbs that are found at the beginning of a word that is written together, and what may follow them there.
const DESTROYING: [&str; 9] =
    ["delete", "drop", "destroy", "truncate", "wipe", "purge", "erase", "remove", "kill"];
const DESTROYED: &str = "all every table database db file folder dir user account record row data disk drive volume repo \
    branch backup bucket cluster server index schema collection project log event entit item process prod";

/// A hint's words.
pub(super) struct Speech<'a> {
    text: &'a str,
    words: Vec<Word<'a>>,
}

struct Word<'a> {
    text: &'a str,
    /// Where the name that it is of begins.
    from: usize,
    verb: Option<classify::Verb>,
    weight: Option<usize>,
    command: Option<Command>,
    /// The name of an operation, which is looked at by its level.
    named: bool,
    in_file: bool,
    /// Whether it stands where a command does, or a clause begins.
    opens: bool,
    begins: bool,
    /// Whether it takes what another command gives.
    piped: bool,
    /// Whether nothing is written together with it.
    alone: bool,
    /// What follows the next space.
    next: &'a str,
}

/// What the words of a hint say.
#[derive(Debug, Clone, Copy)]
pub(super) struct Said<'a> {
    pub level: DangerLevel,
    pub what: &'a str,
}

impl<'a> Speech<'a> {
    /// Reads a text in its one form. A name that is given is that of an operation.
    pub(super) fn read(text: &'a str, named: Option<&str>) -> Self {
        let mut words: Vec<Word<'a>> = Vec::with_capacity(text.len() / 5 + 1);
        let mut gap_from = 0;
        let mut start = 0;
        let mut chunks = text.split(' ').peekable();
        while let Some(chunk) = chunks.next() {
            let in_file = is_source(chunk);
            let next = chunks.peek().copied().unwrap_or_default();
            let mut place = 0;
            for name in chunk.split(|letter: char| !(letter.is_alphanumeric() || letter == '_')) {
                let (from, to) = (start + place, start + place + name.len());
                // What parts two names is one character.
                place += name.len();
                place += chunk.get(place..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
                if name.is_empty() {
                    continue;
                }
                let gap = text.get(gap_from..from).unwrap_or_default();
                gap_from = to;
                let after = text.get(to..).and_then(|rest| rest.chars().next());
                let place = Place::new(words.last(), gap, name, after);
                let word = |text| Word { from, in_file, next, ..Word::new(text, &place) };
                if named == Some(name) {
                    words.push(Word { text: name, named: true, ..word("") });
                } else if !name.as_bytes().contains(&b'_') {
                    words.push(word(name));
                } else {
                    let parts = name.split('_').filter(|part| !part.is_empty());
                    words.extend(parts.enumerate().map(|(number, part)| match number {
                        0 => word(part),
                        _ => Word { opens: false, begins: false, piped: false, ..word(part) },
                    }));
                }
            }
            start += chunk.len() + 1;
        }
        Self { text, words }
    }

    /// Whether some verb only leads to another.
    pub(super) fn has_neutral(&self) -> bool {
        self.words.iter().any(Word::is_neutral)
    }

    /// The worst that is said to be done. Verbs that only lead to another count as they are where they lead nowhere, unless
    /// another reading of the text follows them.
    pub(super) fn said(&self, followed: bool) -> Option<Said<'a>> {
        let mut verbs = self.deeds();
        if followed {
            let neutral = self.words.iter().map(Word::is_neutral);
            verbs.iter_mut().zip(neutral).filter(|(_, neutral)| *neutral).for_each(|(verb, _)| *verb = None);
        }
        if let Some((level, what)) = self.phrase(&verbs) {
            return Some(Said { level, what });
        }
        let spoken = verbs.iter().flatten().map(|verb| Said { level: verb.danger, what: verb.word });
        let commands = self.words.iter().enumerate().filter(|(place, _)| self.reads(*place));
        let commands =
            commands.map(|(place, _)| Said { level: DangerLevel::Safe, what: self.command(place) });
        let joined = self.words.iter().filter(|word| word.is_joined());
        let joined = joined.map(|word| Said { level: DangerLevel::Destructive, what: word.text });
        let worst = commands.chain(spoken).chain(joined).max_by_key(|said| said.level);
        worst.or_else(|| {
            let first = self.words.iter().find_map(|word| word.verb)?;
            let beside_a_name = self.words.iter().any(|word| word.named);
            (!beside_a_name && !followed).then_some(Said { level: first.danger, what: first.word })
        })
    }

    /// What the same deed has in common, however it is told.
    pub(super) fn deed(&self) -> Option<&'a str> {
        let verbs = self.deeds();
        let worst = verbs.iter().flatten().max_by_key(|verb| verb.danger);
        let first = || self.words.iter().find_map(|word| word.verb);
        let verb = worst.copied().or_else(first).map(|verb| verb.word);
        verb.or_else(|| self.words.first().map(|word| word.text))
    }

    /// What does more than the verbs before it say. `reading` says that they change nothing at all; otherwise what is told of
    /// programs that people write about, as in "make test", is believed.
    pub(super) fn does_more(&self, reading: bool) -> Option<String> {
        let open = self.words.iter().enumerate().find(|(place, word)| {
            let alone = word.alone;
            match word.command {
                None => word.piped && word.verb.is_none() && !word.named,
                _ if word.named || self.reads(*place) => false,
                // Which file system is made is named behind a dot.
                Some(Command::Open) => alone || word.text == "mkfs",
                Some(Command::OpenInPlace) => {
                    alone && (is_argument(word.next) || word.piped || (word.opens && reading))
                }
                Some(Command::Filters | Command::Reads) => false,
                Some(Command::ReadsWith(_)) => alone && word.opens && reading && !self.leads_on(*place),
            }
        });
        let open = open.map(|(_, word)| format!("'{}'", word.text));
        open.or_else(|| redirected(self.text).map(|file| format!("writing to '{file}'")))
    }

    /// The first word with a weight.
    pub(super) fn weighed(&self, weight: usize) -> Option<&'a str> {
        let in_files = WEIGHTS.get(weight).is_some_and(|weight| weight.in_files);
        let mut words = self.words.iter();
        words.find(|word| word.weight == Some(weight) && (in_files || !word.in_file)).map(|word| word.text)
    }

    /// Whether letters stand alone that are a word together.
    pub(super) fn is_spelled(&self) -> bool {
        let is_letter =
            |word: &Word<'_>| word.text.len() == 1 && word.text.starts_with(|l: char| l.is_ascii_lowercase());
        let mut row = 0;
        self.words.iter().any(|word| {
            row = if is_letter(word) { row + 1 } else { 0 };
            row >= SPELLED_MIN
        })
    }

    /// The verbs by their place, as far as they tell of a deed.
    fn deeds(&self) -> Vec<Option<classify::Verb>> {
        let tells = |word: &Word<'_>| word.verb.is_some() && !word.is_neutral();
        let plain = self
            .words
            .iter()
            .enumerate()
            .any(|(place, word)| !word.in_file && (tells(word) || self.reads(place)));
        // A file that is run does what it is called; one that is read or edited does nothing.
        let runs = || {
            self.words.iter().any(|word| {
                word.is_neutral() || matches!(word.command, Some(Command::Open | Command::OpenInPlace))
            })
        };
        let only_names = plain && !runs();
        let deed = |(place, word): (usize, &Word<'_>)| {
            let counts = match word.is_neutral() {
                true => word.begins && !self.leads_on(place),
                false => !(word.in_file && only_names && !word.opens),
            };
            word.verb.filter(|_| counts)
        };
        self.words.iter().enumerate().map(deed).collect()
    }

    /// Whether words behind one tell what it is about.
    fn leads_on(&self, place: usize) -> bool {
        let behind = (place + 1..=place + LED_TO).map_while(|place| Some((place, self.words.get(place)?)));
        let mut behind = behind.take_while(|(_, word)| !word.piped);
        behind.any(|(place, word)| {
            word.named || (word.verb.is_some() && !word.is_neutral()) || self.reads(place)
        })
    }

    /// A command with the word that makes it one.
    fn command(&self, place: usize) -> &'a str {
        let Some(word) = self.words.get(place) else { return "" };
        let to = self.words.get(place + 1).map(|next| next.from + next.text.len());
        match word.command {
            Some(Command::ReadsWith(_)) => {
                to.and_then(|to| self.text.get(word.from..to)).unwrap_or(word.text)
            }
            _ => word.text,
        }
    }

    /// Whether a word is a command that only reads.
    fn reads(&self, place: usize) -> bool {
        let Some(word) = self.words.get(place) else { return false };
        match word.command {
            Some(Command::Reads) => word.opens && word.alone,
            Some(Command::ReadsWith(reads)) => {
                word.opens
                    && word.alone
                    && self.words.get(place + 1).is_some_and(|next| reads.contains(&next.text))
            }
            _ => false,
        }
    }

    /// Phrases as dangerous as the names that read like them, wherever in the sentence they stand.
    fn phrase(&self, verbs: &[Option<classify::Verb>]) -> Option<(DangerLevel, &'static str)> {
        let plain = |place: usize| {
            let word = self.words.get(place).filter(|word| !word.named)?;
            Some(word.verb.map_or(word.text, |verb| verb.word))
        };
        let starts = verbs.iter().enumerate().filter(|(_, verb)| verb.is_some()).map(|(place, _)| place);
        // A few words behind the verb are as much as a name has.
        let phrases = starts.map(|start| (start..start + 3).map_while(plain).collect::<Vec<_>>());
        let phrases = phrases.filter(|words| words.iter().any(|word| classify::patterns::has(word)));
        let phrases = phrases.map(|words| words.join("_"));
        phrases.filter_map(|phrase| classify::patterns::level(&phrase, None)).max_by_key(|(level, _)| *level)
    }
}

impl<'a> Word<'a> {
    fn new(text: &'a str, place: &Place) -> Self {
        let known = known(text);
        let Place { opens, begins, piped, alone } = *place;
        Self {
            text,
            from: 0,
            verb: classify::verb(text),
            weight: known.weight,
            command: known.command,
            named: false,
            in_file: false,
            opens,
            begins,
            piped,
            alone,
            next: "",
        }
    }

    fn is_neutral(&self) -> bool {
        self.verb.is_some_and(|verb| NEUTRAL.contains(&verb.word))
    }

    /// Whether a verb that destroys and what it destroys are written together.
    fn is_joined(&self) -> bool {
        let may_begin = self.text.starts_with(['d', 'e', 'k', 'p', 'r', 't', 'w']);
        if self.verb.is_some() || self.in_file || self.text.len() < 6 || !may_begin {
            return false;
        }
        let rest = DESTROYING.iter().find_map(|verb| self.text.strip_prefix(verb));
        rest.is_some_and(|rest| DESTROYED.split_whitespace().any(|what| rest.starts_with(what)))
    }
}

/// Where a name stands.
struct Place {
    opens: bool,
    begins: bool,
    piped: bool,
    alone: bool,
}

impl Place {
    fn new(before: Option<&Word<'_>>, gap: &str, name: &str, after: Option<char>) -> Self {
        let alone = !after.is_some_and(|after| matches!(after, '.' | '-' | '/' | '\\' | '@' | '='));
        let Some(before) = before else {
            // A sentence that begins with an article tells of things.
            return Self { opens: !ARTICLES.contains(&name), begins: true, piped: false, alone };
        };
        if gap == " " {
            let opens = before.is_neutral() || (before.opens && ARTICLES.contains(&before.text));
            let begins = opens || JOINTS.contains(&before.text);
            return Self { opens, begins, piped: false, alone };
        }
        let (mut piped, mut opens, mut begins) = (false, false, false);
        let mut last = 0;
        for &byte in gap.as_bytes() {
            match (last, byte) {
                (_, b'|' | b'`') | (b'&', b'&') | (b'$', b'(') => piped = true,
                (_, b';' | b':') => opens = true,
                // An address is no command.
                (b'/', b'/') => opens = false,
                (_, b',' | b'!' | b'?' | b'(' | b'"' | b'\'') | (b'.', b' ') | (b' ', b'-') => begins = true,
                _ => {}
            }
            last = byte;
        }
        opens |= piped || (gap == "/" && before.opens) || before.is_neutral();
        begins |= opens;
        Self { opens, begins, piped, alone }
    }
}
