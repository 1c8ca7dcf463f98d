//! mjcf
