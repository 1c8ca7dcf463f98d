//! Benches: `cargo bench -p kiloworld-benches` (criterion), and `compare.py`, which measures against mujoco.batch.
