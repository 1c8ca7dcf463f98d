// Records what a step of a world begins with, in a ring of the last states; a frozen world keeps what it has.

struct Place {
    nworld: u32, groups_x: u32, depth: u32, base: u32,
    state_words: u32, status_words: u32, status_at: u32, eq_at: u32, neq: u32, frozen: u32, pad0: u32, pad1: u32,
}
struct Step { k: u32, pad0: u32, pad1: u32, pad2: u32 }
@group(0) @binding(0) var<storage, read> state: array<u32>;
@group(0) @binding(1) var<storage, read> status: array<u32>;
@group(0) @binding(2) var<storage, read_write> history: array<u32>;
@group(0) @binding(3) var<uniform> place: Place;
@group(0) @binding(4) var<uniform> step: Step;

// A record: the number of the step, the world's words of the buffer `state`, its eq_active.
@compute @workgroup_size(64)
fn record(@builtin(workgroup_id) g: vec3<u32>, @builtin(local_invocation_id) l: vec3<u32>) {
    let i = (g.y * place.groups_x + g.x) * 64u + l.x;
    let n = 1u + place.state_words + place.neq;
    let w = i / n;
    if w >= place.nworld || (status[w * place.status_words + place.status_at] & place.frozen) != 0u {
        return;
    }
    let j = i - w * n;
    let number = place.base + step.k;
    var word = number;
    if j > place.state_words {
        word = status[w * place.status_words + place.eq_at + j - 1u - place.state_words];
    } else if j > 0u {
        word = state[w * place.state_words + j - 1u];
    }
    history[(w * place.depth + number % place.depth) * n + j] = word;
}
