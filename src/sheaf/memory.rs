//! The most accurate choice whose values fit a memory at every step of a program.

/// A value in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// The first step at which it is there, and the last.
    pub live: [usize; 2],
    /// For each of its levels, rising: bytes, and the error that it adds. Bytes rise and errors fall.
    pub levels: Vec<(u64, f64)>,
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

/// Bytes by step.
pub fn profile(values: &[Value], levels: &[usize]) -> Vec<u64> {
    let steps = values.iter().map(|value| value.live[1] + 1).max().unwrap_or(0);
    let mut change = vec![0i128; steps + 1];
    for (value, &level) in values.iter().zip(levels) {
        let bytes = i128::from(value.levels[level].0);
        change[value.live[0]] += bytes;
        change[value.live[1] + 1] -= bytes;
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
/// The step at which even the lowest levels do not fit, and the bytes that they take there.
pub fn fit(values: &[Value], memory: u64) -> Result<Fitted, (usize, u64)> {
    let mut levels: Vec<usize> = values.iter().map(|value| value.levels.len() - 1).collect();
    let lowest = profile(values, &vec![0; values.len()]);
    if let Some((step, bytes)) = lowest.iter().copied().enumerate().find(|(_, bytes)| *bytes > memory) {
        return Err((step, bytes));
    }
    let price = |v: usize, level: usize| {
        let (high, low) = (values[v].levels[level], values[v].levels[level - 1]);
        (low.1 - high.1) / (high.0.saturating_sub(low.0)).max(1) as f64
    };
    let mut bytes = profile(values, &levels);
    while let Some((step, _)) =
        bytes.iter().enumerate().filter(|(_, b)| **b > memory).max_by_key(|(_, b)| **b)
    {
        let there = |v: &usize| levels[*v] > 0 && values[*v].live[0] <= step && step <= values[*v].live[1];
        let gives = |v: usize| values[v].levels[levels[v]].0 > values[v].levels[levels[v] - 1].0;
        let lowered = (0..values.len())
            .filter(|v| there(v) && gives(*v))
            .min_by(|&a, &b| price(a, levels[a]).total_cmp(&price(b, levels[b])));
        let Some(v) = lowered else { break };
        let less = values[v].levels[levels[v]].0 - values[v].levels[levels[v] - 1].0;
        levels[v] -= 1;
        bytes[values[v].live[0]..=values[v].live[1]].iter_mut().for_each(|b| *b -= less);
    }
    let mut order: Vec<usize> =
        (0..values.len()).filter(|&v| levels[v] + 1 < values[v].levels.len()).collect();
    order.sort_by(|&a, &b| price(b, levels[b] + 1).total_cmp(&price(a, levels[a] + 1)).then(a.cmp(&b)));
    for v in order {
        let more = values[v].levels[levels[v] + 1].0 - values[v].levels[levels[v]].0;
        let own = &mut bytes[values[v].live[0]..=values[v].live[1]];
        if own.iter().all(|b| b + more <= memory) {
            own.iter_mut().for_each(|b| *b += more);
            levels[v] += 1;
        }
    }
    let error = values.iter().zip(&levels).map(|(value, &level)| value.levels[level].1).sum();
    Ok(Fitted { peak: bytes.iter().copied().max().unwrap_or(0), levels, error })
}
