use super::*;

/// What a VM sees: when each event goes out.
struct Run {
    coalescer: Coalescer,
    waiting: Vec<Instant>,
    due: Option<Instant>,
    /// Interrupts so far, and what each event had to wait.
    interrupts: u32,
    delays: Vec<Micros>,
}

impl Run {
    fn new(setting: Coalescing) -> Self {
        Self {
            coalescer: Coalescer::new(setting),
            waiting: Vec::new(),
            due: None,
            interrupts: 0,
            delays: Vec::new(),
        }
    }

    fn event(&mut self, now: Instant, in_flight: usize) {
        self.until(now);
        self.waiting.push(now);
        self.coalescer.event(now, in_flight);
        self.ask(now, in_flight);
    }

    /// Lets holds end.
    fn until(&mut self, now: Instant) {
        while let Some(due) = self.due.filter(|&due| due <= now) {
            self.ask(due, 0);
        }
    }

    fn ask(&mut self, now: Instant, in_flight: usize) {
        self.due = match self.coalescer.verdict(now, in_flight) {
            Verdict::Nothing => None,
            Verdict::Hold(until) => Some(until),
            Verdict::Deliver => {
                self.interrupts += 1;
                let waited = self.waiting.drain(..).map(|at| now.saturating_since(at));
                self.delays.extend(waited);
                None
            }
        };
    }

    /// So many events this far apart, and time enough for all of them to go out.
    fn steadily(&mut self, events: u32, gap: u64, in_flight: usize) {
        for number in 0..u64::from(events) {
            self.event(Instant(number * gap), in_flight);
        }
        self.until(Instant(u64::from(events) * gap) + LONGEST);
        assert_eq!(self.delays.len(), events as usize, "all have gone out");
    }

    fn median(&mut self) -> Micros {
        self.delays.sort();
        self.delays[self.delays.len() / 2]
    }
}

#[test]
fn off_interrupts_for_every_event() {
    let mut run = Run::new(Coalescing::Off);
    run.steadily(1_000, 500, 20);
    assert_eq!(run.interrupts, 1_000);
}

#[test]
fn by_count_ten_events_make_one_interrupt() {
    let mut run = Run::new(Coalescing::Count(10));
    run.steadily(1_000, 100, 20);
    assert!((100..=102).contains(&run.interrupts), "{}", run.interrupts);
}

#[test]
fn by_count_too_few_events_go_out_in_time() {
    let mut run = Run::new(Coalescing::Count(10));
    for at in [0, 100, 200] {
        run.event(Instant(at), 5);
    }
    run.until(Instant(0) + LONGEST);
    assert_eq!((run.interrupts, run.delays.len()), (1, 3));
}

#[test]
fn by_time_one_interrupt_ends_each_span() {
    let mut run = Run::new(Coalescing::Time(Micros(500)));
    run.steadily(1_000, 100, 20);
    assert!((160..=202).contains(&run.interrupts), "{}", run.interrupts);
    assert!(run.delays.iter().all(|&delay| delay <= Micros(500)));
}

#[test]
fn at_a_hundred_frames_a_second_nothing_is_held_back() {
    let settings = [
        Coalescing::Adaptive,
        Coalescing::Count(10),
        Coalescing::Time(Micros(500)),
    ];
    for setting in settings {
        let mut run = Run::new(setting);
        run.steadily(1_000, 10_000, 0);
        let most = run.delays.iter().max();
        assert_eq!(
            (run.interrupts, most),
            (1_000, Some(&Micros(0))),
            "{setting}"
        );
    }
}

#[test]
fn with_few_in_flight_completions_are_not_held_back() {
    let mut run = Run::new(Coalescing::Adaptive);
    for number in 0..1_000 {
        run.event(Instant(number * 2_000), (number % 3) as usize);
    }
    assert_eq!(run.interrupts, 1_000);
}

