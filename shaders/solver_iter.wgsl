// The kernel solver_iter.
// No twin: an entry point; see solver.wgsl.
import package::layout::{LANES, WORLDS_PER_GROUP, lane_of, world_of};
import package::solver::{solver_iter};

@compute @workgroup_size(LANES, WORLDS_PER_GROUP, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    solver_iter(world_of(group, local), lane_of(local));
}
