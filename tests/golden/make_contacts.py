"""Contacts of single geom pairs from MuJoCo: two geoms at given poses, for every narrow phase of primitives.

Usage: make_contacts.py OUT.npz N [SEED]      (needs mujoco==4.0.0 and numpy; N poses a pair type and kind)

Keys, PAIR being such as box_box: PAIR/kind (0 random, 1 aligned or resting up to a small tilt, 2 deep, 3 exactly
aligned: several answers are equally right), PAIR/size (n, 2, 3), PAIR/pos (n, 2, 3), PAIR/mat (n, 2, 9), PAIR/margin (n), PAIR/ncon (n) and, one after the other, PAIR/dist, PAIR/cpos (., 3), PAIR/frame (., 9).
"""

import sys

import mujoco
import numpy as np

TYPES = {"plane": 0, "sphere": 2, "capsule": 3, "box": 6}
PAIRS = [
    ("plane", "sphere"), ("plane", "capsule"), ("plane", "box"), ("sphere", "sphere"), ("sphere", "capsule"),
    ("sphere", "box"), ("capsule", "capsule"), ("capsule", "box"), ("box", "box"),
]  # fmt: skip
DEFAULT = {"plane": "1 1 1", "sphere": "1", "capsule": "1 1", "box": "1 1 1"}


class Pair:
    """Two mocap bodies with one geom each."""

    def __init__(self, t1, t2):
        body = '<body mocap="true"><geom type="{}" size="{}"/></body>'
        xml = "<mujoco><option><flag midphase='disable'/></option><worldbody>{}<body><freejoint/><geom type='{}' size='{}'/></body></worldbody></mujoco>"
        self.m = mujoco.MjModel.from_xml_string(xml.format(body.format(t1, DEFAULT[t1]), t2, DEFAULT[t2]))
        self.d = mujoco.MjData(self.m)

    def contacts(self, size, pos, quat, margin):
        """dist (n), pos (n, 3), frame (n, 9) and the rotation matrices of two geoms at a pose."""
        m, d = self.m, self.d
        m.geom_size[:] = size
        m.geom_margin[:] = margin / 2
        for g in range(2):
            t = m.geom_type[g]
            m.geom_rbound[g] = {0: 0, 2: size[g][0], 3: size[g][0] + size[g][1], 6: np.linalg.norm(size[g])}[t]
        d.mocap_pos[0], d.mocap_quat[0] = pos[0], quat[0]
        d.qpos[:3], d.qpos[3:] = pos[1], quat[1]
        mujoco.mj_kinematics(m, d)
        mujoco.mj_collision(m, d)
        c = d.contact
        return np.array(c.dist), np.array(c.pos).reshape(-1, 3), np.array(c.frame).reshape(-1, 9), d.geom_xpos.copy(), d.geom_xmat.copy()


def quat(rng):
    q = rng.normal(size=4)
    return q / np.linalg.norm(q)


def right_angle(rng):
    """One of the 24 rotations of a cube."""
    axis = np.eye(3)[rng.integers(3)]
    a = np.zeros(4)
    mujoco.mju_axisAngle2Quat(a, axis, np.pi / 2 * rng.integers(4))
    b, c = np.zeros(4), np.zeros(4)
    mujoco.mju_axisAngle2Quat(b, np.eye(3)[rng.integers(3)], np.pi / 2 * rng.integers(4))
    mujoco.mju_mulQuat(c, a, b)
    return c


def turned(q, axis, angle):
    a, b = np.zeros(4), np.zeros(4)
    mujoco.mju_axisAngle2Quat(a, axis, angle)
    mujoco.mju_mulQuat(b, q, a)
    return b


def extent(t, size, mat, n):
    """Half the extent of a geom along n."""
    if t == "plane":
        return 0
    if t == "sphere":
        return size[0]
    if t == "capsule":
        return size[0] + size[1] * abs(mat[:, 2] @ n)
    return np.abs(mat.T @ n) @ size


def mat_of(q):
    r = np.zeros(9)
    mujoco.mju_quat2Mat(r, q)
    return r.reshape(3, 3)


def sample(t1, t2, kind, rng):
    """Sizes, poses and margin of a pair."""
    size = rng.uniform(0.05, 0.5, size=(2, 3))
    margin = float(rng.choice([0, 0, 0.01, 0.05]))
    q1, q2 = quat(rng), quat(rng)
    if kind in (1, 3):
        # faces and axes aligned up to a turn about the normal and, in kind 1, a tilt as of a resting body
        q2 = right_angle(rng)
        axis = np.eye(3)[rng.integers(3)]
        world_axis = mat_of(q2) @ axis
        mujoco.mju_mulQuat(q2, q1, q2)
        if rng.random() < 0.7:
            q2 = turned(q2, axis, rng.uniform(-np.pi, np.pi))
        n = mat_of(q1) @ (np.eye(3)[2] if t1 == "plane" else world_axis)
        if kind == 1:
            axis = rng.normal(size=3)
            q2 = turned(q2, axis / np.linalg.norm(axis), rng.choice([1e-6, 1e-4, 1e-3, 1e-2]))
    else:
        n = rng.normal(size=3)
        n /= np.linalg.norm(n)
        if t1 == "plane":
            n = mat_of(q1)[:, 2]
    m1, m2 = mat_of(q1), mat_of(q2)
    reach = extent(t1, size[0], m1, n) + extent(t2, size[1], m2, n)
    depth = {0: rng.uniform(-0.3, 0.06), 1: rng.uniform(-2e-3, 0.3e-3), 2: -rng.uniform(0, 1) * reach}[kind % 3 or kind // 3]
    side = rng.normal(size=3) * (0.0 if rng.random() < 0.3 else 0.3)
    side -= n * (side @ n)
    pos1 = rng.normal(size=3) * 0.5
    pos2 = pos1 + n * (reach + depth) + side
    return size, np.array([pos1, pos2]), np.array([q1, q2]), margin


def make(n, seed):
    """Every key of the file."""
    out = {}
    for t1, t2 in PAIRS:
        rng = np.random.default_rng(seed)
        pair = Pair(t1, t2)
        rows = {k: [] for k in "kind size pos mat margin ncon dist cpos frame".split()}
        for kind in range(4):
            for _ in range(n):
                while True:
                    size, pos, q, margin = sample(t1, t2, kind, rng)
                    dist, cpos, frame, xpos, xmat = pair.contacts(size, pos, q, margin)
                    # mostly poses that touch: one in eight of the others is kept
                    if len(dist) or rng.random() < 0.125:
                        break
                for k, v in dict(kind=kind, size=size, pos=xpos, mat=xmat, margin=margin, ncon=len(dist)).items():
                    rows[k].append(v)
                rows["dist"].extend(dist)
                rows["cpos"].extend(cpos)
                rows["frame"].extend(frame)
        for k, v in rows.items():
            v = np.array(v)
            out[f"{t1}_{t2}/{k}"] = v.astype(np.float64) if v.dtype.kind == "f" else v.astype(np.int32)
    return out


if __name__ == "__main__":
    np.savez_compressed(sys.argv[1], **make(int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 1))
