// SPDX-License-Identifier: MIT
//! Finds libvmspace by pkg-config, or else builds the sources that the crate carries.

mod support;

use support::{compiler, files, folders, link_installed, link_static, link_urcu};

fn main() {
    if link_installed("vmspace") {
        return;
    }
    let (sources, headers) = folders();
    let mut include = link_urcu();
    include.push(headers);
    let mut build = compiler(&include);
    build.files(files(&sources));
    link_static("vmspace", &build);
}
