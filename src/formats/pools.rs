//! Pools whose windows may reach beyond the end of what they slide over.

/// Of a dimension whose only window reaches beyond its end, with which it has no more elements than without: the window is
/// as long as the dimension.
pub(crate) fn only_window(kernel: i64, extent: i64, stride: i64) -> i64 {
    if kernel > extent && kernel - extent < stride { extent.max(1) } else { kernel }
}
