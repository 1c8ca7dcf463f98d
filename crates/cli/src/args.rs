//! The command line.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Thousands of MuJoCo worlds stepped at once, on any GPU or on the CPU.
#[derive(Parser)]
#[command(name = "kiloworld", version, about, max_term_width = 100)]
pub(crate) struct Cli {
    /// Print JSON for machines instead of text (one object, or one a line)
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Simulate a batch and say how fast it went and how the worlds are
    Rollout(Rollout),
    /// Measure throughput from settled states with random controls; one row a model and batch size
    Bench(Bench),
    /// Step a batch and report what is wrong with its worlds: welds that give way, overflow, penetration, energy, convergence
    Health(Health),
    /// Check physical laws: equation, tolerance, and a control that must fail
    Laws(Laws),
    /// Show what a model compiles to
    Inspect(Inspect),
    /// Show what would be chosen for a batch: backend, memory, step, solver, rule for welds, capacities
    Routes(Routes),
    /// Step a few worlds and print what every step computed
    Trace(Trace),
    /// Say how many contacts and rows worlds need, what they take of memory and how many fit
    Size(Size),
    /// Run the dump of a world again on the CPU in f64: how far it was from the recorded states, and where it breaks
    Replay(Replay),
    /// Show adapters, their limits, what will be used and why, and whether two-float arithmetic survives the compiler
    Doctor,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum BackendArg {
    Auto,
    Cpu,
    Gpu,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum PrecisionArg {
    Auto,
    F32,
    F64,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CtrlArg {
    Zero,
    Random,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum WeldsArg {
    Stiff,
    Mujoco,
}

impl From<WeldsArg> for kiloworld_sim::Welds {
    fn from(arg: WeldsArg) -> Self {
        match arg {
            WeldsArg::Stiff => Self::Stiff,
            WeldsArg::Mujoco => Self::Mujoco,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailureArg {
    Freeze,
    Reset,
    Error,
}

impl From<FailureArg> for kiloworld_sim::Policy {
    fn from(arg: FailureArg) -> Self {
        match arg {
            FailureArg::Freeze => Self::Freeze,
            FailureArg::Reset => Self::Reset,
            FailureArg::Error => Self::Error,
        }
    }
}

/// Where a batch runs and what a world can hold.
#[derive(Args, Clone)]
pub(crate) struct Where {
    /// Where to run; auto takes a GPU that is not a software device, else the CPU
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) backend: BackendArg,
    /// auto is f32; f64 runs on the CPU only
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) precision: PrecisionArg,
    /// Contacts that a world can hold [default: chosen from the model]
    #[arg(long, value_name = "N")]
    pub(crate) nconmax: Option<usize>,
    /// Constraint rows that a world can hold [default: chosen from the model]
    #[arg(long, value_name = "N")]
    pub(crate) njmax: Option<usize>,
    /// Welds and connects whose file sets neither solref nor solimp: as stiff as the time step allows, or MuJoCo's soft row
    #[arg(long, value_enum, default_value = "stiff")]
    pub(crate) welds: WeldsArg,
    /// Time step [default: the model's]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timestep: Option<f64>,
    /// Leave out the checks of worlds that move (see `health`)
    #[arg(long)]
    pub(crate) no_health: bool,
    /// GPU: invocations that work on a world together; CPU: worlds in a register, 1: none beside another [default: chosen]
    #[arg(long, value_name = "N")]
    pub(crate) lanes: Option<u32>,
    /// GPU: worlds a workgroup [default: chosen from model and adapter]
    #[arg(long, value_name = "N")]
    pub(crate) worlds_per_group: Option<u32>,
    /// Solver iterations of a step at most [default: the model's; on a GPU at most 200 of Newton's]
    #[arg(long, value_name = "N")]
    pub(crate) iterations: Option<usize>,
    /// GPU: Newton steps that share a dispatch [default: all; on software devices as many as their bound on loops allows]
    #[arg(long, value_name = "N")]
    pub(crate) newton_steps: Option<u32>,
    /// GPU: whether stages that follow each other share kernels [default: chosen from the adapter]
    #[arg(long, value_name = "BOOL")]
    pub(crate) fused: Option<bool>,
}

/// How worlds are started and driven.
#[derive(Args)]
pub(crate) struct Drive {
    /// Steps of every world
    #[arg(long, default_value_t = 1000)]
    pub(crate) steps: usize,
    /// Seed of the random controls
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// Controls: zero (or the keyframe's), or uniform in their ranges, new every step
    #[arg(long, value_enum, default_value = "random")]
    pub(crate) ctrl: CtrlArg,
    /// Start from this keyframe, by name or number, instead of the reference pose
    #[arg(long, value_name = "K")]
    pub(crate) keyframe: Option<String>,
}

#[derive(Args)]
pub(crate) struct Rollout {
    /// MJCF file
    pub(crate) model: PathBuf,
    /// Number of worlds
    #[arg(long, default_value_t = 4096)]
    pub(crate) worlds: usize,
    #[command(flatten)]
    pub(crate) drive: Drive,
    #[command(flatten)]
    pub(crate) place: Where,
    /// What is done with worlds that cannot go on: they stay frozen, are put back to their start and logged, or end the run
    #[arg(long, value_enum, default_value = "freeze")]
    pub(crate) on_failure: FailureArg,
    /// Keep the last N states of every world, controls included, for --dump-failed
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) history: usize,
    /// Write worlds that failed to files in this folder, at most 16: `kiloworld replay` runs them again. Files of the same names
    /// are replaced where they are dumps, others with --force only
    #[arg(long, value_name = "DIR")]
    pub(crate) dump_failed: Option<PathBuf>,
    /// Write the final time, qpos, qvel, act and status, (nworld, n), to a new file, as its ending says
    #[arg(long, value_name = "FILE.npz|FILE.json")]
    pub(crate) out: Option<PathBuf>,
    /// Replace files that are there already
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Args)]
pub(crate) struct Bench {
    /// MJCF files
    #[arg(default_value = "models/humanoid.xml")]
    pub(crate) models: Vec<PathBuf>,
    /// Batch sizes
    #[arg(long, value_delimiter = ',', default_value = "1024,4096")]
    pub(crate) worlds: Vec<usize>,
    #[command(flatten)]
    pub(crate) place: Where,
    /// Steps before the measurement, so that bodies have settled
    #[arg(long, default_value_t = 500)]
    pub(crate) warmup: usize,
    /// Steps of one measurement
    #[arg(long, default_value_t = 50)]
    pub(crate) steps: usize,
    /// Start from the states of an npz or JSON file, (nworld, n) by field name, instead of warming up
    #[arg(long, value_name = "FILE")]
    pub(crate) state: Option<PathBuf>,
    /// Measurements, each from the same saved states
    #[arg(long, default_value_t = 5)]
    pub(crate) repeats: usize,
    /// Time every stage by itself too: on the GPU by the device's clock, on the CPU with the same lanes on one thread
    #[arg(long)]
    pub(crate) stages: bool,
    /// GPU: try ways to spread the work (lanes, worlds a group, fused kernels, Newton steps a dispatch), the fastest last
    #[arg(long)]
    pub(crate) sweep: bool,
    /// GPU: memory bandwidth of the device [GB/s], to predict the time of a step
    #[arg(long, value_name = "GB/S")]
    pub(crate) bandwidth: Option<f64>,
    /// GPU: peak of the device [GFLOP/s], to predict the time of a step
    #[arg(long, value_name = "GFLOP/S")]
    pub(crate) peak: Option<f64>,
}

#[derive(Args)]
pub(crate) struct Health {
    /// MJCF files
    #[arg(required = true)]
    pub(crate) models: Vec<PathBuf>,
    /// Number of worlds
    #[arg(long, default_value_t = 64)]
    pub(crate) worlds: usize,
    #[command(flatten)]
    pub(crate) drive: Drive,
    #[command(flatten)]
    pub(crate) place: Where,
    /// Start state: an npz or JSON file with qpos, qvel, xfrc_applied … by name, (n) or (nworld, n)
    #[arg(long, value_name = "FILE")]
    pub(crate) state: Option<PathBuf>,
    /// Pull at a body's centre of mass with a constant force [N]; can be given again
    #[arg(long, value_name = "BODY=FX,FY,FZ", allow_hyphen_values = true)]
    pub(crate) force: Vec<String>,
    /// What a check allows: position [m] and angle [rad] of connects and welds, penetration [m], energy, residual
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) limit: Vec<String>,
    /// Print every finding, not the worst of each kind only
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Args)]
pub(crate) struct Laws {
    /// Only laws whose name contains this
    pub(crate) filter: Option<String>,
    /// Only this backend [default: the CPU in f64 and f32, by itself and in lanes, and the GPU where there is one]
    #[arg(long, value_enum)]
    pub(crate) backend: Option<LawBackend>,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum LawBackend {
    CpuF64,
    CpuF32,
    CpuF64Lanes,
    CpuF32Lanes,
    Gpu,
}

#[derive(Args)]
pub(crate) struct Inspect {
    /// MJCF file
    pub(crate) model: PathBuf,
    /// Compiled fields to print, by MuJoCo's names (opt_X and stat_X for members of opt and stat)
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    pub(crate) field: Vec<String>,
    /// Show what the equality constraints hold: rule, stiffness, compliance, and where a weld is weak
    #[arg(long)]
    pub(crate) equalities: bool,
    /// The rule for welds and connects whose file sets neither solref nor solimp
    #[arg(long, value_enum, default_value = "stiff")]
    pub(crate) welds: WeldsArg,
    /// Time step that stiff welds follow [default: the model's]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timestep: Option<f64>,
}

#[derive(Args)]
pub(crate) struct Routes {
    /// MJCF file
    pub(crate) model: PathBuf,
    /// Number of worlds
    #[arg(long, default_value_t = 4096)]
    pub(crate) worlds: usize,
    #[command(flatten)]
    pub(crate) place: Where,
}

#[derive(Args)]
pub(crate) struct Size {
    /// MJCF file
    pub(crate) model: PathBuf,
    /// Worlds that are rolled out: half from the reference pose and the keyframes, half from random poses
    #[arg(long, default_value_t = 64)]
    pub(crate) worlds: usize,
    /// Steps of every world, with random controls
    #[arg(long, default_value_t = 500)]
    pub(crate) steps: usize,
    /// Seed of poses and controls
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// Memory that the worlds may take [GiB], to say how many fit: devices do not tell theirs
    #[arg(long, value_name = "GIB")]
    pub(crate) memory: Option<f64>,
}

#[derive(Args)]
pub(crate) struct Trace {
    /// MJCF file
    pub(crate) model: PathBuf,
    /// Steps
    #[arg(long, default_value_t = 1)]
    pub(crate) steps: usize,
    #[command(flatten)]
    pub(crate) place: Where,
    /// Start from this keyframe, by name or number
    #[arg(long, value_name = "K")]
    pub(crate) keyframe: Option<String>,
    /// Start state: an npz or JSON file with qpos, qvel, act, ctrl, mocap_pos … by name, (n) or (nworld, n)
    #[arg(long, value_name = "FILE")]
    pub(crate) state: Option<PathBuf>,
    /// Controls: an npz or JSON file with `ctrl`, (steps, nu) or (steps, nworld, nu); the last row is held
    #[arg(long, value_name = "FILE")]
    pub(crate) ctrl: Option<PathBuf>,
    /// Run an actuator's control in a straight line to a value by the end of the trace, from where it is; may be repeated
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "ctrl")]
    pub(crate) target: Vec<String>,
    /// Steps that a control of --target is held
    #[arg(long, value_name = "STEPS", default_value_t = 1)]
    pub(crate) control_period: usize,
    /// Before a step, in every world: attach=EQ switches an equality constraint on, release=EQ off, capture=EQ makes a weld or
    /// connect hold its bodies as they are now and switches it on. EQ is a name or number; may be repeated
    #[arg(long, value_name = "STEP:ACTION=EQ")]
    pub(crate) at: Vec<String>,
    /// Write to a new file instead of the terminal, as its ending says: arrays (steps, nworld, n), or JSON lines
    #[arg(long, value_name = "FILE.npz|FILE.jsonl")]
    pub(crate) out: Option<PathBuf>,
    /// Replace a file that is there already
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Args)]
pub(crate) struct Replay {
    /// A dump: `rollout --dump-failed` or `Batch::dump` wrote it
    pub(crate) file: PathBuf,
}
