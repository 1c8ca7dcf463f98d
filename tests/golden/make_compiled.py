"""MuJoCo's compiled fields of every model of the corpus, meshes and names included.

Usage: make_compiled.py CORPUS OUT_DIR [NAME ...]    (needs mujoco==4.0.0 and numpy)

CORPUS/index.json names the main file of each model. Writes OUT_DIR/NAME.npz with the keys
  model/FIELD   a size or a compiled field by MuJoCo's name (opt and stat members as opt_X and stat_X)
  bits/FIELD    a field that MuJoCo holds in single precision: its bits as int32
  names/KIND    names of the elements of a kind by id, each ended by a 0, as character codes; nothing where one has none
  hull/volume   volume of the convex hull of every mesh, 0 where it has none
  hull/support  largest coordinate of the hull's vertices along 64 directions (those of `directions` below)
"""

import json
import pathlib
import sys

import mujoco
import numpy as np

from make import model_fields

SINGLE = ["mesh_vert", "hfield_data"]
MESH = "vertadr vertnum faceadr facenum graphadr face scale pos quat".split()
KINDS = {
    "body": ("nbody", mujoco.mjtObj.mjOBJ_BODY),
    "joint": ("njnt", mujoco.mjtObj.mjOBJ_JOINT),
    "geom": ("ngeom", mujoco.mjtObj.mjOBJ_GEOM),
    "site": ("nsite", mujoco.mjtObj.mjOBJ_SITE),
    "pair": ("npair", mujoco.mjtObj.mjOBJ_PAIR),
    "equality constraint": ("neq", mujoco.mjtObj.mjOBJ_EQUALITY),
    "tendon": ("ntendon", mujoco.mjtObj.mjOBJ_TENDON),
    "actuator": ("nactuator", mujoco.mjtObj.mjOBJ_ACTUATOR),
    "keyframe": ("nkey", mujoco.mjtObj.mjOBJ_KEY),
    "mesh": ("nmesh", mujoco.mjtObj.mjOBJ_MESH),
    "height field": ("nhfield", mujoco.mjtObj.mjOBJ_HFIELD),
    "camera": ("ncam", mujoco.mjtObj.mjOBJ_CAMERA),
    "sensor": ("nsensor", mujoco.mjtObj.mjOBJ_SENSOR),
}


def directions(n=64):
    """Directions spread over the sphere along a spiral."""
    k = np.arange(n)
    z = 1 - (2 * k + 1) / n
    turn = k * np.pi * (3 - np.sqrt(5))
    r = np.sqrt(1 - z * z)
    return np.stack([r * np.cos(turn), r * np.sin(turn), z], axis=1)


def hulls(m):
    """Volume and support of the hull of every mesh."""
    volume, support = np.zeros(m.nmesh), np.zeros((m.nmesh, 64))
    for i in range(m.nmesh):
        at = m.mesh_graphadr[i]
        if at < 0:
            continue
        vert = m.mesh_vert[m.mesh_vertadr[i] :][: m.mesh_vertnum[i]].astype(float)
        nvert, nface = m.mesh_graph[at], m.mesh_graph[at + 1]
        ids = m.mesh_graph[at + 2 + nvert :][:nvert]
        face = m.mesh_graph[at + 2 + 3 * nvert + 3 * nface :][: 3 * nface].reshape(-1, 3)
        a, b, c = (vert[face[:, k]] for k in range(3))
        volume[i] = np.einsum("ij,ij->", a, np.cross(b, c)) / 6
        support[i] = (directions() @ vert[ids].T).max(axis=1)
    return volume, support


def compiled(path):
    m = mujoco.MjModel.from_xml_path(str(path))
    out = {f"model/{k}": np.asarray(v) for k, v in model_fields(m).items() if np.asarray(v).dtype.kind in "iufb"}
    for name in [f"mesh_{f}" for f in MESH] + ["hfield_size", "hfield_nrow", "hfield_ncol", "hfield_adr"]:
        out[f"model/{name}"] = getattr(m, name)
    for name in SINGLE:
        out[f"bits/{name}"] = np.ascontiguousarray(getattr(m, name), np.float32).view(np.int32)
    for kind, (size, obj) in KINDS.items():
        names = [mujoco.mj_id2name(m, obj, i) or "" for i in range(getattr(m, size))]
        out[f"names/{kind}"] = np.array([ord(c) for n in names for c in n + "\0"], np.int32)
    out["hull/volume"], out["hull/support"] = hulls(m)
    return {k: v.astype(np.float64) if v.dtype.kind == "f" else v.astype(np.int32) for k, v in out.items()}


def main(corpus, target, *wanted):
    corpus, target = pathlib.Path(corpus), pathlib.Path(target)
    target.mkdir(parents=True, exist_ok=True)
    for name, file in json.loads((corpus / "index.json").read_text()).items():
        if not wanted or name in wanted:
            np.savez(target / f"{name}.npz", **compiled(corpus / name / file))


if __name__ == "__main__":
    main(*sys.argv[1:])
