//! Commands that run in guests: what they have printed, and how they ended.

use airlane_control::ask::{Reply, Told};
use std::collections::BTreeMap;
use std::time::Instant;

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
    /// What it printed as errors, where that was kept apart.
    pub errors: String,
}

/// Which of its streams a command writes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output, or both.
    Output,
    /// Standard error.
    Errors,
}

#[derive(Debug)]
enum Entry {
    /// Its output is kept until somebody takes it.
    Kept {
        output: Vec<u8>,
        errors: Vec<u8>,
        end: Option<i32>,
    },
    /// Its output goes to a client at once.
    Told {
        reply: Reply,
        deadline: Option<Instant>,
    },
}

/// All commands whose result nobody has taken yet.
#[derive(Debug, Default)]
pub struct Jobs(BTreeMap<Job, Entry>);

impl Jobs {
    /// A command has been sent; its result will be taken.
    pub fn began(&mut self, guest: usize, id: u64) -> Job {
        let job = Job { guest, id };
        let kept = Entry::Kept {
            output: Vec::new(),
            errors: Vec::new(),
            end: None,
        };
        self.0.insert(job, kept);
        job
    }

    /// A command has been sent; a client is told what it prints, until `deadline`.
    pub fn told(&mut self, guest: usize, id: u64, reply: Reply, deadline: Option<Instant>) {
        let job = Job { guest, id };
        self.0.insert(job, Entry::Told { reply, deadline });
    }

    /// A piece of output; of an unknown command it is ignored. True when the command must be ended: nobody reads what it
    /// prints.
    pub fn output(&mut self, guest: usize, id: u64, stream: Stream, bytes: Vec<u8>) -> bool {
        let job = Job { guest, id };
        match self.0.get_mut(&job) {
            None => false,
            Some(Entry::Kept { output, errors, .. }) => {
                let kept = match stream {
                    Stream::Output => output,
                    Stream::Errors => errors,
                };
                let room = MOST_OUTPUT.saturating_sub(kept.len());
                kept.extend(bytes.iter().take(room));
                false
            }
            Some(Entry::Told { reply, .. }) => {
                let told = match stream {
                    Stream::Output => Told::Output(bytes),
                    Stream::Errors => Told::Errors(bytes),
                };
                let read = reply.tell(told);
                if !read {
                    let why = "it prints faster than its output is read";
                    self.lose(job, why);
                }
                !read
            }
        }
    }

    /// The end of a command.
    pub fn exit(&mut self, guest: usize, id: u64, code: i32) {
        let job = Job { guest, id };
        match self.0.get_mut(&job) {
            None => {}
            Some(Entry::Kept { end, .. }) => *end = Some(code),
            Some(Entry::Told { reply, .. }) => {
                let _ = reply.tell(Told::Exit(code));
                self.0.remove(&job);
            }
        }
    }

    /// True when the command has ended, or its guest has.
    pub fn ended(&self, job: Job) -> bool {
        match self.0.get(&job) {
            Some(Entry::Kept { end, .. }) => end.is_some(),
            _ => true,
        }
    }

    /// The result; none when the command has not ended.
    pub fn take(&mut self, job: Job) -> Option<Finished> {
        let Entry::Kept {
            output,
            errors,
            end,
        } = self.0.remove(&job)?
        else {
            return None;
        };
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Some(Finished {
            code: end?,
            output: text(output),
            errors: text(errors),
        })
    }

    /// Commands whose client has gone, or whose time is over: they are forgotten here, and must be ended in their guests.
    pub fn overdue(&mut self, now: Instant) -> Vec<Job> {
        let mut over = Vec::new();
        for (job, entry) in &self.0 {
            let Entry::Told { reply, deadline } = entry else {
                continue;
            };
            let late = deadline.is_some_and(|deadline| deadline <= now);
            if late {
                let _ = reply.tell(Told::TimedOut);
            }
            if late || reply.gone() {
                over.push(*job);
            }
        }
        self.0.retain(|job, _| !over.contains(job));
        over
    }

    /// The guest is gone: its commands have no end.
    pub fn forget(&mut self, guest: usize) {
        let of_guest = |job: &&Job| job.guest == guest;
        let jobs: Vec<Job> = self.0.keys().filter(of_guest).copied().collect();
        for job in jobs {
            self.lose(job, "its VM has stopped or starts anew");
        }
    }

