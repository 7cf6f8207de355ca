//! Progress of work that takes more than a second.

use std::fmt::Display;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// A bar on the standard error stream that appears after a second, on a terminal only.
pub struct Progress {
    what: &'static str,
    steps: &'static str,
    start: Instant,
    bar: OnceLock<ProgressBar>,
}

impl Progress {
    /// Progress of `what`.
    pub fn new(what: &'static str) -> Progress {
        Progress::in_steps(what, "{pos}/{len}")
    }

    /// Progress of `what`, whose steps are bytes.
    pub fn of_bytes(what: &'static str) -> Progress {
        Progress::in_steps(what, "{binary_bytes}/{binary_total_bytes}")
    }

    fn in_steps(what: &'static str, steps: &'static str) -> Progress {
        Progress { what, steps, start: Instant::now(), bar: OnceLock::new() }
    }

    /// Says that `done` of `total` steps are done.
    pub fn update(&self, done: usize, total: usize) {
        self.show(done, total);
    }

    /// Says that `done` of `total` steps are done, and which one begins. The total may change.
    pub fn tell(&self, what: impl Display, done: usize, total: usize) {
        if let Some(bar) = self.show(done, total) {
            bar.set_length(total as u64);
            bar.set_message(what.to_string());
        }
    }

    fn show(&self, done: usize, total: usize) -> Option<&ProgressBar> {
        if self.start.elapsed() < Duration::from_secs(1) {
            return None;
        }
        let bar = self.bar.get_or_init(|| {
            let bar = ProgressBar::new(total as u64);
            if let Ok(style) =
                ProgressStyle::with_template(&format!("{{msg}} [{{bar:40}}] {} {{eta}}", self.steps))
            {
                bar.set_style(style);
            }
            bar.with_message(self.what)
        });
        bar.set_position(done as u64);
        Some(bar)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}
