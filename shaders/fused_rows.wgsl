// The kernel fused_rows: rows of equalities and of contacts.
// No twin: an entry point; see stage.rs.
import package::layout::{LANES, WORLDS_PER_GROUP, lane_of, world_of};
import package::constraint_contact::{constraint_contact};
import package::constraint_equality::{constraint_equality};
import package::math::{sync};

@compute @workgroup_size(LANES, WORLDS_PER_GROUP, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let w = world_of(group, local);
    let lane = lane_of(local);
    constraint_equality(w, lane);
    sync();
    constraint_contact(w, lane);
}
