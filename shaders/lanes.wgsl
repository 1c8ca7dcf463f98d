// Sums and votes over the lanes of a world and the worlds of a group.
// No twin: the CPU has no lanes.
import package::layout::{LANES, WORLDS_PER_GROUP};

// What each lane adds.
var<workgroup> lane_terms: array<vec2<f32>, LANES * WORLDS_PER_GROUP>;
// What each world says.
var<workgroup> world_words: array<u32, WORLDS_PER_GROUP>;
// What the group makes of it.
var<workgroup> group_word: u32;

// Tells the other lanes of the world; where what lane 0 told stands, the others' behind it. Uniform control flow only.
fn tell_lanes(w: u32, lane: u32, x: vec2<f32>) -> u32 {
    let slot = (w % WORLDS_PER_GROUP) * LANES;
    // who still reads what was told before
    workgroupBarrier();
    lane_terms[slot + lane] = x;
    workgroupBarrier();
    return slot;
}

// The sum over the lanes of a world, in the order of the lanes; uniform control flow only.
fn sum_lanes(w: u32, lane: u32, x: vec2<f32>) -> vec2<f32> {
    if LANES == 1u {
        return x;
    }
    let slot = tell_lanes(w, lane, x);
    var sum = vec2<f32>(0.0);
    for (var l = 0u; l < LANES; l += 1u) {
        sum += lane_terms[slot + l];
    }
    return sum;
}

// The lane's pair (size, id) that is the largest in size, of equal ones that of the least id; uniform control flow only.
fn max_lanes(w: u32, lane: u32, x: vec2<f32>) -> vec2<f32> {
    if LANES == 1u {
        return x;
    }
    let slot = tell_lanes(w, lane, x);
    var best = lane_terms[slot];
    for (var l = 1u; l < LANES; l += 1u) {
        let y = lane_terms[slot + l];
        if y[0] > best[0] || (y[0] == best[0] && y[1] < best[1]) {
            best = y;
        }
    }
    return best;
}

// The largest of the worlds' numbers, the same for the whole group; uniform control flow only.
fn group_max(w: u32, lane: u32, n: u32) -> u32 {
    workgroupBarrier();
    if lane == 0u {
        world_words[w % WORLDS_PER_GROUP] = n;
    }
    workgroupBarrier();
    if lane == 0u && w % WORLDS_PER_GROUP == 0u {
        var most = 0u;
        for (var k = 0u; k < WORLDS_PER_GROUP; k += 1u) {
            most = max(most, world_words[k]);
        }
        group_word = most;
    }
    return workgroupUniformLoad(&group_word);
}
