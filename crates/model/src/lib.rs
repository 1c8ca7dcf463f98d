//! A specification compiled to MuJoCo's model fields.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "ids and counts fit i32 and are kept there as MuJoCo keeps them"
)]
pub mod derived;