    /// Of a guest whose agent does not know how to tell output as it comes.
    pub fn not_understood(&mut self, guest: usize) {
        let told = |(job, entry): (&Job, &Entry)| {
            (job.guest == guest && matches!(entry, Entry::Told { .. })).then_some(*job)
        };
        let jobs: Vec<Job> = self.0.iter().filter_map(told).collect();
        for job in jobs {
            let why = "the guest's image is older than this airlane\n  remedy: run `make setup` (or `cargo xtask setup`), then start the run again";
            self.lose(job, why);
        }
    }

    fn lose(&mut self, job: Job, why: &str) {
        if let Some(Entry::Told { reply, .. }) = self.0.remove(&job) {
            let _ = reply.tell(Told::Lost(why.to_owned()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airlane_control::ask::{Answer, way};
    use std::time::Duration;

    fn print(jobs: &mut Jobs, guest: usize, id: u64, text: &[u8]) -> bool {
        jobs.output(guest, id, Stream::Output, text.to_vec())
    }

    fn next(answer: &Answer) -> Option<Told> {
        answer.next(Duration::ZERO).ok()
    }

    #[test]
    fn output_is_gathered_until_the_end() {
        let mut jobs = Jobs::default();
        let job = jobs.began(1, 7);
        print(&mut jobs, 1, 7, b"one ");
        print(&mut jobs, 1, 8, b"of another");
        print(&mut jobs, 1, 7, b"two");
        jobs.output(1, 7, Stream::Errors, b"oh".to_vec());
        assert!(!jobs.ended(job));
        jobs.exit(1, 7, 3);
        assert!(jobs.ended(job));
        let finished = Finished {
            code: 3,
            output: "one two".to_owned(),
            errors: "oh".to_owned(),
        };
        assert_eq!(jobs.take(job), Some(finished));
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
            print(&mut jobs, 0, 1, &vec![b'x'; MOST_OUTPUT / 2 + 1]);
        }
        jobs.exit(0, 1, 0);
        assert_eq!(jobs.take(job).unwrap().output.len(), MOST_OUTPUT);
    }

    #[test]
    fn a_client_is_told_what_is_printed_until_the_end() {
        let mut jobs = Jobs::default();
        let (reply, answer) = way();
        jobs.told(0, 1, reply, None);
        assert!(!print(&mut jobs, 0, 1, b"a"));
        jobs.output(0, 1, Stream::Errors, b"b".to_vec());
        jobs.exit(0, 1, -1);
        print(&mut jobs, 0, 1, b"too late");
        let all: Vec<Told> = std::iter::from_fn(|| next(&answer)).collect();
        let expected = [
            Told::Output(b"a".to_vec()),
            Told::Errors(b"b".to_vec()),
            Told::Exit(-1),
        ];
        assert_eq!(all, expected);
    }

    #[test]
    fn a_guest_that_prints_without_end_to_nobody_is_stopped() {
        let mut jobs = Jobs::default();
        let (reply, answer) = way();
        jobs.told(0, 1, reply, None);
        let pieces = (0..1_000).take_while(|_| !print(&mut jobs, 0, 1, &[0; 65_536]));
        assert!(pieces.count() < 1_000);
        let last = std::iter::from_fn(|| next(&answer)).last();
        assert!(matches!(last, Some(Told::Lost(_))), "{last:?}");
        assert_eq!(jobs.overdue(Instant::now()), []);
    }

    #[test]
    fn a_command_ends_with_its_time_or_its_client() {
        let mut jobs = Jobs::default();
        let now = Instant::now();
        let ((first, answer), (second, left)) = (way(), way());
        jobs.told(0, 1, first, Some(now + Duration::from_secs(1)));
        jobs.told(0, 2, second, None);
        assert_eq!(jobs.overdue(now), []);
        drop(left);
        assert_eq!(jobs.overdue(now), [Job { guest: 0, id: 2 }]);
        let over = jobs.overdue(now + Duration::from_secs(2));
        assert_eq!(over, [Job { guest: 0, id: 1 }]);
        assert_eq!(next(&answer), Some(Told::TimedOut));
    }

    #[test]
    fn a_client_learns_that_the_vm_has_gone_or_is_too_old() {
        let mut jobs = Jobs::default();
        let ((first, gone), (second, old)) = (way(), way());
        jobs.told(0, 1, first, None);
        jobs.told(1, 1, second, None);
        jobs.forget(0);
        jobs.not_understood(1);
        for (answer, word) in [(gone, "VM"), (old, "make setup")] {
            let told = next(&answer);
            assert!(
                matches!(&told, Some(Told::Lost(why)) if why.contains(word)),
                "{told:?}"
            );
        }
    }
}
