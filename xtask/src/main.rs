//! Sets up what airlane runs on: a private QEMU, guest kernels and images.

fn main() {}
