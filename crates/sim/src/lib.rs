//! A seeded laboratory that runs balancing policies on simulated clusters of any size and measures what they do.
