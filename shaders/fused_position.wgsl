// The kernel fused_position: frames, transmission, inertia.
// No twin: an entry point; see stage.rs.
import package::layout::{LANES, WORLDS_PER_GROUP, lane_of, world_of};
import package::inertia::{inertia};
import package::kinematics::{com_pos, kinematics};
import package::math::{sync};
import package::transmission::{transmission};

@compute @workgroup_size(LANES, WORLDS_PER_GROUP, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let w = world_of(group, local);
    let lane = lane_of(local);
    kinematics(w, lane);
    sync();
    com_pos(w, lane);
    sync();
    transmission(w, lane);
    sync();
    inertia(w, lane);
}
