//! What `ngc-math` does beside looking at implementations: it finds them, and chooses among what it found.

pub mod select;
pub mod synthesize;
