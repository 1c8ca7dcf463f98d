// The kernel solver_iter: some Newton steps; how many of them share a dispatch is up to the device.
// No twin: an entry point; see solver.wgsl.
import package::layout::{LANES, NEWTON_STEPS, OPT_ITERATIONS, WORLDS_PER_GROUP, dispatch_arg, lane_of, world_of};
import package::math::{sync};
import package::solver::{solver_iter};

@compute @workgroup_size(LANES, WORLDS_PER_GROUP, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let w = world_of(group, local);
    let lane = lane_of(local);
    let steps = min(NEWTON_STEPS, u32(OPT_ITERATIONS) - NEWTON_STEPS * dispatch_arg());
    for (var k = 0u; k < steps; k += 1u) {
        let more = solver_iter(w, lane);
        if !more { // uniform: the same for the whole group
            break;
        }
        // the next step reads who has converged
        sync();
    }
}
