//! Tests of ngc-math.
