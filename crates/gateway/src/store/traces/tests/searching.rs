//! Beginnings beside whole words: what is found is what the index alone would say.

use std::path::Path;

use rusqlite::Connection;

use super::{
    super::{SearchFilter, index, sift::Sieve},
    *,
};

/// Spans of three tables of the index.
const SPANS: u64 = 2600;

/// Words of many writing systems, and what only looks like one.
const WORDS: [&str; 30] = [
    "straße",
    "STRASSE",
    "café",
    "cafe\u{301}",
    "CAFÉ",
    "İstanbul",
    "ıstanbul",
    "naïve",
    "zażółć",
    "Ελλάδα",
    "ελλαδα",
    "привет",
    "Привёт",
    "漢字",
    "漢字かな",
    "हिन्दी",
    "한국어",
    "ﬁsh",
    "fish_bone",
    "v1.2.3",
    "0x1F",
    "x²",
    "½cup",
    "a\u{300}\u{316}b",
    "Ǆemper",
    "ⅷth",
    "😀grin",
    "read-only",
    "ẞharp",
    "ｆｕｌｌ",
];

/// Words that few spans have, and such that many have.
const WHOLE: [&str; 14] = [
    "rare",
    "scarce",
    "seldom",
    "every3",
    "common",
    "straße",
    "café",
    "ελλάδα",
    "привет",
    "漢字",
    "1",
    "हिन्दी",
    "x²",
    "search_code",
];
const BEGINNINGS: [&str; 22] = [
    "s*",
    "st*",
    "caf*",
    "café*",
    "ελ*",
    "Прив*",
    "漢*",
    "한*",
    "fi*",
    "ﬁ*",
    "bone*",
    "0x*",
    "x*",
    "½*",
    "b*",
    "i*",
    "ı*",
    "cut*",
    "हि*",
    "1*",
    "😀*",
    "f* w1*",
];

/// Numbers that look thrown, and are the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn word(&mut self) -> &'static str {
        WORDS[self.below(WORDS.len() as u64) as usize]
    }
}

fn thrown(number: u64, dice: &mut Dice) -> Span {
    let mut one = span(number);
    one.name = format!("w{number} every{} {}", number % 10, dice.word());
    if number.is_multiple_of(7) {
        one.name.push_str(" common");
    }
    if dice.below(90) == 0 {
        one.name.push_str(" rare");
    }
    let values = json!({"list": [dice.word(), {"deep": dice.word()}], "number": dice.below(20), "no": null, "yes": true});
    one.attributes.insert("mcp.test.values".to_owned(), values);
    if dice.below(120) == 0 {
        // The end of a text is not found, and a word that is cut is found by what is left of it.
        let before = 16 * 1024 - 400 + dice.below(400) as usize;
        let long = format!("scarce {} cutting straße", "é".repeat(before / 2));
        one.attributes.insert("mcp.test.zz".to_owned(), json!(long));
    }
    if dice.below(60) == 0 {
        // Too much to be read for every span that has the word.
        one.attributes.insert("mcp.test.zzz".to_owned(), json!(format!("seldom {}", "much ".repeat(4000))));
    }
    one
}

/// The sessions of the rows that every table of the index names by itself, the newest first.
fn by_index_alone(connection: &Connection, text: &str) -> Vec<String> {
    let Some(question) = index::question(text) else { return Vec::new() };
    let mut found = Vec::new();
    for table in index::tables(connection).unwrap() {
        let name = index::name(table);
        let statement = format!(
            "SELECT t.session FROM {name} CROSS JOIN spans s ON s.id = {name}.rowid JOIN sessions t ON t.id = s.session
             WHERE {name} MATCH ?1 ORDER BY {name}.rowid DESC"
        );
        let mut statement = connection.prepare(&statement).unwrap();
        let rows = statement.query_map([&question.all], |row| row.get(0)).unwrap();
        // Words that the index would take apart are found nowhere.
        let Ok(rows) = rows.collect::<Result<Vec<String>, _>>() else { return Vec::new() };
        found.extend(rows);
    }
    found
}

async fn by_pages(store: &TraceStore, text: &str, limit: u32) -> Vec<String> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = Page { limit, after };
        let (rows, cursor) = store.search(text, SearchFilter::default(), page).await.unwrap();
        assert!(rows.len() <= limit as usize && (cursor.is_none() || rows.len() == limit as usize));
        found.extend(rows.into_iter().map(|row| row.session_id));
        after = cursor;
        if after.is_none() {
            return found;
        }
    }
}

