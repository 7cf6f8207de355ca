//! Operators of ATen that have another name and the same arguments, as they stand in programs that were not decomposed.

/// The alias, and the operator that it is.
const ALIASES: &[(&str, &str)] = &[
    ("_neg_view", "neg"),
    ("absolute", "abs"),
    ("arccos", "acos"),
    ("arccosh", "acosh"),
    ("arcsin", "asin"),
    ("arcsinh", "asinh"),
    ("arctan", "atan"),
    ("arctan2", "atan2"),
    ("arctanh", "atanh"),
    ("broadcast_to", "expand"),
    ("clip", "clamp"),
    ("concat", "cat"),
    ("concatenate", "cat"),
    ("divide", "div"),
    ("fix", "trunc"),
    ("greater", "gt"),
    ("greater_equal", "ge"),
    ("less", "lt"),
    ("less_equal", "le"),
    ("linalg_diagonal", "diagonal"),
    ("linalg_matmul", "matmul"),
    ("mH", "mT"),
    ("matrix_H", "mT"),
    ("moveaxis", "movedim"),
    ("multiply", "mul"),
    ("negative", "neg"),
    ("not_equal", "ne"),
    ("positive", "alias"),
    ("row_stack", "vstack"),
    ("sgn", "sign"),
    ("special_digamma", "digamma"),
    ("special_erf", "erf"),
    ("special_erfc", "erfc"),
    ("special_exp2", "exp2"),
    ("special_expit", "sigmoid"),
    ("special_expm1", "expm1"),
    ("special_gammaln", "lgamma"),
    ("special_i0", "i0"),
    ("special_log1p", "log1p"),
    ("special_log_softmax", "log_softmax"),
    ("special_logit", "logit"),
    ("special_logsumexp", "logsumexp"),
    ("special_multigammaln", "mvlgamma"),
    ("special_psi", "digamma"),
    ("special_round", "round"),
    ("special_sinc", "sinc"),
    ("special_softmax", "softmax"),
    ("special_xlogy", "xlogy"),
    ("subtract", "sub"),
    ("swapdims", "transpose"),
    ("trapz", "trapezoid"),
    ("true_divide", "div"),
];

/// An operator by the name that tables have it by. A copy of a view has the elements of the view.
pub(super) fn canonical(operator: &str) -> &str {
    let is_read = |name: &str| super::OPERATORS.contains_key(name);
    let operator =
        operator.strip_suffix("_copy").filter(|o| !is_read(operator) && is_read(o)).unwrap_or(operator);
    ALIASES.binary_search_by_key(&operator, |(alias, _)| alias).map_or(operator, |n| ALIASES[n].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_are_in_order_and_name_what_is_read() {
        assert!(ALIASES.is_sorted_by_key(|(alias, _)| alias));
        for (alias, operator) in ALIASES {
            assert!(super::super::OPERATORS.contains_key(operator), "{operator}");
            assert!(!super::super::OPERATORS.contains_key(alias), "{alias} is in a table, too");
        }
    }
}
