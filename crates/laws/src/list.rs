//! The list of laws, and the texts of their files and models.

/// Calls a macro with the names of all laws, which are the stems of the files of `tests/laws`.
#[macro_export]
macro_rules! for_each_law {
    ($with:ident) => {
        $with! {
            batch_alone
            batch_neighbours
            batch_restored
            batch_twice
            box_size
            condim_slope
            condim_spin
            cone_isotropy
            coulomb_small
            creep_elliptic
            creep_noslip
            creep_pyramidal
            damper
            four_bar
            gear
            joint_friction
            joint_limit
            momentum
            order_pendulum
            order_tumbling
            pendulum_period
            pinch_hold
            pinch_noslip
            precession
            projectile
            rebound
            servo_error
            slip_elliptic
            slip_pyramidal
            spring_frequency
            stack_forces
            stop_distance
            symmetry
            weld_anchor
            weld_cantilever
            weld_iterations
            weld_light
            weld_motion
            weld_pallet
            weld_pull
            weld_targets
        }
    };
}

macro_rules! embed {
    ($($name:ident)*) => {
        /// The names of all laws.
        pub const NAMES: &[&str] = &[$(stringify!($name)),*];
        pub(crate) const LAWS: &[(&str, &str)] =
            &[$((stringify!($name), include_str!(concat!("../../../tests/laws/", stringify!($name), ".toml")))),*];
    };
}

for_each_law!(embed);

macro_rules! models {
    ($($file:literal)*) => {
        /// The models of the laws: file name and text.
        pub const MODELS: &[(&str, &str)] = &[$(($file, include_str!(concat!("../../../models/", $file)))),*];
    };
}

models! {
    "ball_on_slope.xml" "big_boxes.xml" "bounce.xml" "box_stack.xml" "cantilever.xml" "double_pendulum.xml" "four_bar.xml" "free_body.xml"
    "gear.xml" "gripper_pinch.xml" "incline.xml" "pallet.xml" "pendulum.xml" "servo.xml" "servo_tool.xml" "slider.xml" "sliding_block.xml"
    "space_chain.xml" "spinning_ball.xml" "top.xml" "tumble.xml" "weld_anchor.xml" "weld_light.xml"
    "weld_pull.xml" "weld_spin.xml"
}