fn questions() -> Vec<String> {
    let pairs = WHOLE.iter().flat_map(|whole| BEGINNINGS.iter().map(move |begin| format!("{begin} {whole}")));
    let odd = [
        "rare scarce s*",
        "nothing s*",
        "rare \u{300}*",
        "rare \u{e000}*",
        "every3 common w1* straße",
        "w77 w*",
    ];
    pairs.chain(odd.map(str::to_owned)).collect()
}

fn connection(dir: &Path) -> Connection {
    Connection::open(dir.join("traces").join(ours_today().file())).unwrap()
}

/// Whatever is asked, in pages of any size, and also while the index is behind rows that have changed.
#[tokio::test]
async fn beginnings_beside_words_find_what_the_index_alone_finds() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut appender = store.appender();
    let mut dice = Dice(6);
    let mut spans: Vec<Span> = (1..=SPANS).map(|number| thrown(number, &mut dice)).collect();
    for one in spans.iter_mut().filter(|one| one.name.ends_with("rare")).step_by(5) {
        *one = running(one.clone());
    }
    appender.append(&batch(spans.clone()), NOW).unwrap();
    while appender.index_some(700).unwrap() > 0 {}
    let connection = connection(dir.path());
    let mut found = 0;
    for (at, text) in questions().iter().enumerate() {
        let expected = by_index_alone(&connection, text);
        assert_eq!(by_pages(&store, text, 500).await, expected, "{text}");
        if at % 9 == 0 && expected.len() < 300 {
            assert_eq!(by_pages(&store, text, 3).await, expected, "{text} in pages");
        }
        found += usize::from(!expected.is_empty());
    }
    assert!(found > 150, "{found} of the questions found something");

    // Rows that have changed are found by what they were until the index has followed.
    let changed = spans.iter().filter(|one| one.ended.is_none()).map(|one| {
        let name = one.name.replace("rare", "rare sudden");
        Span { name, ended: Some(one.started), status: Status::Ok, ..one.clone() }
    });
    let changed: Vec<Span> = changed.collect();
    assert!(changed.len() > 3, "{}", changed.len());
    appender.append(&batch(changed), NOW).unwrap();
    for lags in [true, false] {
        for text in ["rare sud*", "rare s*", "rare f*", "sudden r*"] {
            let expected = by_index_alone(&connection, text);
            assert_eq!(by_pages(&store, text, 10).await, expected, "{text}, behind: {lags}");
            assert_eq!(expected.is_empty(), lags && text.contains("sud"), "{text}, behind: {lags}");
        }
        while appender.index_some(700).unwrap() > 0 {}
    }
}

/// Otherwise the other test would compare the index with itself.
#[test]
fn few_rows_are_read_and_many_or_changed_ones_are_not() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut appender = store.appender();
    let mut dice = Dice(1);
    let long = |mut one: Span| {
        one.attributes.insert("mcp.test.long".to_owned(), json!("long ".repeat(4000)));
        one
    };
    let open = running(span(50));
    let spans = (1..=20).map(|number| thrown(number, &mut dice));
    appender
        .append(&batch(spans.chain((21..=40).map(|number| long(span(number)))).chain([open.clone()])), NOW)
        .unwrap();
    while appender.index_some(700).unwrap() > 0 {}
    let connection = connection(dir.path());
    let mut sieve = Sieve::default();
    let few: Vec<i64> = (1..=20).rev().collect();
    let mut sift = |question: &str, rows: &[i64]| sieve.sift(&connection, question, rows).unwrap();
    assert_eq!(sift("\"w1\"*", &few), Some(vec![1, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]));
    // What one question put in is not there for the next one.
    assert_eq!(sift("\"w1\"*", &[2, 19, 999]), Some(vec![19]));
    assert_eq!(sift("\"w1\"*", &[]), Some(Vec::new()));
    assert_eq!(sift("\"long\"*", &[21, 22]), Some(vec![21, 22]));
    assert_eq!(sift("\"long\"*", &(21..=40).collect::<Vec<_>>()), None);
    assert_eq!(sift("\"search\"*", &[41]), Some(vec![41]));
    appender.append(&batch([Span { ended: Some(open.started), ..open }]), NOW).unwrap();
    assert_eq!(sift("\"search\"*", &[40, 41]), None);
}
