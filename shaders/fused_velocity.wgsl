// The kernel fused_velocity: what follows from qvel.
// No twin: an entry point; see stage.rs.
import package::layout::{LANES, WORLDS_PER_GROUP, lane_of, world_of};
import package::bias::{bias};
import package::math::{sync};
import package::passive::{passive};
import package::velocity::{velocity};

@compute @workgroup_size(LANES, WORLDS_PER_GROUP, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let w = world_of(group, local);
    let lane = lane_of(local);
    velocity(w, lane);
    sync();
    passive(w, lane);
    sync();
    bias(w, lane);
}
