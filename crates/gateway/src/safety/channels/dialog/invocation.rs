//! How each system's own program is asked to show a dialog. Text of an agent is always one whole argument or variable,
//! never a piece of a script.

use std::path::Path;

use super::super::process::Invocation;
use crate::config::Secret;

/// A program that shows dialogs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Program {
    Zenity,
    Osascript,
    PowerShell,
}

/// What a person did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Said {
    Approve,
    Deny,
    /// The time was over, or the dialog could not be shown.
    Nothing,
}

/// The buttons of the other programs are named here too, so that all of them look alike.
const OSASCRIPT: [&str; 5] = [
    "on run argv",
    "set shown to display dialog (item 1 of argv) with title \"Aqueduct\" buttons {\"Approve\", \"Deny\"} \
     default button \"Deny\" with icon caution giving up after ((item 2 of argv) as integer)",
    "if gave up of shown then return \"nothing\"",
    "return button returned of shown",
    "end run",
];

/// 4: yes and no; 48: a warning; 256: the second button is the default; 4096: before other windows.
const POWERSHELL: &str = "$shell = New-Object -ComObject WScript.Shell; \
    $said = $shell.Popup($env:AQUEDUCT_DIALOG_TEXT, [int]$env:AQUEDUCT_DIALOG_SECONDS, 'Aqueduct: approve?', 4 + 48 + 256 + 4096); \
    Write-Output $said";

impl Program {
    #[cfg(test)]
    const ALL: [Self; 3] = [Self::Zenity, Self::Osascript, Self::PowerShell];

    pub(super) fn file(self) -> &'static str {
        match self {
            Self::Zenity => "zenity",
            Self::Osascript => "osascript",
            Self::PowerShell => "powershell.exe",
        }
    }

    /// The program's arguments for a text that stays open for so many seconds.
    pub(super) fn invocation(self, path: &Path, text: &str, seconds: u64) -> Invocation {
        let (args, env) = match self {
            Self::Zenity => (zenity(text, seconds), Vec::new()),
            Self::Osascript => {
                let script = OSASCRIPT.iter().flat_map(|line| ["-e".to_owned(), (*line).to_owned()]);
                (script.chain([text.to_owned(), seconds.to_string()]).collect(), Vec::new())
            }
            Self::PowerShell => (
                ["-NoProfile", "-NonInteractive", "-Command", POWERSHELL].map(str::to_owned).to_vec(),
                vec![
                    ("AQUEDUCT_DIALOG_TEXT", text.to_owned()),
                    ("AQUEDUCT_DIALOG_SECONDS", seconds.to_string()),
                ],
            ),
        };
        let args = args.into_iter().map(Secret::new).collect();
        Invocation { program: path.to_owned(), args, env, stdin: Vec::new() }
    }

    /// What the end of the program means. Only what is exactly a yes is one.
    pub(super) fn said(self, code: Option<i32>, stdout: &str, stderr: &str) -> Said {
        match (self, code, stdout.trim()) {
            (Self::Zenity, Some(0), "") => Said::Approve,
            // It ends in the same way where no window could be opened.
            (Self::Zenity, Some(1), _) if !stderr.to_ascii_lowercase().contains("display") => Said::Deny,
            (Self::Osascript, Some(0), "Approve") | (Self::PowerShell, Some(0), "6") => Said::Approve,
            (Self::Osascript, Some(0), "Deny") | (Self::PowerShell, Some(0), "7") => Said::Deny,
            _ => Said::Nothing,
        }
    }
}

