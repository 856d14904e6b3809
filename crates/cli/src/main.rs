//! The command `quipu`; the library says what it does.

use std::process::ExitCode;

fn main() -> ExitCode {
    quipu_cli::run(std::env::args_os()).into()
}
