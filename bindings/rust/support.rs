// SPDX-License-Identifier: MIT
//! What the build scripts of the -sys crates share: an installed library is found by pkg-config, or
//! else the C sources in the crate are compiled.
//!
//! The environment chooses, too: MAPLETREE_SYS_VENDORED=1 builds the sources, whatever is
//! installed; MAPLETREE_SYS_VENDORED=0 accepts nothing but an installed library.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The oldest installed library that has all functions of bindings.rs: of the crate's own version.
const OLDEST: &str = env!("CARGO_PKG_VERSION");

/// Links the installed library of that name, unless the sources are wanted. Returns whether it did.
pub fn link_installed(name: &str) -> bool {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=MAPLETREE_SYS_VENDORED");
    let wish = env::var("MAPLETREE_SYS_VENDORED").ok();
    let vendored = match wish.as_deref() {
        Some("1") => true,
        Some("0") => false,
        Some(other) => fail(&format!(
            "MAPLETREE_SYS_VENDORED is {other}: it may be 1 (build the sources of the crate) or 0 \
             (use the installed library)"
        )),
        None => env::var_os("CARGO_FEATURE_VENDORED").is_some(),
    };
    if vendored {
        return false;
    }
    match pkg_config::Config::new().atleast_version(OLDEST).probe(name) {
        Ok(_) => true,
        Err(error) if wish.is_some() => {
            fail(&format!("MAPLETREE_SYS_VENDORED=0, but there is no installed lib{name}: {error}"))
        }
        Err(_) => false,
    }
}

/// Ends the build with `what` went wrong.
pub fn fail(what: &str) -> ! {
    eprintln!("{}: {what}", env::var("CARGO_PKG_NAME").unwrap_or_default());
    std::process::exit(1);
}

/// liburcu-bp, which is always the installed one. Returns where its headers are.
pub fn link_urcu() -> Vec<PathBuf> {
    match pkg_config::Config::new().atleast_version("0.13").probe("liburcu-bp") {
        Ok(library) => library.include_paths,
        Err(error) => fail(&format!(
            "liburcu-bp 0.13 or later is needed: install liburcu-dev (Debian, Ubuntu), \
             userspace-rcu-devel (Fedora) or userspace-rcu (Arch, Alpine: -dev), and pkg-config; \
             {error}"
        )),
    }
}

/// The sanitizer that the Rust code is compiled with, which the C code then needs as well.
pub fn sanitizer() -> Option<String> {
    println!("cargo:rerun-if-env-changed=CARGO_ENCODED_RUSTFLAGS");
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    flags.split('\x1f').find_map(|flag| {
        let flag = flag.strip_prefix("-Z").unwrap_or(flag);
        flag.strip_prefix("sanitizer=").map(str::to_string)
    })
}

/// What all files are compiled with: as in the project's own meson.build.
pub fn compiler(include: &[PathBuf]) -> cc::Build {
    let mut build = cc::Build::new();
    build
        .cargo_metadata(false)
        .includes(include)
        .std("gnu17")
        .opt_level(2)
        .pic(true)
        .define("_GNU_SOURCE", None)
        .flag("-pthread")
        .flag("-fvisibility=hidden");
    if env::var("PROFILE").as_deref() == Ok("release") {
        build.define("NDEBUG", None);
    }
    if let Some(sanitizer) = sanitizer() {
        build.flag(format!("-fsanitize={sanitizer}"));
    }
    build
}

/// Where the crate's C sources and its headers are, the folder of the headers last.
pub fn folders() -> (PathBuf, PathBuf) {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let (sources, header) = (root.join("c"), root.join("include"));
    println!("cargo:rerun-if-changed={}", sources.display());
    println!("cargo:rerun-if-changed={}", header.display());
    (sources, header)
}

pub fn out() -> PathBuf {
    PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"))
}

/// Compiles what `build` has got, and makes lib`name`.a of it, in which only the public names are
/// visible, as in the project's own build.
pub fn link_static(name: &str, build: &cc::Build) {
    let objects = format!("{name}_objects");
    build.compile(&objects);
    archive(name, &objects, &build.get_compiler());
    println!("cargo:rustc-link-search=native={}", out().display());
    println!("cargo:rustc-link-lib=static={name}");
    link_urcu(); // behind what needs it
}

/// The C sources, in one order everywhere.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder)
        .unwrap_or_else(|error| fail(&format!("no C sources in {}: {error}", folder.display())));
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a folder that can be read").path())
        .filter(|path| path.extension().and_then(|suffix| suffix.to_str()) == Some("c"))
        .collect();
    files.sort();
    files
}

fn archive(name: &str, objects: &str, compiler: &cc::Tool) {
    let machine = |arg: &&std::ffi::OsString| {
        let arg = arg.to_string_lossy();
        arg.starts_with("--target=") || arg == "-m32" || arg == "-m64" || arg == "-mx32"
    };
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let mut command = Command::new("sh");
    command
        .arg(root.join("archive.sh"))
        .arg(out().join(format!("lib{name}.a")))
        .arg(out().join(format!("lib{objects}.a")))
        .arg(compiler.path())
        .args(compiler.args().iter().filter(machine));
    match command.status() {
        Ok(status) if status.success() => {}
        result => fail(&format!("archive.sh failed: {result:?}")),
    }
}
