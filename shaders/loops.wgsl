// Loops that a device stops early.
// No twin: a processor runs loops to their end.
import package::layout::{STATUS_LOOP_LIMIT, ld_status, st_status};
import package::math::{rolled};

// Freezes the world if the device has stopped loops of this invocation, as llvmpipe does after 65,535 turns, all loops
// together: from then on a loop turns once, so does this one. Stands at the end of what has loops over pairs, contacts or rows.
fn loops_ran(w: u32) {
    var left = rolled(4u);
    while left > 0u {
        left -= 1u;
    }
    if left != 0u {
        st_status(w, ld_status(w) | STATUS_LOOP_LIMIT);
    }
}