#[test]
fn under_load_one_interrupt_serves_many_completions() {
    let mut run = Run::new(Coalescing::Adaptive);
    run.steadily(10_000, 100, 64);
    assert!(run.interrupts <= 400, "{} of 10,000", run.interrupts);
}

#[test]
fn under_load_one_interrupt_serves_many_received_frames() {
    let mut run = Run::new(Coalescing::Adaptive);
    run.steadily(10_000, 400, 0);
    assert!(run.interrupts <= 1_100, "{} of 10,000", run.interrupts);
    assert!(run.median() <= LONGEST);
}

#[test]
fn who_answers_each_frame_before_the_next_comes_hardly_notices() {
    let mut run = Run::new(Coalescing::Adaptive);
    let mut now = Instant(0);
    for _ in 0..10_000 {
        now += Micros(50);
        run.event(now, 0);
        // The next comes when this one has been answered.
        if let Some(due) = run.due {
            now = due;
            run.until(now);
        }
    }
    assert_eq!(run.median(), Micros(0));
    let lost: u64 = run.delays.iter().map(|delay| delay.0).sum();
    assert!(lost * 50 < now.0, "{lost} µs of {now}");
}

#[test]
fn exchanges_one_after_the_other_hardly_notice() {
    let mut run = Run::new(Coalescing::Adaptive);
    let mut now = Instant(0);
    for _ in 0..5_000 {
        // A completion, the answer to the frame, and the next exchange a millisecond after that was seen.
        run.event(now, 0);
        now += Micros(300);
        run.event(now, 0);
        if let Some(due) = run.due {
            now = due;
            run.until(now);
        }
        now += Micros(1_000);
    }
    assert_eq!(run.median(), Micros(0));
    let lost: u64 = run.delays.iter().map(|delay| delay.0).sum();
    assert!(lost * 20 < now.0, "{lost} µs of {now}");
}

#[test]
fn a_small_window_does_not_run_dry() {
    let mut run = Run::new(Coalescing::Adaptive);
    // Eight in flight, and new ones only for completions that the sender knows of.
    let (mut now, mut in_flight) = (Instant(0), 8usize);
    for _ in 0..4_000 {
        now += Micros(600);
        in_flight -= 1;
        run.event(now, in_flight);
        if run.waiting.is_empty() {
            in_flight = 8;
        }
        assert!(in_flight > 0, "the engine owes something");
    }
    assert!(run.interrupts < 1_400, "{}", run.interrupts);
}

#[test]
fn the_end_of_load_is_not_held_up() {
    for setting in [Coalescing::Adaptive, Coalescing::Count(10)] {
        let mut run = Run::new(setting);
        for number in 0..5_003 {
            run.event(Instant(number * 300), 50);
        }
        run.until(Instant(5_003 * 300) + LONGEST);
        assert!(run.waiting.is_empty(), "{setting}");
    }
}

#[test]
fn what_is_urgent_takes_along_what_waits() {
    let mut coalescer = Coalescer::new(Coalescing::Count(10));
    coalescer.event(Instant(0), 5);
    assert!(matches!(coalescer.verdict(Instant(0), 5), Verdict::Hold(_)));
    coalescer.urgent();
    assert_eq!(coalescer.verdict(Instant(1), 5), Verdict::Deliver);
    assert_eq!(coalescer.verdict(Instant(1), 5), Verdict::Nothing);
}

#[test]
fn a_setting_is_read_as_it_is_written() {
    for text in ["off", "adaptive", "count:10", "time:500us"] {
        let setting: Coalescing = text.parse().unwrap();
        assert_eq!(setting.to_string(), text);
    }
    for text in [
        "",
        "on",
        "count:0",
        "count:256",
        "count",
        "time:500",
        "time:5001us",
        "time:0us",
    ] {
        let error = text.parse::<Coalescing>();
        assert_eq!(error, Err(CoalescingError(text.to_owned())));
    }
}
