//! Why a run ends before its last check.

/// A run that does not go on. Everything it has started is stopped before this is shown.
#[derive(Debug, thiserror::Error)]
pub enum Stop {
    /// Ctrl-C, or a request from outside.
    #[error("stopped by signal {0}")]
    Interrupted(i32),
    /// A guest did not do what it had to.
    #[error("{message}{}", last_lines(.console))]
    Guest {
        /// Which VM it is, and what it has or has not done.
        message: String,
        /// The last lines of its console; none for a VM that we did not start.
        console: Option<Vec<String>>,
    },
    /// airlane itself could not go on: sockets, files, the daemon.
    #[error("{0:#}")]
    Ours(#[from] anyhow::Error),
}

fn last_lines(lines: &Option<Vec<String>>) -> String {
    let Some(lines) = lines else {
        return String::new();
    };
    if lines.is_empty() {
        return "\n  its console is empty".to_owned();
    }
    let lines: Vec<String> = lines.iter().map(|line| format!("\n  | {line}")).collect();
    format!("\n  the last lines of its console:{}", lines.concat())
}

impl Stop {
    /// The program's exit code for it.
    pub fn exit_code(&self) -> u8 {
        match self {
            // The shell's convention for an end by a signal.
            Self::Interrupted(signal) => u8::try_from(128 + signal).unwrap_or(1),
            Self::Guest { .. } | Self::Ours(_) => 1,
        }
    }
}
