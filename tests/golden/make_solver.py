"""Goldens of the solvers over forces: MuJoCo's PGS and noslip after a given number of sweeps.

Usage: make_solver.py OUT_DIR MODEL.xml [MODEL.xml ...]      (needs mujoco==4.0.0 and numpy)

Writes what make.py writes (Newton, converged) and, for the same states,
  pgsN/FIELD       qacc, efc_force after N sweeps of PGS without warm start, tolerance 0
  noslipN/FIELD    the same after Newton and N sweeps of noslip, tolerance 0
"""

import pathlib
import sys

import make
import mujoco
import numpy as np

SWEEPS = {"pgs": [1, 5, 100], "noslip": [1, 3, 100]}


def sweeps(path, golden, kind, n):
    m = mujoco.MjModel.from_xml_path(str(path))
    m.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    m.opt.tolerance, m.opt.noslip_tolerance, m.opt.ls_tolerance = 0, 0, 1e-12
    m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ISLAND
    if kind == "pgs":
        m.opt.solver, m.opt.iterations = mujoco.mjtSolver.mjSOL_PGS, n
        m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_WARMSTART
    else:
        m.opt.iterations, m.opt.ls_iterations, m.opt.noslip_iterations = 1000, 200, n
    d = mujoco.MjData(m)
    qacc, force, state = [], [], []
    for k in range(len(golden["state/qpos"])):
        make.put(m, d, {f: golden[f"state/{f}"][k] for f in make.STATE})
        mujoco.mj_forward(m, d)
        qacc.append(np.array(d.qacc))
        force.extend(np.array(d.efc_force))
        state.extend(np.array(d.efc_state, dtype=np.int32))
    return {f"{kind}{n}/qacc": np.array(qacc), f"{kind}{n}/efc_force": np.array(force), f"{kind}{n}/efc_state": np.array(state, dtype=np.int32)}


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[1])
    make.NSTATE, make.NTRAJ = 8, 1
    for path in map(pathlib.Path, sys.argv[2:]):
        golden = make.make(path)
        for kind, counts in SWEEPS.items():
            for n in counts:
                golden |= sweeps(path, golden, kind, n)
        np.savez_compressed(target / (path.stem + ".npz"), **golden)
