// The kernel fused_health: a look at the world, then the step that is implicit in velocity, and its end.
// No twin: an entry point; see stage.rs.
import package::layout::{LANES, WORLDS_PER_GROUP, lane_of, world_of};
import package::health::{health};
import package::implicit::{implicit};
import package::integrate::{integrate};
import package::math::{sync};

@compute @workgroup_size(LANES, WORLDS_PER_GROUP, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let w = world_of(group, local);
    let lane = lane_of(local);
    health(w, lane);
    sync();
    implicit(w, lane);
    sync();
    integrate(w, lane, 0u);
}
