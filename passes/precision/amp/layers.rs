//! What is wrong with ops of many layers, in one sentence for those that follow each other.

use ngc_numerics::Format;

/// An op that may not have the format that it has.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// Its name, with that of its location.
    pub op: String,
    /// The name of the op that it reads at the edge where the gap opens.
    pub from: Option<String>,
    /// The format.
    pub format: Format,
    /// By how many bits it falls short.
    pub gap: i64,
    /// What is wrong.
    pub why: String,
}

/// A name without the number of its layer, and that number: the first part that is one. Exporters number the values of a graph, so
/// that names end in numbers that differ from layer to layer.
fn layer(name: &str) -> (String, Option<u64>) {
    let separates = |c: char| matches!(c, '.' | '/' | '\'');
    let mut at = 0;
    let numbered = name.split(separates).find_map(|part| {
        let from = at;
        at += part.len() + 1;
        let number = part.bytes().all(|b| b.is_ascii_digit()).then(|| part.parse::<u64>().ok()).flatten()?;
        Some((from..from + part.len(), number))
    });
    let Some((place, number)) = numbered else { return (name.to_string(), None) };
    let mut bare = name.to_string();
    bare.replace_range(place, "*");
    let (end, closing) = bare.strip_suffix('\'').map_or((&bare[..], ""), |end| (end, "'"));
    let end = end.trim_end_matches(|c: char| c.is_ascii_digit());
    (format!("{}{closing}", end.strip_suffix('_').unwrap_or(end)), Some(number))
}

/// Faults that differ only in the layer, the layers in order.
struct Group<'a> {
    key: (String, Option<String>, Format, bool),
    faults: Vec<(&'a Fault, Option<u64>)>,
}

/// A sentence for each fault, or for those of layers that follow each other.
pub fn sentences(faults: &[Fault]) -> Vec<String> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for fault in faults {
        let (op, number) = layer(&fault.op);
        let from = fault.from.as_ref().map(|from| layer(from).0);
        let key = (op, from, fault.format, fault.why.starts_with("its rounding"));
        match groups.iter_mut().find(|group| number.is_some() && group.key == key) {
            Some(group) => group.faults.push((fault, number)),
            None => groups.push(Group { key, faults: vec![(fault, number)] }),
        }
    }
    groups.iter().flat_map(Group::sentences).collect()
}

impl Group<'_> {
    fn sentences(&self) -> Vec<String> {
        let mut runs: Vec<(u64, u64, Vec<&Fault>)> = Vec::new();
        let mut told = Vec::new();
        let mut faults = self.faults.clone();
        faults.sort_by_key(|(_, number)| *number);
        for (fault, number) in faults {
            let Some(number) = number else {
                told.push(format!(
                    "{} cannot take {}: {}{}",
                    fault.op,
                    fault.format,
                    fault.why,
                    edge(&[fault], None)
                ));
                continue;
            };
            match runs.last_mut().filter(|(_, last, _)| number <= *last + 1) {
                Some((_, last, own)) => {
                    *last = number;
                    own.push(fault);
                }
                None => runs.push((number, number, vec![fault])),
            }
        }
        told.extend(runs.iter().map(|(first, last, own)| {
            let layers =
                if first == last { format!("layer {first}") } else { format!("layers {first}-{last}") };
            let (op, from, format, _) = &self.key;
            let edge = edge(own, from.as_deref().map(|from| (from, &op[..])));
            let worst = own.iter().max_by_key(|fault| fault.gap).map_or("", |fault| &fault.why);
            format!("{layers} cannot share {format}: {op}: {worst}{edge}")
        }));
        told
    }
}

/// The edge of faults, and their largest gap.
fn edge(faults: &[&Fault], named: Option<(&str, &str)>) -> String {
    let gap = faults.iter().map(|fault| fault.gap).max().unwrap_or(0);
    let Some(fault) = faults.first() else { return String::new() };
    let ends = named.or_else(|| Some((fault.from.as_deref()?, &fault.op[..])));
    ends.map_or_else(
        || format!(" (gap {gap} bits)"),
        |(from, to)| format!("; edge {from} -> {to}, gap {gap} bits"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(layer: usize, why: &str) -> Fault {
        Fault {
            op: format!("ng.softmax 'h.{layer}.attn/softmax_{}'", 2 * layer),
            from: Some(format!("ng.mul 'h.{layer}.attn/scale_{layer}'")),
            format: Format::F16,
            gap: layer as i64,
            why: why.into(),
        }
    }

    #[test]
    fn layers_that_follow_each_other_are_one_sentence() {
        let faults = [3, 24, 23, 25].map(|layer| fault(layer, "it reaches 1e6"));
        let told = sentences(&faults);
        assert_eq!(
            told,
            [
                "layer 3 cannot share f16: ng.softmax 'h.*.attn/softmax': it reaches 1e6; edge ng.mul 'h.*.attn/scale' -> \
                 ng.softmax 'h.*.attn/softmax', gap 3 bits",
                "layers 23-25 cannot share f16: ng.softmax 'h.*.attn/softmax': it reaches 1e6; edge ng.mul 'h.*.attn/scale' -> \
                 ng.softmax 'h.*.attn/softmax', gap 25 bits",
            ]
        );
    }

    #[test]
    fn names_without_a_layer_stand_alone() {
        for name in ["ng.mul", "ng.mul 'head/mul_1'", "ng.exp ''"] {
            assert_eq!(layer(name), (name.to_string(), None));
        }
        assert_eq!(layer("ng.mul 'a.07.b/mul_3'"), ("ng.mul 'a.*.b/mul'".to_string(), Some(7)));
    }
}
