//! Adapters of real servers, where their lists lie beside the project.

use super::*;
use crate::{
    discover::{
        adapter::tests::applying::shown,
        tests::{captured, faults, made_of, of_server, schema, without_trust},
    },
    registry::Registry,
};

/// REQ-DISC-17 REQ-DISC-22 REQ-DISC-26 REQ-DISC-27 LREQ-ADAPT-13 LREQ-ADAPT-14
#[test]
fn every_captured_server_gives_an_adapter_that_serves_the_same() {
    let Some(schema) = schema("adapter-schema") else { return };
    let overrides = classify::Overrides::default();
    let captured = captured();
    for (name, list, noted) in &captured {
        let bundle = made_of(&of_server(name, list, noted)).unwrap();
        let built =
            build(&bundle, &Overrides::default()).unwrap_or_else(|problems| panic!("{name}: {problems:?}"));
        assert_eq!(built.files(), build(&bundle, &Overrides::default()).unwrap().files(), "{name}");
        let text = markdown(&built);
        let settings = front(&text);
        assert_eq!(faults(&schema, &without_trust(&settings)), Vec::<String>::new(), "{name}");
        let adapter = reread(&built);
        let mut without_lines = adapter.clone();
        without_lines.operations.iter_mut().for_each(|operation| {
            operation.line = 0;
            operation.params.sort_by(|one, other| one.name.cmp(&other.name));
        });
        let mut expected = built.adapter.clone();
        expected
            .operations
            .iter_mut()
            .for_each(|operation| operation.params.sort_by(|one, other| one.name.cmp(&other.name)));
        assert!(without_lines == expected, "{name}");

        let tools = listed::parse(list).unwrap();
        // Judging goes by the server's name too.
        let options = adopt::Options { server: name, ..options(&overrides, "p_") };
        let own = adopt::adopt(&tools, &options, &mut Taken::default());
        let followed = super::super::adopt(&adapter, &tools, &options, &mut Taken::default());
        assert_eq!(followed.notes, [], "{name}");
        for (followed, own) in shown(&followed.adopted).iter().zip(shown(&own)) {
            assert_eq!(*followed, own, "{name}");
        }
        assert_eq!(followed.adopted.operations.len(), own.operations.len(), "{name}");
        let builder = Registry::builder("x").types(followed.adopted.types);
        let operations = followed.adopted.operations.into_iter().map(|operation| operation.definition);
        builder.operations(operations).build().unwrap_or_else(|problems| panic!("{name}: {problems}"));
    }
    assert!(captured.len() >= 42);
}
