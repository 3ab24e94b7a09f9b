// SPDX-License-Identifier: MIT
//! Finds libmapletree by pkg-config, or else builds the sources that the crate carries.

mod support;

use std::env;
use support::{compiler, files, folders, link_installed, link_static, link_urcu, out, sanitizer};

/// Compiled once for each instruction set: see c/variants.h.
const ISA_FILES: [&str; 5] = ["batch.c", "copy.c", "descend.c", "gap_search.c", "lookup_many.c"];
const AVX2: [&str; 4] = ["-mavx2", "-mpopcnt", "-mbmi", "-mbmi2"];
const AVX512: [&str; 4] = ["-mavx512f", "-mavx512vl", "-mavx512bw", "-mavx512dq"];

fn main() {
    if !link_installed("mapletree") {
        build();
    }
}

fn build() {
    let (sources, headers) = folders();
    let mut include = link_urcu();
    include.push(headers);
    let settings = || {
        let mut build = compiler(&include);
        build
            .flag("-ftls-model=initial-exec")
            .flag_if_supported("-fno-tree-slp-vectorize")
            .flag_if_supported("-mno-stv");
        build
    };

    // Sanitizers do not like code that runs as early as the choice of a variant does.
    let variants = env::var("CARGO_CFG_TARGET_ARCH").as_deref() == Ok("x86_64")
        && env::var("CARGO_CFG_TARGET_ENV").as_deref() != Ok("musl") // has no indirect functions
        && sanitizer().is_none();
    let mut main = settings();
    for file in files(&sources) {
        let name = file.file_name().expect("a file of the folder").to_string_lossy().into_owned();
        let wanted = match name.as_str() {
            "variants.c" => variants,
            name if ISA_FILES.contains(&name) => !variants,
            _ => true,
        };
        if wanted {
            main.file(&file);
        }
    }
    if variants {
        for (isa, flags) in
            [("base", Vec::new()), ("avx2", AVX2.to_vec()), ("avx512", [AVX2, AVX512].concat())]
        {
            let mut build = settings();
            build.define("MT_ISA", isa).out_dir(out().join(isa));
            for flag in flags {
                build.flag(flag);
            }
            build.files(ISA_FILES.map(|name| sources.join(name)));
            for object in build.compile_intermediates() {
                main.object(object);
            }
        }
    }
    link_static("mapletree", &main);
}
