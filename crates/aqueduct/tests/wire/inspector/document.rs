//! What is answered is what the document says, member for member.

use super::*;
use crate::{
    harness::{Setup, data},
    operator::{Answer, Desk, settings},
};

/// The document, which knows every member of every answer.
struct Document(Value);

impl Document {
    fn of(desk: &Desk) -> Self {
        let mut document = desk.get("/api/v1/openapi.json").body;
        assert_eq!(document["openapi"], "3.1.0");
        only_described(&mut document["components"]["schemas"]);
        Self(document)
    }

    fn paths(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.0["paths"].as_object().unwrap().iter()
    }

    /// What is wrong with something, by the schema at a place of the document.
    fn problems(&self, schema: &Value, told: &Value) -> Vec<String> {
        let mut whole = self.0.clone();
        whole["$ref"] = schema["$ref"].clone();
        let validator = jsonschema::validator_for(&whole).unwrap();
        validator.iter_errors(told).map(|error| error.to_string()).collect()
    }

    /// An answer has to be of a described type.
    fn fits(&self, method: &str, path: &str, answer: &Answer) {
        assert_eq!(answer.status, 200, "{method} {path}: {}", answer.body);
        let schema =
            &self.0["paths"][path][method]["responses"]["200"]["content"]["application/json"]["schema"];
        assert!(schema["$ref"].is_string(), "{method} {path} is not described: {schema}");
        let problems = self.problems(schema, &answer.body);
        assert!(problems.is_empty(), "{method} {path}: {problems:?}");
    }

    fn parameter(&self, path: &str, name: &str) -> &Value {
        let parameters = self.0["paths"][path]["get"]["parameters"].as_array().unwrap();
        parameters.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("{path} {name}"))
    }
}

/// Takes what is described for all that there may be.
fn only_described(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if fields.contains_key("properties") && !fields.contains_key("additionalProperties") {
                fields.insert("additionalProperties".to_owned(), json!(false));
            }
            fields.values_mut().for_each(only_described);
        }
        Value::Array(list) => list.iter_mut().for_each(only_described),
        _ => {}
    }
}

/// Everything that the document describes is served, and what is answered is as described.
#[test]
fn the_document_describes_what_is_served() {
    let directory = data();
    let desk = Desk::open(&Setup::new(directory.path()).config(&settings("")));
    let root = served(1);
    writer(directory.path()).append(&spans([root.clone(), call(2, &root, "srv-b")]), now()).unwrap();
    let document = Document::of(&desk);
    for (path, methods) in document.paths() {
        let given = path
            .replace("{trace_id}", &root.trace.to_string())
            .replace("{span_id}", &root.id.to_string())
            .replace("{id}", "r-1")
            .replace("{name}", "srv-b");
        for method in methods.as_object().unwrap().keys().filter(|_| !path.ends_with("/events")) {
            let bearer = format!("Bearer {}", desk.key);
            let query = match path.as_str() {
                "/api/v1/search" => "?q=x",
                "/api/v1/policy/test" => "?operation=introspect",
                _ => "",
            };
            let upper = method.to_uppercase();
            let answer = desk.send(&upper, &format!("{given}{query}"), &[("authorization", &bearer)], b"{}");
            assert_ne!(answer.status, 405, "{method} {path}");
            let message = answer.body["error"]["message"].as_str().unwrap_or_default();
            assert!(!message.starts_with("there is nothing here"), "{method} {path}");
            let is_text = ["/metrics", "/api/v1/openapi.json"].contains(&path.as_str());
            if method == "get" && answer.status == 200 && !is_text {
                document.fits(method, path, &answer);
            }
        }
    }
    let full = desk.get(&format!("/api/v1/traces/{}?full=1", root.trace));
    assert!(full.body["spans"][0]["attributes"].is_object());
    document.fits("get", "/api/v1/traces/{trace_id}", &full);
    let answered = |path: &str| &document.0["paths"][path]["get"]["responses"]["200"]["content"];
    assert!(answered("/metrics").as_object().unwrap().keys().all(|kind| kind.starts_with("text/plain")));
}

