//! Opening a store where something else is in its place.

use std::fs;

use super::*;

fn refused(dir: &Path) -> Error {
    match EntityStore::open(dir, Options::default(), &[]) {
        Err(error) => error,
        Ok(_) => panic!("it was opened"),
    }
}

/// A directory with a store of one entity that was closed in good order.
async fn closed() -> (TempDir, std::path::PathBuf) {
    let f = fixture();
    f.add(1, new("note", "one")).await;
    f.store.close().await;
    let path = f.dir.path().join(schema::FILE);
    (f.dir, path)
}

#[tokio::test]
async fn a_store_is_opened_again_with_what_it_held() {
    let (dir, _) = closed().await;
    for _ in 0..2 {
        let store = EntityStore::open(dir.path(), Options::default(), &[]).unwrap();
        assert_eq!(store.find_by_name("one", None).await.unwrap().len(), 1);
    }
}

#[tokio::test]
async fn a_newer_file_is_left_untouched() {
    let (dir, path) = closed().await;
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 1000).unwrap();
    let bytes = fs::read(&path).unwrap();
    let supported = u32::try_from(schema::SCHEMA.steps.len()).unwrap();
    assert_eq!(refused(dir.path()), Error::Newer { found: 1000, supported });
    assert_eq!(fs::read(&path).unwrap(), bytes);
}

/// A newer program crashed: what it wrote last stands in the log and has to stay there.
#[tokio::test]
async fn the_log_of_a_newer_file_is_left_untouched() {
    let (from, path) = closed().await;
    let newer = Connection::open(&path).unwrap();
    newer.pragma_update(None, "user_version", 1000).unwrap();
    let crashed = tempfile::tempdir().unwrap();
    let log = format!("{}-wal", schema::FILE);
    for file in [schema::FILE, &log] {
        fs::copy(from.path().join(file), crashed.path().join(file)).unwrap();
    }
    let bytes = |file: &str| fs::read(crashed.path().join(file)).unwrap();
    let before = (bytes(schema::FILE), bytes(&log));
    assert!(!before.1.is_empty());
    assert!(matches!(refused(crashed.path()), Error::Newer { found: 1000, .. }));
    assert_eq!((bytes(schema::FILE), bytes(&log)), before);
}

#[tokio::test]
async fn what_is_no_store_is_damaged_and_left_untouched() {
    let (dir, path) = closed().await;
    let sound = fs::read(&path).unwrap();
    let mut scrambled = sound.clone();
    scrambled[100..4096].fill(0xA5);
    let foreign = {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("foreign.db");
        Connection::open(&path).unwrap().execute_batch("CREATE TABLE other (x)").unwrap();
        fs::read(path).unwrap()
    };
    let text = b"this is a letter to a friend and certainly no database ".repeat(100);
    let half = sound[..sound.len() / 2].to_vec();
    for (what, bytes) in [("scrambled", scrambled), ("foreign", foreign), ("text", text), ("half", half)] {
        fs::write(&path, &bytes).unwrap();
        assert_eq!(refused(dir.path()), Error::Damaged, "{what}");
        assert!(fs::read(&path).unwrap() == bytes, "{what} was changed");
    }
    fs::write(&path, sound).unwrap();
    assert!(EntityStore::open(dir.path(), Options::default(), &[]).is_ok());
}

#[test]
fn a_file_in_place_of_the_directory_is_named_as_such() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "content").unwrap();
    assert_eq!(refused(&file), Error::NotADirectory);
    assert_eq!(fs::read(&file).unwrap(), b"content");
}

#[test]
fn a_directory_in_place_of_the_file_is_no_store() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join(schema::FILE)).unwrap();
    assert!(matches!(refused(dir.path()), Error::Unwritable { .. }));
}

#[cfg(target_os = "linux")]
#[test]
fn an_unwritable_directory_is_named_as_such() {
    assert!(matches!(refused(Path::new("/proc/self")), Error::Unwritable { .. }));
}

#[cfg(unix)]
#[tokio::test]
async fn every_file_belongs_to_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let f = fixture();
    f.add(1, new("note", "one")).await;
    let mut files = 0;
    for entry in fs::read_dir(f.dir.path()).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{entry:?}");
        files += 1;
    }
    assert_eq!(files, 3, "the file, its log and its shared memory");
}

#[test]
fn everyone_who_opens_a_fresh_directory_at_once_succeeds() {
    for _ in 0..8 {
        let outer = tempfile::tempdir().unwrap();
        let dir = outer.path().join("fresh");
        let start = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for number in 0..8 {
                let (dir, start) = (&dir, &start);
                scope.spawn(move || {
                    start.wait();
                    // Some with other indexes than the rest.
                    let index = [format!("metadata.{}", number % 3), "metadata.common".to_owned()];
                    EntityStore::open(dir, Options::default(), &index).map(drop).unwrap();
                });
            }
        });
    }
}

#[tokio::test]
async fn a_file_of_the_first_format_keeps_what_it_held() {
    let dir = tempfile::tempdir().unwrap();
    let connection = Connection::open(dir.path().join(schema::FILE)).unwrap();
    connection.execute_batch(schema::SCHEMA.steps[0]).unwrap();
    connection.pragma_update(None, "application_id", schema::SCHEMA.application_id).unwrap();
    connection.pragma_update(None, "user_version", 1).unwrap();
    connection
        .execute_batch(
            "INSERT INTO entities VALUES (1, 'a', 'note', 'one', 5, 1, 0, 0, '', NULL, '{\"x\": 7}');
             INSERT INTO entities_text (rowid, name, tags, description, metadata) VALUES (1, 'one', '', '', '7');",
        )
        .unwrap();
    drop(connection);
    let store = EntityStore::open(dir.path(), Options::default(), &["metadata.x".to_owned()]).unwrap();
    let given = json!({"filter": {"metadata.x": 7}, "sort": {"field": "updated_at"}});
    let query = super::querying::read(&given, &super::super::collection::list().unwrap());
    let answer = store.query(query, Find::default(), at(0)).await.unwrap().unwrap().into_value();
    assert_eq!(answer["items"][0]["created_at"], "1970-01-01T00:00:00.000000Z");
}
