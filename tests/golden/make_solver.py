"""Goldens of noslip: MuJoCo's answer after a given number of sweeps.

Usage: make_solver.py OUT_DIR MODEL.xml [MODEL.xml ...]      (needs mujoco==4.0.0 and numpy)

Reads the states of OUT_DIR/NAME.npz, which make.py writes, and writes OUT_DIR/sweeps_NAME.npz with, for these states,
  out/nefc         rows
  noslipN/FIELD    qacc, efc_force, efc_state after Newton and N sweeps of noslip, tolerance 0
PGS is not here: its sweeps in MuJoCo 4 are neither in order nor plain, so only where it converges can be compared.
"""

import pathlib
import sys

import make
import mujoco
import numpy as np

SWEEPS = [1, 3, 100]


def sweeps(path, golden, n):
    m = mujoco.MjModel.from_xml_path(str(path))
    m.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    m.opt.tolerance, m.opt.noslip_tolerance, m.opt.ls_tolerance = 0, 0, 1e-12
    m.opt.iterations, m.opt.ls_iterations, m.opt.noslip_iterations = 1000, 200, n
    m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ISLAND
    d = mujoco.MjData(m)
    qacc, force, state = [], [], []
    for k in range(len(golden["state/qpos"])):
        make.put(m, d, {f: golden[f"state/{f}"][k] for f in make.STATE})
        mujoco.mj_forward(m, d)
        qacc.append(np.array(d.qacc))
        force.extend(np.array(d.efc_force))
        state.extend(np.array(d.efc_state, dtype=np.int32))
    return {f"noslip{n}/qacc": np.array(qacc), f"noslip{n}/efc_force": np.array(force), f"noslip{n}/efc_state": np.array(state)}


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[1])
    for path in map(pathlib.Path, sys.argv[2:]):
        golden = dict(np.load(target / (path.stem + ".npz")))
        swept = {"out/nefc": golden["out/nefc"]}
        for n in SWEEPS:
            swept |= sweeps(path, golden, n)
        np.savez_compressed(target / ("sweeps_" + path.stem + ".npz"), **swept)
