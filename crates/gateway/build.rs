//! Builds the Inspector's page with npm and lays it where the program embeds it from.
//!
//! The page is built once for each state of its sources and kept below the target directory, so that the other profiles
//! and features find it there. Nothing is written anywhere else. Where it cannot be built, a page that says how to get
//! it takes its place: the program never fails to build for want of Node.
//!
//! `AQUEDUCT_UI=off` leaves it out without a word, `AQUEDUCT_UI=required` makes the build fail without it.

#![expect(clippy::disallowed_methods, reason = "a build script has no runtime that could wait for npm")]

use std::{
    collections::BTreeMap,
    env, fs,
    hash::{DefaultHasher, Hash, Hasher},
    io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// What the page is made of, below `ui/`.
const SOURCES: [&str; 8] = [
    "src",
    "public",
    "index.html",
    "package.json",
    "package-lock.json",
    "tsconfig.json",
    "vite.config.ts",
    ".npmrc",
];

const NODE_MAJOR_MIN: u32 = 20;

/// A registry that does not answer must not keep the build for longer.
const NPM_SECONDS_MAX: u64 = 300;

const NO_PAGE: &str = include_str!("src/inspect/no_page.html");

fn main() -> io::Result<()> {
    let variable = |name: &str| env::var_os(name).map(PathBuf::from).unwrap_or_default();
    let (out, sources) = (variable("OUT_DIR"), variable("CARGO_MANIFEST_DIR").join("../../ui"));
    println!("cargo::rerun-if-env-changed=AQUEDUCT_UI");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/inspect/no_page.html");
    // What is named here and is not there would make every build run this again.
    for source in SOURCES.map(|name| sources.join(name)).iter().filter(|source| source.exists()) {
        println!("cargo::rerun-if-changed={}", source.display());
    }
    let page = out.join("ui");
    // The name of a folder that is only known now can be given in no other way without more libraries.
    let files = format!(
        "#[derive(rust_embed::RustEmbed)]\n#[folder = {:?}]\nstruct Files;\n",
        page.to_string_lossy()
    );
    fs::write(out.join("page.rs"), files)?;
    let wanted = env::var("AQUEDUCT_UI").unwrap_or_default();
    let built = if wanted == "off" {
        Err("this program was built with AQUEDUCT_UI=off".to_owned())
    } else {
        built_page(&sources, &out)
    };
    match built {
        Ok(built) => replace(&page, &built),
        Err(why) if wanted == "required" => Err(io::Error::other(why)),
        Err(why) => {
            if wanted != "off" {
                println!("cargo::warning=the Inspector's page is left out: {why}");
            }
            clear(&page)?;
            // What tools said of this machine is for who builds, not for who looks at the page.
            let why = why.split(": ").next().unwrap_or_default();
            fs::write(page.join("index.html"), NO_PAGE.replace("{why}", why))
        }
    }
}

/// The directory with the built page: the one of an earlier build from the same sources, or a new one.
fn built_page(sources: &Path, out: &Path) -> Result<PathBuf, String> {
    let files = files_of(sources).map_err(|error| format!("its sources cannot be read: {error}"))?;
    if files.is_empty() {
        return Err("its sources are not here".to_owned());
    }
    let kept = kept_pages(out);
    let built = kept.join(key(&files));
    if built.join("index.html").is_file() {
        return Ok(built);
    }
    node_is_there()?;
    let work = kept.join(format!("work-{}", std::process::id()));
    let made = build(&files, &work).and_then(|()| {
        // Another build may have been faster; its page is the same.
        match fs::rename(work.join("dist"), &built) {
            Err(error) if !built.join("index.html").is_file() => Err(format!("it cannot be kept: {error}")),
            _ => Ok(built),
        }
    });
    let _ = fs::remove_dir_all(&work);
    made
}

fn build(files: &BTreeMap<String, Vec<u8>>, work: &Path) -> Result<(), String> {
    let copied = || -> io::Result<()> {
        clear(work)?;
        for (name, bytes) in files {
            let path = work.join(name);
            fs::create_dir_all(path.parent().unwrap_or(work))?;
            fs::write(path, bytes)?;
        }
        Ok(())
    };
    copied().map_err(|error| format!("its sources cannot be copied: {error}"))?;
    npm(work, &["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"])?;
    npm(work, &["run", "build", "--", "--outDir", "dist"])
}

/// Runs npm until it is done, or has taken too long. What it says is only told if it fails.
fn npm(work: &Path, arguments: &[&str]) -> Result<(), String> {
    let what = format!("npm {}", arguments.first().copied().unwrap_or_default());
    let failed = |error: io::Error| format!("'{what}' does not run: {error}");
    let log = work.join("npm.log");
    let file = fs::File::create(&log).map_err(failed)?;
    let mut child = Command::new(if cfg!(windows) { "npm.cmd" } else { "npm" })
        .args(arguments)
        .current_dir(work)
        .stdin(Stdio::null())
        .stdout(file.try_clone().map_err(failed)?)
        .stderr(file)
        .spawn()
        .map_err(failed)?;
    let end = Instant::now() + Duration::from_secs(NPM_SECONDS_MAX);
    let status = loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            break status;
        }
        if Instant::now() > end {
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!("'{what}' was not done after {NPM_SECONDS_MAX} seconds"));
        }
        thread::sleep(Duration::from_millis(50));
    };
    if status.success() {
        return Ok(());
    }
    let said = fs::read_to_string(&log).unwrap_or_default();
    let is_error = |line: &&str| line.contains("error") && !line.contains("complete log");
    let told: Vec<_> = said.lines().filter(is_error).take(2).map(str::trim).collect();
    Err(format!("'{what}' failed: {}", told.join("; ")))
}

