// What a device must be able to do: keep error-free sums, run loops to their end.
import package::layout::{WORLDS_PER_GROUP, LANES, ld_qpos, st_qvel, world_of};
import package::two_float::{tf_add};

@compute @workgroup_size(LANES, WORLDS_PER_GROUP, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let w = world_of(group, local);
    // a small number added many times to a large one
    var sum = vec2<f32>(ld_qpos(w, 0u), 0.0);
    let x = ld_qpos(w, 1u);
    for (var k = 0u; k < 10000u; k += 1u) {
        sum = tf_add(sum.x, sum.y, x);
    }
    st_qvel(w, 0u, sum.x);
    st_qvel(w, 1u, sum.y);
}

// more iterations than some software devices run; 1,000 times 100
@compute @workgroup_size(LANES, WORLDS_PER_GROUP, 1)
fn main_loop(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let w = world_of(group, local);
    var state = u32(ld_qpos(w, 2u));
    var count = 0u;
    for (var k = 0u; k < 1000u; k += 1u) {
        for (var j = 0u; j < 100u; j += 1u) {
            // not to be summed in closed form
            state = state * 1664525u + 1013904223u;
            count += select(1u, 2u, state == 0u);
        }
    }
    st_qvel(w, 2u, f32(count));
}
