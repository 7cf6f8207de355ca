//! The report as JSON objects.

use ngc_ir::{Loc, Sources};
use serde_json::{Value, json};

use super::super::calibrate::Sampled;
use super::{Bound, Report, Row};

impl Report {
    /// An object for each argument, each result of an op, each output, and one of totals, in this order; keys are
    /// sorted. Figures have all their digits; infinities are the strings `"inf"` and `"-inf"`, and what is not known or
    /// does not apply is `null`. Constant matrices of contractions have `norm2` too.
    pub fn json(&self, sources: &Sources) -> Vec<Value> {
        let mut lines: Vec<Value> = self.rows.iter().map(|row| self.row(row, sources)).collect();
        for (n, output) in self.outputs.iter().enumerate() {
            lines.push(json!({
                "kind": "output",
                "function": self.function,
                "index": n,
                "type": output.ty.to_string(),
                "error": bound(&output.error),
                "unbounded": output.unbounded.as_ref().map(|(op, loc, why)| unbounded(op, loc, why, sources)),
                "sampled": output.sampled.as_ref().map(sampled),
                "followed": output.followed.as_ref().map(|f| {
                    json!({"elements": f.elements, "of": f.of, "samples": f.samples})
                }),
                "label": self.label(),
            }));
        }
        lines.push(json!({
            "kind": "totals",
            "function": self.function,
            "largest_path": number(self.largest_path),
            "total_curvature": number(self.total_curvature),
            "error": number(self.largest_error()),
            "samples": self.calibration.map(|(samples, _)| samples),
            "reference": self.calibration.map(|(_, reference)| reference),
            "not_followed": self.not_followed,
            "label": self.label(),
        }));
        lines
    }

    fn row(&self, row: &Row, sources: &Sources) -> Value {
        let own = row.own.as_ref();
        let mut line = json!({
            "kind": if row.op.is_some() { "op" } else { "argument" },
            "function": self.function,
            "index": row.index,
            "type": row.ty.to_string(),
            "range": [number(row.lo), number(row.hi)],
            "nan": row.nan,
            "headroom": row.headroom.map(number),
            "amplification": row.amplification.iter().copied().map(number).collect::<Vec<_>>(),
            "error": bound(&row.error),
            "sampled": row.sampled.as_ref().map(sampled),
            "label": self.label(),
        });
        match own {
            Some(own) => {
                line["op"] = row.name.into();
                line["lipschitz"] = number(own.lipschitz);
                line["delta"] = number(own.delta);
                line["condition"] = number(own.condition);
                line["curvature"] = number(own.curvature);
                line["share"] = own.share.iter().map(|share| share.map(number)).collect();
            }
            None => line["name"] = row.argument_name(sources).into(),
        }
        if let Some(norm2) = row.norm2 {
            line["norm2"] = json!({"value": number(norm2), "label": "estimate"});
        }
        if let Some((file, at)) = sources.resolve(&row.loc) {
            line["file"] = file.into();
            line["line"] = at.line.into();
            line["column"] = at.column.into();
        }
        line
    }
}

fn unbounded(op: &str, loc: &Loc, why: &str, sources: &Sources) -> Value {
    json!({"op": op, "why": why, "location": super::table::place(loc, sources, None)})
}

fn bound(bound: &Bound) -> Value {
    json!({
        "absolute": number(bound.absolute),
        "ulps": bound.ulps.map(number),
        "relative": number(bound.relative),
    })
}

fn sampled(s: &Sampled) -> Value {
    json!({
        "range": s.range.map(|(lo, hi)| [number(lo), number(hi)]),
        "mean": s.mean.map(number),
        "std": s.std.map(number),
        "not_finite": s.not_finite,
        "error": {"absolute": number(s.absolute), "relative": number(s.relative)},
        "label": "estimate",
    })
}

/// JSON has no infinities.
fn number(x: f64) -> Value {
    match x {
        f64::INFINITY => "inf".into(),
        f64::NEG_INFINITY => "-inf".into(),
        x if x.is_nan() => "nan".into(),
        x => x.into(),
    }
}