fn node_is_there() -> Result<(), String> {
    let missing = || format!("Node {NODE_MAJOR_MIN} or newer is not installed");
    let told = Command::new("node").arg("--version").output().map_err(|_| missing())?;
    let version = String::from_utf8_lossy(&told.stdout).trim().to_owned();
    let major = version.trim_start_matches('v').split('.').next().and_then(|major| major.parse().ok());
    match major {
        Some(major) if major >= NODE_MAJOR_MIN => Ok(()),
        Some::<u32>(_) => Err(format!("it takes Node {NODE_MAJOR_MIN} or newer, and this is {version}")),
        None => Err(missing()),
    }
}

/// Below the target directory, where every profile looks. Where that is not what it looks like, below our own.
fn kept_pages(out: &Path) -> PathBuf {
    let mut above = out.ancestors().skip(2);
    let is_usual = above.next().and_then(Path::file_name).is_some_and(|name| name == "build");
    match above.nth(1) {
        Some(target) if is_usual => target.join("aqueduct-ui"),
        _ => out.join("aqueduct-ui"),
    }
}

/// All sources with their names below `ui/`.
fn files_of(sources: &Path) -> io::Result<BTreeMap<String, Vec<u8>>> {
    fn add(path: &Path, name: String, files: &mut BTreeMap<String, Vec<u8>>) -> io::Result<()> {
        if path.is_dir() {
            for entry in fs::read_dir(path)? {
                let entry = entry?;
                add(&entry.path(), format!("{name}/{}", entry.file_name().to_string_lossy()), files)?;
            }
        } else if path.is_file() {
            files.insert(name, fs::read(path)?);
        }
        Ok(())
    }
    let mut files = BTreeMap::new();
    for name in SOURCES {
        add(&sources.join(name), name.to_owned(), &mut files)?;
    }
    Ok(files)
}

fn key(files: &BTreeMap<String, Vec<u8>>) -> String {
    let mut hasher = DefaultHasher::new();
    files.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

fn clear(directory: &Path) -> io::Result<()> {
    if directory.exists() {
        fs::remove_dir_all(directory)?;
    }
    fs::create_dir_all(directory)
}

/// Copies the page, so that what is embedded is there as long as the build that names it.
fn replace(page: &Path, built: &Path) -> io::Result<()> {
    clear(page)?;
    for entry in fs::read_dir(built)? {
        let entry = entry?;
        let to = page.join(entry.file_name());
        if entry.path().is_dir() {
            replace(&to, &entry.path())?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}
