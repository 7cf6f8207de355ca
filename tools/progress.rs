//! Progress of work that takes more than a second.

use std::io::{Read, Result, Seek, SeekFrom};
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
        if self.start.elapsed() < Duration::from_secs(1) {
            return;
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
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}

/// A source whose reading is shown.
pub struct Watched<R> {
    source: R,
    progress: Progress,
    done: usize,
    total: usize,
}

impl<R> Watched<R> {
    /// A source of so many bytes, of which most are read once.
    pub fn new(source: R, total: u64, progress: Progress) -> Watched<R> {
        Watched { source, progress, done: 0, total: usize::try_from(total).unwrap_or(usize::MAX) }
    }
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let count = self.source.read(buffer)?;
        self.done = self.done.saturating_add(count);
        self.progress.update(self.done.min(self.total), self.total);
        Ok(count)
    }
}

impl<R: Seek> Seek for Watched<R> {
    fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        self.source.seek(to)
    }
}
