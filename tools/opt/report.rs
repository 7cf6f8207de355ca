//! Timing, statistics, remarks and the report of analyses.

use std::fmt::Write;
use std::time::{Duration, Instant};

use ngc_ir::Sources;
use ngc_ir::pass::{Registry, Remark, Report};
use ngc_passes::analysis::report::{Exchange, LEGEND};
use ngc_passes::stabilize::telling::Rewriting;
use serde_json::{Value, json};

use super::analysis;
use super::flags::{Flags, Format, RemarkForm};
use crate::io::write_output;

/// Collects what the flags ask for.
pub struct Reports {
    start: Instant,
    /// Phases and passes with their times, in order.
    phases: Vec<(String, Duration)>,
    statistics: Option<String>,
    remarks: Option<(RemarkForm, String)>,
    filter: Option<regex::Regex>,
    analysis: Option<(Format, String)>,
    proofs: String,
}

impl Reports {
    /// Nothing reported yet.
    pub fn new(flags: &Flags) -> Reports {
        let wanted = flags.remarks_filter.is_some() || flags.remarks_output.is_some();
        let format = flags.remarks.or(wanted.then_some(RemarkForm::Text));
        Reports {
            start: Instant::now(),
            phases: Vec::new(),
            statistics: flags.pass_statistics.then(String::new),
            remarks: format.map(|f| (f, String::new())),
            filter: flags.remarks_filter.clone(),
            analysis: analysis::form(flags).map(|f| (f, String::new())),
            proofs: String::new(),
        }
    }

    /// Adds a phase.
    pub fn phase(&mut self, name: impl Into<String>, time: Duration) {
        self.phases.push((name.into(), time));
    }

    /// Adds what a run of a pipeline reported.
    pub fn run(&mut self, registry: &Registry, report: &Report, sources: &Sources) {
        for step in &report.steps {
            self.phase(step.pass, step.time);
            if !step.verify_time.is_zero() {
                self.phase(format!("verify after {}", step.pass), step.verify_time);
            }
            if let Some(out) = &mut self.statistics {
                // Writing to a string does not fail.
                let _ = writeln!(out, "{}", step.pass);
                let declared = registry.pass(step.pass).map_or(&[][..], |p| p.statistics());
                for def in declared {
                    let n = step.statistics.get(def.name).copied().unwrap_or(0);
                    let _ = writeln!(out, "  {n:>10}  {}: {}", def.name, def.doc);
                }
            }
        }
        let filter = self.filter.as_ref();
        if let Some((format, out)) = &mut self.remarks {
            let matches = |r: &&Remark| {
                filter.is_none_or(|f| f.is_match(&format!("{}:{}:{}", r.kind.name(), r.pass, r.rule)))
            };
            for remark in report.remarks.iter().filter(matches) {
                match format {
                    RemarkForm::Text => out.push_str(&remark.lines(sources)),
                    RemarkForm::Full => out.push_str(&remark.full_line(sources)),
                    RemarkForm::Json => out.push_str(&remark_json(remark, sources).to_string()),
                }
                out.push('\n');
            }
        }
    }

    /// Adds the reports of analyses of a module.
    pub fn analysis(&mut self, exchange: &Exchange, sources: &Sources) {
        if let Some((form, out)) = &mut self.analysis {
            out.push_str(&analysis::render(*form, exchange, sources));
        }
    }

    /// Adds the proofs of rewrites of a module, function by function.
    pub fn proofs(&mut self, exchange: &Rewriting, sources: &Sources) {
        let Some(proofs) = &exchange.proofs else { return };
        let proofs = proofs.lock().unwrap_or_else(|e| e.into_inner());
        proofs.values().flatten().for_each(|proof| self.proofs.push_str(&proof.text(sources)));
    }

    /// Writes the reports.
    pub fn finish(&self, flags: &Flags) -> Result<(), String> {
        if let Some((_, text)) = &self.remarks {
            match &flags.remarks_output {
                Some(path) => write_output(path, text.as_bytes())?,
                None => eprint!("{text}"),
            }
        }
        if let Some((form, text)) = &self.analysis {
            let legend = if *form == Format::Text && !text.is_empty() { LEGEND } else { "" };
            match &flags.analysis_report_output {
                Some(path) => write_output(path, format!("{text}{legend}").as_bytes())?,
                None => eprint!("{text}{legend}"),
            }
        }
        if let Some(path) = &flags.emit_proof {
            write_output(path, self.proofs.as_bytes())?;
        }
        if let Some(text) = &self.statistics {
            eprint!("pass statistics\n{text}");
        }
        match flags.timing {
            None => {}
            Some(Format::Text) => eprint!("{}", self.timing_text()),
            Some(Format::Json) => eprintln!("{}", self.timing_json()),
        }
        Ok(())
    }

    fn timing_text(&self) -> String {
        let milliseconds = |time: Duration| 1e3 * time.as_secs_f64();
        let total = milliseconds(self.start.elapsed());
        let mut out = format!("wall time, total {total:.3} ms\n");
        for (name, time) in &self.phases {
            let own = milliseconds(*time);
            let _ = writeln!(out, "  {own:>10.3} ms  {:>5.1} %  {name}", 100.0 * own / total.max(1e-6));
        }
        out
    }

    fn timing_json(&self) -> Value {
        let phases: Vec<Value> = self
            .phases
            .iter()
            .map(|(name, time)| json!({"name": name, "wall_s": time.as_secs_f64()}))
            .collect();
        json!({"total_wall_s": self.start.elapsed().as_secs_f64(), "phases": phases})
    }
}

fn remark_json(remark: &Remark, sources: &Sources) -> Value {
    let args: serde_json::Map<String, Value> =
        remark.args.iter().map(|(name, value)| (name.to_string(), Value::String(value.clone()))).collect();
    let mut object = json!({
        "kind": remark.kind.name(),
        "pass": remark.pass,
        "rule": remark.rule,
        "message": remark.message,
        "args": args,
    });
    if let Some((file, at)) = sources.resolve(&remark.loc) {
        object["file"] = file.into();
        object["line"] = at.line.into();
        object["column"] = at.column.into();
    }
    if !remark.details.is_empty() {
        object["details"] = remark.details.as_str().into();
    }
    if let Some(name) = remark.loc.name_in() {
        object["name"] = name.into();
    }
    object
}
