//! Tests of the text.
