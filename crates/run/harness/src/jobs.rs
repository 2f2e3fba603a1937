//! Commands that run in guests: what they have printed, and how they ended.

use std::collections::BTreeMap;

/// More output than this of one command is not kept.
const MOST_OUTPUT: usize = 1024 * 1024;

/// A command in a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Job {
    /// The number of the guest in which it runs.
    pub guest: usize,
    /// The number that the guest's agent knows it by.
    pub id: u64,
}

/// A command that has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finished {
    /// Its exit code.
    pub code: i32,
    /// What it printed.
    pub output: String,
}

/// All commands whose result nobody has taken yet.
#[derive(Debug, Default)]
pub struct Jobs(BTreeMap<Job, (Vec<u8>, Option<i32>)>);

impl Jobs {
    /// A command has been sent.
    pub fn began(&mut self, guest: usize, id: u64) -> Job {
        let job = Job { guest, id };
        self.0.insert(job, (Vec::new(), None));
        job
    }

    /// A piece of output; of an unknown command it is ignored.
    pub fn output(&mut self, guest: usize, id: u64, bytes: &[u8]) {
        if let Some((output, _)) = self.0.get_mut(&Job { guest, id }) {
            let room = MOST_OUTPUT.saturating_sub(output.len());
            output.extend(bytes.iter().take(room));
        }
    }

    /// The end of a command.
    pub fn exit(&mut self, guest: usize, id: u64, code: i32) {
        if let Some((_, end)) = self.0.get_mut(&Job { guest, id }) {
            *end = Some(code);
        }
    }

    /// True when the command has ended, or its guest has.
    pub fn ended(&self, job: Job) -> bool {
        self.0.get(&job).is_none_or(|(_, end)| end.is_some())
    }

    /// The result; none when the command has not ended.
    pub fn take(&mut self, job: Job) -> Option<Finished> {
        let (output, end) = self.0.remove(&job)?;
        Some(Finished {
            code: end?,
            output: String::from_utf8_lossy(&output).into_owned(),
        })
    }

    /// The guest is gone: its commands have no end.
    pub fn forget(&mut self, guest: usize) {
        self.0.retain(|job, _| job.guest != guest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_gathered_until_the_end() {
        let mut jobs = Jobs::default();
        let job = jobs.began(1, 7);
        jobs.output(1, 7, b"one ");
        jobs.output(1, 8, b"of another");
        jobs.output(1, 7, b"two");
        assert!(!jobs.ended(job));
        jobs.exit(1, 7, 3);
        assert!(jobs.ended(job));
        assert_eq!(
            jobs.take(job),
            Some(Finished {
                code: 3,
                output: "one two".to_owned()
            })
        );
        assert_eq!(jobs.take(job), None);
    }

    #[test]
    fn a_command_of_a_guest_that_is_gone_ends_without_result() {
        let mut jobs = Jobs::default();
        let job = jobs.began(1, 7);
        jobs.forget(1);
        assert!(jobs.ended(job));
        assert_eq!(jobs.take(job), None);
    }

    #[test]
    fn a_guest_cannot_fill_our_memory_with_output() {
        let mut jobs = Jobs::default();
        let job = jobs.began(0, 1);
        for _ in 0..3 {
            jobs.output(0, 1, &vec![b'x'; MOST_OUTPUT / 2 + 1]);
        }
        jobs.exit(0, 1, 0);
        assert_eq!(jobs.take(job).unwrap().output.len(), MOST_OUTPUT);
    }
}
