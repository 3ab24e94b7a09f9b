// SPDX-License-Identifier: MIT
//! Finds libmapletree by pkg-config, or else builds the sources that the crate carries.
//!
//! The environment chooses, too: MAPLETREE_SYS_VENDORED=1 builds the sources, whatever is
//! installed; MAPLETREE_SYS_VENDORED=0 accepts nothing but an installed library.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The oldest installed library that has all functions of bindings.rs.
const OLDEST: &str = "0.1.0";

/// Compiled once for each instruction set: see c/variants.h.
const ISA_FILES: [&str; 5] = ["batch.c", "copy.c", "descend.c", "gap_search.c", "lookup_many.c"];
const AVX2: [&str; 4] = ["-mavx2", "-mpopcnt", "-mbmi", "-mbmi2"];
const AVX512: [&str; 4] = ["-mavx512f", "-mavx512vl", "-mavx512bw", "-mavx512dq"];

fn main() {
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
    if !vendored {
        match pkg_config::Config::new().atleast_version(OLDEST).probe("mapletree") {
            Ok(library) => {
                for path in library.include_paths {
                    println!("cargo:include={}", path.display());
                }
                return;
            }
            Err(error) if wish.is_some() => fail(&format!(
                "MAPLETREE_SYS_VENDORED=0, but there is no installed libmapletree: {error}"
            )),
            Err(_) => {}
        }
    }
    build();
}

/// Ends the build with `what` went wrong.
fn fail(what: &str) -> ! {
    eprintln!("mapletree-sys: {what}");
    std::process::exit(1);
}

/// liburcu-bp, which is always the installed one. Returns where its headers are.
fn link_urcu() -> Vec<PathBuf> {
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
fn sanitizer() -> Option<String> {
    println!("cargo:rerun-if-env-changed=CARGO_ENCODED_RUSTFLAGS");
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    flags.split('\x1f').find_map(|flag| {
        let flag = flag.strip_prefix("-Z").unwrap_or(flag);
        flag.strip_prefix("sanitizer=").map(str::to_string)
    })
}

/// What all files are compiled with: as in the project's own meson.build.
fn compiler(include: &[PathBuf]) -> cc::Build {
    let mut build = cc::Build::new();
    build
        .cargo_metadata(false)
        .includes(include)
        .std("gnu17")
        .opt_level(2)
        .pic(true)
        .define("_GNU_SOURCE", None)
        .flag("-pthread")
        .flag("-fvisibility=hidden")
        .flag("-ftls-model=initial-exec")
        .flag_if_supported("-fno-tree-slp-vectorize")
        .flag_if_supported("-mno-stv");
    if env::var("PROFILE").as_deref() == Ok("release") {
        build.define("NDEBUG", None);
    }
    if let Some(sanitizer) = sanitizer() {
        build.flag(format!("-fsanitize={sanitizer}"));
    }
    build
}

fn build() {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let sources = root.join("c");
    let header = root.join("include");
    println!("cargo:rerun-if-changed={}", sources.display());
    println!("cargo:rerun-if-changed={}", header.display());
    println!("cargo:include={}", header.display());
    let mut include = link_urcu();
    include.push(header);

    // Sanitizers do not like code that runs as early as the choice of a variant does.
    let variants = env::var("CARGO_CFG_TARGET_ARCH").as_deref() == Ok("x86_64")
        && env::var("CARGO_CFG_TARGET_ENV").as_deref() != Ok("musl") // has no indirect functions
        && sanitizer().is_none();
    let mut main = compiler(&include);
    for file in files(&sources) {
        let name = file.file_name().expect("a file of the folder").to_string_lossy().into_owned();
        let once = !ISA_FILES.contains(&name.as_str()) && name != "variants.c";
        if once || (name == "variants.c") == variants {
            main.file(&file);
        }
    }
    if variants {
        for (isa, flags) in
            [("base", Vec::new()), ("avx2", AVX2.to_vec()), ("avx512", [AVX2, AVX512].concat())]
        {
            let mut build = compiler(&include);
            build.define("MT_ISA", isa).out_dir(out.join(isa));
            for flag in flags {
                build.flag(flag);
            }
            build.files(ISA_FILES.map(|name| sources.join(name)));
            for object in build.compile_intermediates() {
                main.object(object);
            }
        }
    }
    main.compile("mapletree_objects");
    archive(&root, &out, &main.get_compiler());
    println!("cargo:rustc-link-search=native={}", out.display());
    println!("cargo:rustc-link-lib=static=mapletree");
    link_urcu(); // behind what needs it
}

/// The C sources, in one order everywhere.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder)
        .unwrap_or_else(|error| fail(&format!("no C sources in {}: {error}", folder.display())));
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a folder that can be read").path())
        .filter(|path| path.extension().and_then(|suffix| suffix.to_str()) == Some("c"))
        .collect();
    files.sort();
    files
}

/// Makes libmapletree.a, in which only the public names are visible, as the project's own build.
fn archive(root: &Path, out: &Path, compiler: &cc::Tool) {
    let machine = |arg: &&std::ffi::OsString| {
        let arg = arg.to_string_lossy();
        arg.starts_with("--target=") || arg == "-m32" || arg == "-m64" || arg == "-mx32"
    };
    let mut command = Command::new("sh");
    command
        .arg(root.join("archive.sh"))
        .arg(out.join("libmapletree.a"))
        .arg(out.join("libmapletree_objects.a"))
        .arg(compiler.path())
        .args(compiler.args().iter().filter(machine));
    match command.status() {
        Ok(status) if status.success() => {}
        result => fail(&format!("archive.sh failed: {result:?}")),
    }
}
