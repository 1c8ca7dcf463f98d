// Copies one field of some worlds between its place in a buffer and a dense (worlds, n) array.

struct Place { stride: u32, offset: u32, n: u32, count: u32, all: u32, groups_x: u32, pad0: u32, pad1: u32 }
@group(0) @binding(0) var<storage, read> ids: array<u32>;
@group(0) @binding(1) var<storage, read> src: array<u32>;
@group(0) @binding(2) var<storage, read_write> dst: array<u32>;
@group(0) @binding(3) var<uniform> place: Place;

// the word in the field's buffer of word k in the array
fn word_of(k: u32) -> u32 {
    var w = k / place.n;
    let j = k - w * place.n;
    if place.all == 0u {
        w = ids[w];
    }
    return w * place.stride + place.offset + j;
}

@compute @workgroup_size(64)
fn gather(@builtin(workgroup_id) g: vec3<u32>, @builtin(local_invocation_id) l: vec3<u32>) {
    let k = (g.y * place.groups_x + g.x) * 64u + l.x;
    if k < place.count * place.n {
        dst[k] = src[word_of(k)];
    }
}

@compute @workgroup_size(64)
fn scatter(@builtin(workgroup_id) g: vec3<u32>, @builtin(local_invocation_id) l: vec3<u32>) {
    let k = (g.y * place.groups_x + g.x) * 64u + l.x;
    if k < place.count * place.n {
        dst[word_of(k)] = src[k];
    }
}
