//! What was measured, beside what it should be.

use serde_json::{Value, json};

/// What a number should be.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target {
    None,
    AtMost(f64),
    AtLeast(f64),
}

struct Row {
    section: &'static str,
    what: String,
    value: f64,
    unit: &'static str,
    target: Target,
}

#[derive(Default)]
pub(crate) struct Report {
    rows: Vec<Row>,
    notes: Vec<String>,
}

impl Row {
    fn is_met(&self) -> Option<bool> {
        match self.target {
            Target::None => None,
            Target::AtMost(most) => Some(self.value <= most),
            Target::AtLeast(least) => Some(self.value >= least),
        }
    }

    fn target(&self) -> String {
        match self.target {
            Target::None => String::new(),
            Target::AtMost(most) => format!("≤ {most}"),
            Target::AtLeast(least) => format!("≥ {least}"),
        }
    }

    fn json(&self) -> Value {
        let (at_most, at_least) = match self.target {
            Target::None => (None, None),
            Target::AtMost(most) => (Some(most), None),
            Target::AtLeast(least) => (None, Some(least)),
        };
        json!({
            "section": self.section, "what": self.what, "value": self.value, "unit": self.unit,
            "at_most": at_most, "at_least": at_least, "met": self.is_met(),
        })
    }
}

impl Report {
    pub(crate) fn add(
        &mut self,
        section: &'static str,
        what: impl Into<String>,
        value: f64,
        unit: &'static str,
        target: Target,
    ) {
        self.rows.push(Row { section, what: what.into(), value, unit, target });
    }

    /// Something a reader of the numbers should know.
    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    #[expect(clippy::print_stdout, reason = "the numbers are what the program is for")]
    pub(crate) fn print(&self, as_json: bool) {
        if as_json {
            let rows: Vec<Value> = self.rows.iter().map(Row::json).collect();
            println!("{}", json!({"measurements": rows, "notes": self.notes}));
            return;
        }
        let width = self.rows.iter().map(|row| row.what.chars().count()).max().unwrap_or_default();
        let mut section = "";
        for row in &self.rows {
            if row.section != section {
                section = row.section;
                println!("\n{section}");
            }
            let verdict = match row.is_met() {
                None => "",
                Some(true) => "met",
                Some(false) => "MISSED",
            };
            let value = number(row.value);
            let line =
                format!("  {:width$}  {value:>10} {:12} {:>8} {verdict}", row.what, row.unit, row.target());
            println!("{}", line.trim_end());
        }
        for note in &self.notes {
            println!("\n{note}");
        }
    }
}

/// As many digits as say something.
fn number(value: f64) -> String {
    match value.abs() {
        large if large >= 100.0 => format!("{value:.0}"),
        middling if middling >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// The middle of some measurements, which no single disturbed one can move far.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