#[test]
fn the_document_says_what_has_to_be_given_and_which_words_there_are() {
    let directory = data();
    let desk = Desk::open(&Setup::new(directory.path()).config(&settings("")));
    let document = Document::of(&desk);
    for (path, name, without) in
        [("/api/v1/search", "q", ""), ("/api/v1/policy/test", "operation", "?principal=x")]
    {
        assert_eq!(document.parameter(path, name)["required"], true, "{path}");
        assert_eq!(desk.get(&format!("{path}{without}")).status, 400, "{path}");
    }
    assert_eq!(document.parameter("/api/v1/policy/test", "principal")["required"], false);
    for (path, name) in [
        ("/api/v1/sessions", "status"),
        ("/api/v1/sessions", "engine"),
        ("/api/v1/operations", "status"),
        ("/api/v1/operations", "engine"),
        ("/api/v1/approvals", "state"),
    ] {
        let words = document.parameter(path, name)["schema"]["enum"].as_array().unwrap();
        for word in words {
            assert_eq!(desk.get(&format!("{path}?{name}={}", word.as_str().unwrap())).status, 200, "{word}");
        }
        assert!(words.len() >= 3, "{path} {name}");
    }
    let resumed = document.parameter("/api/v1/events", "Last-Event-ID");
    assert_eq!((&resumed["in"], &resumed["schema"]["type"]), (&json!("header"), &json!("integer")));
    let body = |path: &str| &document.0["paths"][path]["post"]["requestBody"];
    for (path, required) in [
        ("/api/v1/blocks/{agent}/unblock", true),
        ("/api/v1/approvals/{id}/approve", false),
        ("/api/v1/approvals/{id}/deny", false),
        ("/api/v1/inputs/{id}", true),
        ("/api/v1/resources/read", true),
    ] {
        let body = body(path);
        assert_eq!(body["required"], required, "{path}");
        let given = if path.ends_with("unblock") { json!({"reason": "x"}) } else { json!({"note": "x"}) };
        if path.contains("approvals") || path.contains("blocks") {
            let schema = &body["content"]["application/json"]["schema"];
            assert!(document.problems(schema, &given).is_empty(), "{path}");
            assert!(!document.problems(schema, &json!({"x": 1})).is_empty(), "{path}");
        }
    }
}

/// What waits, what was answered, who is blocked and the log of it all, as the document says.
#[test]
fn what_a_person_is_asked_and_answers_is_described() {
    let directory = data();
    let config =
        format!("{}\n[safety]\nhold_seconds = 0\n\n[safety.loop]\nmode = \"enforcing\"\n", settings(""));
    let desk = Desk::open(&Setup::new(directory.path()).asking().config(&config));
    let document = Document::of(&desk);
    let mut client = desk.client();
    let mut ask = |name: &str| {
        let asked = client.execute("execute_agent", json!({"element_name": name}));
        asked["error"]["details"]["approval_id"].as_str().map(str::to_owned)
    };
    let get = |path: &str| document.fits("get", path, &desk.get(path));
    let post = |path: &str, id: &str, body: &Value| {
        let given = path.replace("{id}", id).replace("{agent}", id);
        let answer = desk.post(&given, body);
        document.fits("post", path, &answer);
        answer.body
    };
    let (one, two, three) = (ask("one").unwrap(), ask("two").unwrap(), ask("three").unwrap());
    get("/api/v1/approvals");
    get("/api/v1/approvals/wait");
    document.fits("get", "/api/v1/approvals/{id}", &desk.get(&format!("/api/v1/approvals/{one}")));
    post("/api/v1/approvals/{id}/token", &one, &json!({}));
    post("/api/v1/approvals/{id}/approve", &one, &json!({"note": "yes"}));
    post("/api/v1/approvals/{id}/deny", &two, &json!({}));
    post("/api/v1/approvals/{id}/approve", &three, &json!({}));
    post("/api/v1/approvals/{id}/revoke", &three, &json!({}));
    get("/api/v1/approvals");

    assert_eq!(ask("one"), None, "it runs");
    let hint =
        json!({"element_name": "one", "next_action_hint": "rm -rf / on the production database server"});
    let stopped = client.create("record_execution_step", hint);
    assert_eq!(stopped["data"]["stopped"], true, "{stopped}");
    get("/api/v1/blocks");
    get("/api/v1/challenges");
    get("/api/v1/approvals/wait");
    let challenges = desk.get("/api/v1/challenges").body;
    let challenge = challenges["challenges"][0]["id"].as_str().unwrap();
    let revealed = post("/api/v1/challenges/{id}/reveal", challenge, &json!({}));
    assert!(revealed["code"].is_string());
    post("/api/v1/blocks/{agent}/unblock", "one", &json!({"reason": "it was a test"}));
    get("/api/v1/audit");
    assert!(desk.get("/api/v1/audit").body["entries"].as_array().unwrap().len() > 5);
    get("/api/v1/audit/verify");
    for operation in ["delete_entity", "introspect", "execute_agent"] {
        let answer = desk.get(&format!("/api/v1/policy/test?operation={operation}"));
        document.fits("get", "/api/v1/policy/test", &answer);
    }
}
