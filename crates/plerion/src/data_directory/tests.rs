use tempfile::TempDir;

use super::*;

const PARTS: [&str; 4] = ["FORMAT", "LOCK", "ledgers", "metadata"];

fn open(path: &Path) -> Result<DataDirectory, Error> {
    DataDirectory::open(path, Wipe::Nothing)
}

fn entries(path: &Path) -> Vec<String> {
    let name = |entry: io::Result<fs::DirEntry>| entry.expect("an entry").file_name().to_string_lossy().into_owned();
    let mut names: Vec<String> = fs::read_dir(path).expect("a directory").map(name).collect();
    names.sort();
    names
}

/// A directory that was used, with data in it.
fn used() -> TempDir {
    let dir = TempDir::new().expect("a directory");
    let data = open(dir.path()).expect("usable");
    fs::write(data.ledgers().join("segment"), "entries").expect("written");
    dir
}

#[test]
fn it_is_made_locked_and_opened_again_with_what_was_in_it() {
    let dir = TempDir::new().expect("a directory");
    let path = dir.path().join("deep/data");
    let data = open(&path).expect("made");
    assert_eq!(entries(&path), PARTS);
    assert!(matches!(open(&path), Err(Error::InUse(_))));
    fs::write(data.ledgers().join("segment"), "entries").expect("written");
    drop(data);
    let data = open(&path).expect("free again");
    assert_eq!(fs::read_to_string(data.ledgers().join("segment")).expect("there"), "entries");
}

#[test]
fn a_newer_format_is_refused_and_may_be_wiped() {
    let dir = used();
    fs::write(dir.path().join(FORMAT), "plerion data format 2\n").expect("written");
    let error = open(dir.path()).expect_err("newer");
    assert!(matches!(error, Error::Newer { found: 2, .. }), "{error}");
    assert!(error.to_string().contains("has format 2, this version reads up to 1"), "{error}");
    assert_eq!(entries(dir.path()), PARTS);
    DataDirectory::open(dir.path(), Wipe::Everything).expect("wiped");
    open(dir.path()).expect("of the current format");
}

#[test]
fn a_directory_of_somebody_else_is_left_as_it_is_even_when_asked_to_wipe() {
    let dir = TempDir::new().expect("a directory");
    fs::write(dir.path().join("thesis.tex"), "years of work").expect("written");
    for wipe in [Wipe::Nothing, Wipe::Everything] {
        let error = DataDirectory::open(dir.path(), wipe).expect_err("foreign");
        assert!(matches!(error, Error::Foreign { .. }) && error.to_string().contains("thesis.tex"), "{error}");
        assert_eq!(entries(dir.path()), ["thesis.tex"]);
    }
    fs::write(dir.path().join(FORMAT), "PDF 1.7").expect("written");
    for wipe in [Wipe::Nothing, Wipe::Everything] {
        let error = DataDirectory::open(dir.path(), wipe).expect_err("foreign");
        assert!(matches!(error, Error::Foreign { .. }), "{error}");
        assert!(entries(dir.path()).contains(&"thesis.tex".into()));
    }
}

#[test]
fn the_root_of_a_file_system_counts_as_empty() {
    let dir = TempDir::new().expect("a directory");
    fs::create_dir(dir.path().join(LOST_AND_FOUND)).expect("made");
    drop(open(dir.path()).expect("usable"));
    DataDirectory::open(dir.path(), Wipe::Everything).expect("wiped");
    assert_eq!(entries(dir.path()), ["FORMAT", "LOCK", "ledgers", "lost+found", "metadata"]);
}

#[test]
fn wiping_deletes_everything_and_not_while_in_use() {
    let dir = used();
    let data = open(dir.path()).expect("free");
    assert!(matches!(DataDirectory::open(dir.path(), Wipe::Everything), Err(Error::InUse(_))));
    assert!(data.ledgers().join("segment").try_exists().expect("readable"));
    drop(data);
    let data = DataDirectory::open(dir.path(), Wipe::Everything).expect("wiped");
    assert_eq!(entries(dir.path()), PARTS);
    assert_eq!(entries(&data.ledgers()), [] as [&str; 0]);
}

#[test]
fn an_interrupted_wipe_is_finished_at_the_next_start() {
    let dir = used();
    fs::write(dir.path().join(WIPE), "").expect("written");
    fs::remove_file(dir.path().join(FORMAT)).expect("removed");
    let data = open(dir.path()).expect("finished");
    assert_eq!(entries(dir.path()), PARTS);
    assert_eq!(entries(&data.ledgers()), [] as [&str; 0]);
}

#[test]
fn a_first_start_that_was_interrupted_is_made_up_for() {
    let dir = TempDir::new().expect("a directory");
    fs::write(dir.path().join(LOCK), "").expect("written");
    fs::write(dir.path().join(NEW_FORMAT), "plerion da").expect("written");
    drop(open(dir.path()).expect("usable"));
    assert_eq!(entries(dir.path()), PARTS);
}
