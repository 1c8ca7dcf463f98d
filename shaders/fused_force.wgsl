// The kernel fused_force: reference accelerations, actuators, acceleration without constraints.
// No twin: an entry point; see stage.rs.
import package::layout::{LANES, WORLDS_PER_GROUP, lane_of, world_of};
import package::acceleration::{acceleration};
import package::actuation::{actuation};
import package::math::{sync};
import package::reference::{reference};

@compute @workgroup_size(LANES, WORLDS_PER_GROUP, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let w = world_of(group, local);
    let lane = lane_of(local);
    reference(w, lane);
    sync();
    actuation(w, lane);
    sync();
    acceleration(w, lane);
}
