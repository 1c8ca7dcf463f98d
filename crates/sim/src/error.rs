//! What can go wrong with a batch.

use crate::{DumpError, Failure};
use kiloworld_layout::{Field, Stage};

/// An error of a batch.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// the batch would have no world
    #[error("a batch needs at least one world")]
    NoWorlds,
    /// a field of the other kind of array
    #[error("{0} cannot be set: it is computed by the stage `{1}`")]
    Computed(&'static str, Stage),
    /// a field that is not the user's to read or write here
    #[error("{field} is {what}; {remedy}")]
    WrongField {
        /// the field
        field: &'static str,
        /// what it is
        what: &'static str,
        /// what to do instead
        remedy: &'static str,
    },
    /// an array of the wrong length
    #[error("{field} has {got} numbers, expected {nworld} worlds × {len} = {}", nworld * len)]
    Length {
        /// the field
        field: &'static str,
        /// numbers given
        got: usize,
        /// worlds
        nworld: usize,
        /// numbers a world
        len: usize,
    },
    /// a non-finite number in an array given by the user
    #[error("{field} of world {world} holds {value} at position {index}: only finite numbers can be set")]
    NonFinite {
        /// the field
        field: &'static str,
        /// world
        world: usize,
        /// position in the world's array
        index: usize,
        /// the number
        value: f64,
    },
    /// a world that is not there
    #[error("world {id} is out of range: the batch has {nworld} worlds")]
    World {
        /// the id
        id: usize,
        /// worlds
        nworld: usize,
    },
    /// a world named more than once
    #[error("world {id} is named more than once: name each world once")]
    RepeatedWorld {
        /// the id
        id: usize,
    },
    /// a mask of the wrong length
    #[error("the mask has {got} entries, expected one a world: {nworld}")]
    Mask {
        /// entries given
        got: usize,
        /// worlds
        nworld: usize,
    },
    /// an equality constraint that is not there
    #[error("equality constraint {id} is out of range: the model has {neq}")]
    Equality {
        /// the id
        id: usize,
        /// equality constraints
        neq: usize,
    },
    /// a constraint that cannot hold a captured pose
    #[error("equality constraint {name} cannot capture a pose: it {what}; {remedy}")]
    Capture {
        /// id and name
        name: String,
        /// why not
        what: &'static str,
        /// what to do instead
        remedy: &'static str,
    },
    /// worlds that could not go on, under the policy that makes them an error
    #[error("{}", crate::quarantine::describe(.0))]
    Failed(Vec<Failure>),
    /// a keyframe that is not there
    #[error("keyframe {id} is out of range: the model has {nkey} keyframes")]
    Keyframe {
        /// the id
        id: usize,
        /// keyframes
        nkey: usize,
    },
    /// a capacity below what the model always needs
    #[error("{name} = {value} is too small: {need} are always needed ({why}); leave it out to have it chosen")]
    Capacity {
        /// `nconmax` or `njmax`
        name: &'static str,
        /// the value given
        value: usize,
        /// the least that works
        need: usize,
        /// where the need comes from
        why: &'static str,
    },
    /// more than the machine has
    #[error(
        "{nworld} worlds need {} of memory ({} each, {} besides), {} are available: {}",
        crate::memory::bytes(*need), crate::memory::bytes(u128::from(*per_world)), crate::memory::bytes(u128::from(*shared)),
        crate::memory::bytes(u128::from(*available)),
        if *most > 0 { format!("at most {most} worlds fit") } else { "not one world fits; lower nconmax, njmax or the history".to_owned() }
    )]
    Memory {
        /// worlds asked for
        nworld: usize,
        /// bytes that they need
        need: u128,
        /// bytes that there are
        available: u64,
        /// bytes a world
        per_world: u64,
        /// bytes whatever the number of worlds
        shared: u64,
        /// worlds that fit
        most: u64,
    },
    /// memory that the system did not give although it seemed to be there
    #[error(
        "{nworld} worlds need {} of memory, and the system does not give so much: ask for fewer, or lower nconmax, njmax or the history",
        crate::memory::bytes(*need)
    )]
    Refused {
        /// worlds asked for
        nworld: usize,
        /// bytes that they need
        need: u128,
    },
    /// more than the device has
    #[error(
        "{nworld} worlds need {} of the device's memory, and it does not give so much: {}",
        crate::memory::bytes(*need),
        if *most > 0 { format!("about {most} worlds fit") } else { "not one world fits; lower nconmax or njmax".to_owned() }
    )]
    DeviceMemory {
        /// worlds asked for
        nworld: usize,
        /// bytes that they need
        need: u128,
        /// worlds that fit, about
        most: usize,
    },
    /// a capacity that no array can have
    #[error(
        "{name} = {value} is too large: a world has at most {most} constraint rows; leave it out to have it chosen"
    )]
    TooManyRows {
        /// `nconmax` or `njmax`
        name: &'static str,
        /// the value given
        value: usize,
        /// the most rows that can be numbered
        most: usize,
    },
    /// a field that cannot differ from world to world
    #[error("{0} cannot be set per world: it is an integer or decides sizes")]
    NotPerWorld(&'static str),
    /// a width that the processor does not have
    #[error("this processor does not hold {lanes} worlds in a register in this precision; it has the widths {has}")]
    Lanes {
        /// the width asked for
        lanes: u32,
        /// the widths that there are
        has: String,
    },
    /// a rule for welds that there is not
    #[error(
        "there is no rule `{0}` for welds: `stiff` (as stiff as the step allows, where the file leaves it open) or `mujoco`"
    )]
    Welds(String),
    /// a time step that is none
    #[error("a time step of {0} s is none: it must be positive and finite")]
    Timestep(f64),
    /// an actuator that is not there
    #[error("actuator {id} is out of range: the model has {nu} actuators")]
    Actuator {
        /// the id
        id: usize,
        /// actuators
        nu: usize,
    },
    /// an actuator that is given twice
    #[error("actuator {0} has two targets")]
    RepeatedActuator(usize),
    /// targets that do not fit the actuators
    #[error("{got} targets for {actuators} actuators: give one each, or {nworld} worlds × {actuators} = {}", nworld * actuators)]
    Targets {
        /// numbers given
        got: usize,
        /// actuators
        actuators: usize,
        /// worlds
        nworld: usize,
    },
    /// a time that no ramp can take
    #[error("a ramp of {0} s is none: its time must be positive and finite")]
    RampTime(f64),
    /// a control period of no step
    #[error("a control period has at least one step")]
    ControlPeriod,
    /// precision that the backend does not have
    #[error("the GPU computes in f32; ask for precision f32 or auto, or for the CPU backend")]
    GpuPrecision,
    /// the model has what no stage computes
    #[error(transparent)]
    Unsupported(#[from] kiloworld_model::Errors),
    /// the file of a dumped world
    #[error(transparent)]
    Dump(#[from] DumpError),
    /// the device
    #[error(transparent)]
    Gpu(#[from] kiloworld_gpu::GpuError),
}

impl Error {
    pub(crate) fn computed(field: Field) -> Self {
        Self::Computed(field.name(), field.info().stage)
    }
}
