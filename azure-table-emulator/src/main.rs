//! The program `azure-table-emulator`: the emulator.

use std::env;
use std::process::ExitCode;

/// The allocator of glibc returns the memory of a large response to the kernel and requests it again for the next one,
/// and that of musl is slower still.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    azure_table_emulator::run(env::args_os().skip(1), |name| env::var_os(name))
}
