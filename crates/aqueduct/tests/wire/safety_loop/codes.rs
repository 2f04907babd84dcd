use super::*;
use crate::harness::{Era, data};

/// REQ-OOB-05 REQ-OOB-06 REQ-OOB-07 REQ-OOB-09
#[test]
fn no_code_is_in_anything_that_we_send_write_or_keep() {
    let directory = data();
    let setup = enforcing(directory.path()).env("RUST_LOG", "trace");
    let mut client = setup.stdio(Era::Initialize("2025-11-25"));
    let operator = Operator::of(directory.path());
    let mut sent = String::new();
    let mut codes = Vec::new();
    for number in 0..10 {
        sent += &start(&mut client, &operator, &format!("agent-{number}")).to_string();
    }
    for number in 0..50 {
        // Another agent each time: one that failed to verify stays paused.
        let agent = format!("agent-{}", number / 5);
        let hint = if number % 5 < 4 { "rm -rf /" } else { "permanently overwriting the report" };
        let told = step(&mut client, &agent, hint);
        sent += &told.to_string();
        let kind = if number % 5 < 4 { "danger_zone" } else { "autonomy_pause" };
        let all = told["notifications"].as_array().unwrap();
        let own = all.iter().rfind(|one| one["type"] == kind).unwrap();
        let challenge = own["metadata"]["verificationId"].as_str().unwrap().to_owned();
        let given = operator.reveal(&challenge);
        let answer = match number % 5 {
            // Right, wrong, unknown, malformed, and in a hint.
            0 => verify(&mut client, &challenge, &given),
            1 => verify(&mut client, &challenge, &"0".repeat(28)),
            2 => verify(&mut client, "no-such-challenge", &given),
            3 => client.create("verify_challenge", json!({"challenge_id": challenge, "code": [given]})),
            _ => report(&mut client, &agent, &format!("calling verify_challenge with {given}")),
        };
        sent += &answer.to_string();
        codes.push(given);
        // Many principals would be needed to guess on; here the operator clears the way.
        operator.unblock(&agent);
    }
    sent += &json!(client.notifications()).to_string();
    client.stdio().process.child.kill().unwrap();
    sent += &client.stdio().process.stderr.lock().unwrap();
    let mut kept = Vec::new();
    let mut folders = vec![directory.path().join("data")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => kept.extend(std::fs::read(path).unwrap()),
            }
        }
    }
    let distinct: std::collections::HashSet<_> = codes.iter().collect();
    assert_eq!(distinct.len(), 50);
    let kept = String::from_utf8_lossy(&kept);
    for code in &codes {
        let plain = code.replace('-', "");
        let hex: String = code.bytes().map(|byte| format!("{byte:02x}")).collect();
        for form in [code.clone(), plain.clone(), plain.to_lowercase(), code.to_lowercase(), hex] {
            assert!(!sent.contains(&form), "a code was sent: {form}");
            assert!(!kept.contains(&form), "a code was kept: {form}");
        }
    }
    assert!(operator.count("CHALLENGE_REVEALED") == 50 && operator.count("VERIFICATION_FAILED") > 10);
}

/// REQ-OOB-22
#[test]
fn guessing_is_refused_after_ten_times_the_right_code_included() {
    let directory = data();
    let mut client = enforcing(directory.path()).stdio(Era::Initialize("2025-11-25"));
    let operator = Operator::of(directory.path());
    start(&mut client, &operator, "a1");
    let challenge = verification_id(&step(&mut client, "a1", "rm -rf /"), "danger_zone");
    for _ in 0..10 {
        assert_eq!(code(&verify(&mut client, &challenge, "guess")), "PERMISSION_DENIED");
    }
    let refused = report(&mut client, "a1", "listing the files");
    let challenge = refused["error"]["details"]["challenge_id"].as_str().unwrap().to_owned();
    let given = operator.reveal(&challenge);
    let locked = verify(&mut client, &challenge, &given);
    assert_eq!(code(&locked), "RATE_LIMIT_EXCEEDED", "{locked}");
    assert!(locked["error"]["details"]["retry_after_seconds"].as_u64().unwrap() <= 60);
    assert_eq!(operator.blocks(), ["a1"]);
}
