//! A model that is read, written and read again computes what it computed, bit by bit, for every operator case; what is
//! written by steps of its own stays within a few units in the last place.
