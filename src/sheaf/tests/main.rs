//! Tests of the precision sheaf, against brute force and against answers that are known.

mod blocks;
mod cohomology;
mod cut;
mod draw;
mod flow;
mod gluing;
mod known;
mod pieces;
mod sections;
