//! Text that fits a simple pattern: characters, classes and repetitions in a row.
//!
//! Groups and alternatives are not understood; such a pattern has no samples.

pub(crate) struct Pattern {
    atoms: Vec<Atom>,
    anchored: bool,
}

struct Atom {
    ranges: Vec<(char, char)>,
    negated: bool,
    least: usize,
    most: Option<usize>,
}

/// Repetitions beyond this are not worth sampling.
const REPETITIONS_MAX: usize = 1000;

impl Pattern {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let anchored = text.starts_with('^');
        let text = text.strip_prefix('^').unwrap_or(text);
        let text = text.strip_suffix('$').unwrap_or(text);
        let mut rest = text.chars().peekable();
        let mut atoms = Vec::new();
        while let Some(next) = rest.next() {
            let (ranges, negated) = match next {
                '[' => class(&mut rest)?,
                '.' => (Vec::new(), true),
                '\\' => (escape(rest.next()?)?, false),
                '(' | ')' | '|' | '*' | '+' | '?' | '{' | '^' | '$' => return None,
                literal => (vec![(literal, literal)], false),
            };
            let (least, most) = repetition(&mut rest)?;
            atoms.push(Atom { ranges, negated, least, most });
        }
        Some(Self { atoms, anchored })
    }

    /// Text that fits, as different for different words as the pattern allows.
    pub(crate) fn sample(&self, word: &str, longest: usize) -> Option<String> {
        let text = self.text(word, word.chars().count())?;
        if text.chars().count() <= longest { Some(text) } else { self.text(word, 0) }
    }

    fn text(&self, word: &str, wanted: usize) -> Option<String> {
        let mut text = String::new();
        for atom in &self.atoms {
            let count = atom.most.map_or(wanted, |most| most.min(wanted)).max(atom.least);
            let mut fitting = word.chars().filter(|&c| atom.takes(c)).cycle();
            let other = atom.any();
            for _ in 0..count.min(REPETITIONS_MAX) {
                text.push(fitting.next().or(other)?);
            }
        }
        Some(text)
    }

    /// Text that does not fit, of the length asked for.
    pub(crate) fn misfit(&self, length: usize) -> Option<String> {
        let first = self.atoms.first().filter(|first| self.anchored && first.least > 0)?;
        let wrong = ['!', '1', 'x', 'X', ' '].into_iter().find(|&c| !first.takes(c))?;
        Some(wrong.to_string().repeat(length.max(1)))
    }
}

impl Atom {
    fn takes(&self, c: char) -> bool {
        self.ranges.iter().any(|&(from, to)| (from..=to).contains(&c)) != self.negated
    }

    fn any(&self) -> Option<char> {
        let usual = ('a'..='z').chain('A'..='Z').chain('0'..='9');
        usual.chain(self.ranges.iter().map(|&(from, _)| from)).find(|&c| self.takes(c))
    }
}

type Rest<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn class(rest: &mut Rest<'_>) -> Option<(Vec<(char, char)>, bool)> {
    let negated = rest.next_if_eq(&'^').is_some();
    let mut ranges: Vec<(char, char)> = Vec::new();
    loop {
        let from = match rest.next()? {
            ']' => return Some((ranges, negated)),
            '\\' => {
                let several = escape(rest.next()?)?;
                let [(one, same)] = several.as_slice() else {
                    ranges.extend(several);
                    continue;
                };
                if one != same {
                    ranges.extend(several);
                    continue;
                }
                *one
            }
            c => c,
        };
        if rest.next_if_eq(&'-').is_none() {
            ranges.push((from, from));
        } else if rest.peek() == Some(&']') {
            ranges.extend([(from, from), ('-', '-')]);
        } else {
            ranges.push((from, rest.next()?));
        }
    }
}

fn escape(c: char) -> Option<Vec<(char, char)>> {
    match c {
        'd' => Some(vec![('0', '9')]),
        'w' => Some(vec![('a', 'z'), ('A', 'Z'), ('0', '9'), ('_', '_')]),
        's' => Some(vec![(' ', ' ')]),
        c if c.is_ascii_alphanumeric() => None,
        c => Some(vec![(c, c)]),
    }
}

fn repetition(rest: &mut Rest<'_>) -> Option<(usize, Option<usize>)> {
    let found = match rest.peek() {
        Some('*') => (0, None),
        Some('+') => (1, None),
        Some('?') => (0, Some(1)),
        Some('{') => {
            rest.next();
            let mut inside = String::new();
            while let Some(c) = rest.next_if(|&c| c != '}') {
                inside.push(c);
            }
            match inside.split_once(',') {
                None => (inside.parse().ok()?, Some(inside.parse().ok()?)),
                Some((least, "")) => (least.parse().ok()?, None),
                Some((least, most)) => (least.parse().ok()?, Some(most.parse().ok()?)),
            }
        }
        _ => return Some((1, Some(1))),
    };
    rest.next()?;
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simple_patterns_have_samples() {
        for (pattern, sample) in [
            ("^[a-zA-Z][a-zA-Z0-9_-]*$", "pprobeab"),
            ("^[A-Z]{3}-\\d{2,4}$", "AAA-0000"),
            ("^v\\d+\\.\\d+$", "v0000000.0000000"),
            ("^[^a-z]{2}$", "AA"),
            ("^.{4}$", "prob"),
            ("^[0-9-]{2}$", "00"),
        ] {
            let parsed = Pattern::parse(pattern).unwrap();
            assert_eq!(parsed.sample("probeab", 100).as_deref(), Some(sample), "{pattern}");
        }
        assert_eq!(Pattern::parse("^[a-z]+$").unwrap().sample("probe", 3).as_deref(), Some("p"));
    }

    #[test]
    fn what_is_not_understood_has_none() {
        for pattern in ["^(a|b)$", "a|b", "^\\bword$", "[a-", "x{2"] {
            assert!(Pattern::parse(pattern).is_none(), "{pattern}");
        }
    }

    #[test]
    fn a_misfit_does_not_fit_the_first_character() {
        assert_eq!(Pattern::parse("^[a-z]+$").unwrap().misfit(2).as_deref(), Some("!!"));
        assert_eq!(Pattern::parse("^[^!]$").unwrap().misfit(1).as_deref(), Some("!"));
        assert!(Pattern::parse("^[a-z]*$").unwrap().misfit(1).is_none());
        assert!(Pattern::parse("[a-z]").unwrap().misfit(1).is_none());
    }
}