fn zenity(text: &str, seconds: u64) -> Vec<String> {
    // It reads C escapes in the text, also octal ones, so that backslashes have to be escaped themselves.
    let text = text.replace('\\', "\\\\");
    let fixed =
        ["--question", "--no-markup", "--default-cancel", "--width=520", "--title=Aqueduct: approve?"];
    let labels = ["--ok-label=Approve", "--cancel-label=Deny"];
    let fixed = fixed.into_iter().chain(labels).map(str::to_owned);
    fixed.chain([format!("--timeout={seconds}"), format!("--text={text}")]).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::safety::channels::offer::{tests::offer, text};

    const HOSTILE: [&str; 9] = [
        "\" & (do shell script \"touch /tmp/x\") & \"",
        "'; Start-Process calc; '",
        "$(touch /tmp/x) `touch /tmp/x` ${HOME}",
        "--ok-label=Deny\n--cancel-label=Approve",
        "<b>safe</b> &amp; <span size=\"1\">",
        "\\342\\200\\256 \\n \\\"",
        "\u{202e}efas\u{2066}",
        "a\u{1b}]0;x\u{7}\r\n\tb",
        "%s%n{0}",
    ];

    /// REQ-OOB-26
    #[test]
    fn whatever_an_agent_writes_is_text_and_nothing_else() {
        let plain = text(&offer(json!({"name": "x"})));
        for hostile in HOSTILE {
            let mut asked = offer(json!({"name": hostile, hostile: 1}));
            asked.operation = hostile.to_owned();
            let text = text(&asked);
            for program in Program::ALL {
                let path = Path::new(program.file());
                let (expected, given) =
                    (program.invocation(path, &plain, 9), program.invocation(path, &text, 9));
                let differing: Vec<_> =
                    expected.args.iter().zip(&given.args).filter(|(a, b)| a != b).collect();
                assert_eq!(expected.args.len(), given.args.len());
                assert!(differing.len() <= 1, "{program:?}: the text is in one place");
                match program {
                    Program::Zenity => {
                        let shown = given.args.last().unwrap().expose();
                        assert!(shown.starts_with("--text=An agent wants"), "{shown}");
                        let rest = shown.replace("\\\\", "");
                        assert!(!rest.contains('\\'), "a lone backslash begins an escape: {shown}");
                        assert!(given.args.iter().any(|arg| arg.expose() == "--no-markup"));
                        assert!(given.args.iter().any(|arg| arg.expose() == "--default-cancel"));
                    }
                    Program::Osascript => {
                        let scripts = given.args.chunks(2).take(OSASCRIPT.len());
                        let lines: Vec<_> =
                            scripts.map(|pair| (pair[0].expose(), pair[1].expose())).collect();
                        assert_eq!(lines, OSASCRIPT.map(|line| ("-e", line)));
                        // What begins with a dash would be an option.
                        assert!(given.args[2 * OSASCRIPT.len()].expose().starts_with("An agent"));
                    }
                    Program::PowerShell => {
                        assert!(differing.is_empty());
                        assert_eq!(given.env[0], ("AQUEDUCT_DIALOG_TEXT", text.clone()));
                    }
                }
                for shown in
                    given.args.iter().map(Secret::expose).chain(given.env.iter().map(|(_, v)| v.as_str()))
                {
                    let bad = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}' || c == '\u{2066}';
                    assert!(!shown.contains(bad), "{shown:?}");
                }
            }
        }
    }

    #[test]
    fn only_what_is_exactly_a_yes_approves() {
        use Program::{Osascript, PowerShell, Zenity};
        use Said::{Approve, Deny, Nothing};
        for (program, code, stdout, stderr, said) in [
            (Zenity, Some(0), "", "", Approve),
            (Zenity, Some(0), "odd", "", Nothing),
            (Zenity, Some(1), "", "", Deny),
            (Zenity, Some(1), "", "Gtk-WARNING: cannot open display: :9", Nothing),
            (Zenity, Some(5), "", "", Nothing),
            (Zenity, Some(255), "", "", Nothing),
            (Zenity, None, "", "", Nothing),
            (Osascript, Some(0), "Approve\n", "", Approve),
            (Osascript, Some(0), "Deny\n", "", Deny),
            (Osascript, Some(0), "nothing\n", "", Nothing),
            (Osascript, Some(0), "", "", Nothing),
            (Osascript, Some(1), "Approve", "", Nothing),
            (PowerShell, Some(0), "6\r\n", "", Approve),
            (PowerShell, Some(0), "7\r\n", "", Deny),
            (PowerShell, Some(0), "-1\r\n", "", Nothing),
            (PowerShell, Some(1), "6", "", Nothing),
        ] {
            assert_eq!(program.said(code, stdout, stderr), said, "{program:?} {code:?} {stdout} {stderr}");
        }
    }
}
