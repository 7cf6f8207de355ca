//! The most accurate choice whose values fit a memory at every step of a program.

/// What takes one of some levels: a value, or several that take the same one, such as a result and the weights that it is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// What of it is in memory.
    pub parts: Vec<Part>,
    /// For each of its levels, rising: the error that it adds. Errors fall.
    pub errors: Vec<f64>,
}

/// Bytes of a value that are there together.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The first step at which they are there, and the last.
    pub live: [usize; 2],
    /// For each level of the value, rising: how many. They rise.
    pub bytes: Vec<u64>,
}

/// A choice that fits.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// By value: which of its levels.
    pub levels: Vec<usize>,
    /// Bytes at the step at which there are most.
    pub peak: u64,
    /// What errors add up to.
    pub error: f64,
}

impl Value {
    /// Bytes that it has more at a step than at the level below.
    fn more_at(&self, step: usize, level: usize) -> u64 {
        let there = self.parts.iter().filter(|part| part.live[0] <= step && step <= part.live[1]);
        there.map(|part| part.bytes[level] - part.bytes[level - 1]).sum()
    }

    /// By how much the error falls by a level, for each byte that the level adds.
    fn price(&self, level: usize, more: u64) -> f64 {
        (self.errors[level - 1] - self.errors[level]) / more.max(1) as f64
    }
}

/// Bytes by step.
pub fn profile(values: &[Value], levels: &[usize]) -> Vec<u64> {
    let all =
        || values.iter().zip(levels).flat_map(|(value, level)| value.parts.iter().map(move |p| (p, *level)));
    let steps = all().map(|(part, _)| part.live[1] + 1).max().unwrap_or(0);
    let mut change = vec![0i128; steps + 1];
    for (part, level) in all() {
        let bytes = i128::from(part.bytes[level]);
        change[part.live[0]] += bytes;
        change[part.live[1] + 1] -= bytes;
    }
    let sums = change[..steps].iter().scan(0, |sum, by| {
        *sum += by;
        Some(*sum as u64)
    });
    sums.collect()
}

/// Begins with the highest level of each value. While some step has too many bytes, the value there whose error grows least for each byte
/// that it gives up is lowered; then what can be raised again without too many is. Greedy: no bound says how far the error is from the
/// least.
///
/// # Errors
/// The step at which the lowest levels take most and do not fit, and the bytes that they take there.
pub fn fit(values: &[Value], memory: u64) -> Result<Fitted, (usize, u64)> {
    let mut levels: Vec<usize> = values.iter().map(|value| value.errors.len() - 1).collect();
    let lowest = profile(values, &vec![0; values.len()]);
    let most =
        lowest.iter().copied().enumerate().max_by_key(|(step, bytes)| (*bytes, std::cmp::Reverse(*step)));
    if let Some(most) = most.filter(|(_, bytes)| *bytes > memory) {
        return Err(most);
    }
    let mut bytes = profile(values, &levels);
    while let Some((step, _)) =
        bytes.iter().enumerate().filter(|(_, b)| **b > memory).max_by_key(|(_, b)| **b)
    {
        let gives = |v: usize| if levels[v] > 0 { values[v].more_at(step, levels[v]) } else { 0 };
        let prices = (0..values.len()).map(|v| (v, gives(v))).filter(|(_, gives)| *gives > 0);
        let lowered = prices
            .map(|(v, gives)| (v, values[v].price(levels[v], gives)))
            .min_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        let Some((v, _)) = lowered else { break };
        for part in &values[v].parts {
            let less = part.bytes[levels[v]] - part.bytes[levels[v] - 1];
            bytes[part.live[0]..=part.live[1]].iter_mut().for_each(|b| *b -= less);
        }
        levels[v] -= 1;
    }
    let all = |v: usize, level: usize| {
        values[v].parts.iter().map(|part| part.bytes[level] - part.bytes[level - 1]).max().unwrap_or(0)
    };
    let mut order: Vec<(usize, f64)> = (0..values.len())
        .filter(|&v| levels[v] + 1 < values[v].errors.len())
        .map(|v| (v, values[v].price(levels[v] + 1, all(v, levels[v] + 1))))
        .collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    for (v, _) in order {
        let level = levels[v] + 1;
        let parts =
            || values[v].parts.iter().map(|part| (part.live, part.bytes[level] - part.bytes[level - 1]));
        parts().for_each(|([from, to], more)| bytes[from..=to].iter_mut().for_each(|b| *b += more));
        if parts().all(|([from, to], _)| bytes[from..=to].iter().all(|b| *b <= memory)) {
            levels[v] = level;
        } else {
            parts().for_each(|([from, to], more)| bytes[from..=to].iter_mut().for_each(|b| *b -= more));
        }
    }
    let error = values.iter().zip(&levels).map(|(value, &level)| value.errors[level]).sum();
    Ok(Fitted { peak: bytes.iter().copied().max().unwrap_or(0), levels, error })
}
