//! Which file is read, and what paths in it mean.

use super::*;

fn prefix(place: Place) -> String {
    place.load().unwrap().server.prefix.as_str().to_owned()
}

fn says(prefix: &str) -> String {
    format!("[server]\nprefix = '{prefix}_'")
}

#[test]
fn files_are_looked_for_in_order() {
    let everywhere = || {
        let place = place()
            .file("flag.toml", says("flag"))
            .file("env.toml", says("env"))
            .file("aqueduct.toml", says("here"))
            .file("xdg/aqueduct/aqueduct.toml", says("xdg"))
            .file("home/.config/aqueduct/aqueduct.toml", says("home"));
        let xdg = place.directory.path().join("xdg").to_str().unwrap().to_owned();
        let home = place.directory.path().join("home").to_str().unwrap().to_owned();
        (place, xdg, home)
    };
    let (place, xdg, _) = everywhere();
    assert_eq!(
        prefix(
            place
                .environment(&[("AQUEDUCT_CONFIG", "env.toml"), ("XDG_CONFIG_HOME", &xdg)])
                .config("flag.toml")
        ),
        "flag_"
    );
    let (place, xdg, _) = everywhere();
    assert_eq!(
        prefix(place.environment(&[("AQUEDUCT_CONFIG", "env.toml"), ("XDG_CONFIG_HOME", &xdg)])),
        "env_"
    );
    let (place, xdg, _) = everywhere();
    assert_eq!(prefix(place.environment(&[("AQUEDUCT_CONFIG", ""), ("XDG_CONFIG_HOME", &xdg)])), "here_");
    let (place, xdg, home) = everywhere();
    std::fs::remove_file(place.directory.path().join("aqueduct.toml")).unwrap();
    assert_eq!(prefix(place.environment(&[("XDG_CONFIG_HOME", &xdg), ("HOME", &home)])), "xdg_");
    let (place, _, home) = everywhere();
    std::fs::remove_file(place.directory.path().join("aqueduct.toml")).unwrap();
    assert_eq!(prefix(place.environment(&[("HOME", &home)])), "home_");
}

#[test]
fn a_file_that_was_asked_for_must_be_there() {
    let error = place().config("none.toml").load().unwrap_err();
    assert_eq!(
        error.to_string(),
        "flag '--config': the configuration file 'none.toml' cannot be read: it does not exist"
    );
    assert!(error.help().is_some());
    let error = place().environment(&[("AQUEDUCT_CONFIG", "none.toml")]).load().unwrap_err();
    assert!(error.to_string().starts_with("environment variable 'AQUEDUCT_CONFIG': "), "{error}");
}

/// The operator may count on rules in it, so it is not passed over.
#[test]
fn a_file_in_a_usual_place_that_cannot_be_read_is_told() {
    let place = place();
    std::fs::create_dir(place.directory.path().join("aqueduct.toml")).unwrap();
    let error = place.load().unwrap_err();
    assert_eq!(error.to_string(), "the configuration file 'aqueduct.toml' cannot be read: it is a directory");
}

#[test]
fn paths_in_a_file_start_at_its_directory() {
    let data = |written: &str| {
        let text = format!("[store]\ndata = '{written}'");
        let place = place().file("sub/a.toml", text).config("sub/a.toml");
        let base = place.directory.path().to_owned();
        let data = place.load().unwrap().store.data;
        data.strip_prefix(base.join("sub")).map_or_else(|_| data.clone(), std::path::Path::to_owned)
    };
    for (written, expected) in
        [("x/y", "x/y"), ("/abs", "/abs"), ("~/x", "/home/a/x"), ("~", "/home/a"), ("./~x", "~x")]
    {
        assert_eq!(data(written), std::path::Path::new(expected), "{written}");
    }
}

#[test]
fn data_goes_to_xdg_then_home_and_nowhere_else() {
    let data = |given: &[(&str, &str)]| place().environment(given).load().unwrap().store.data;
    assert_eq!(data(&[("XDG_DATA_HOME", "/x")]).to_str(), Some("/x/aqueduct"));
    assert_eq!(data(&[("AQUEDUCT_DATA", "~/d")]).to_str(), Some("/home/a/d"));
    assert_eq!(data(&[("AQUEDUCT_DATA", "")]).to_str(), Some("/home/a/.local/share/aqueduct"));
    let homeless = |data: &str| place().environment(&[("HOME", ""), ("AQUEDUCT_DATA", data)]).load();
    let error = homeless("").unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is no data directory, since neither 'XDG_DATA_HOME' nor 'HOME' is set"
    );
    assert_eq!(
        homeless("~/d").unwrap_err().to_string(),
        "environment variable 'AQUEDUCT_DATA': '~/d' needs 'HOME', which is not set"
    );
    assert!(homeless("d").is_ok());
}
