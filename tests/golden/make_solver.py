"""Goldens of the solvers stopped early: MuJoCo's answer after a given number of sweeps or steps.

Usage: make_solver.py OUT_DIR MODEL.xml [MODEL.xml ...]      (needs mujoco==4.0.0 and numpy)

Reads the states of OUT_DIR/NAME.npz, which make.py writes, and writes OUT_DIR/sweeps_NAME.npz with, for these states,
  out/nefc         rows
  noslipN/FIELD    qacc, efc_force, efc_state after Newton and N sweeps of noslip, tolerance 0
  pgsN/FIELD       the same after N sweeps of PGS, tolerance 0, and solver_niter with the tolerance 1e-6
  newtonN_L/FIELD  qacc after N steps of Newton's method with L turns of its line search, all else as the model has it
Islands are off: with them MuJoCo sweeps each by itself.
"""

import copy
import pathlib
import sys

import make
import mujoco
import numpy as np

NOSLIP = [1, 3, 100]
PGS = [1, 2, 3, 4, 10, 40]
STEPS = [1, 2, 3, 4, 5]
TURNS = [4, 5, 6, 8, 50]
ROWS = ["qacc", "efc_force", "efc_state"]


def solve(model, golden, options, fields):
    m = copy.copy(model)
    m.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ISLAND
    for name, value in options.items():
        setattr(m.opt, name, value)
    d = mujoco.MjData(m)
    out = {f: [] for f in fields}
    for k in range(len(golden["state/qpos"])):
        make.put(m, d, {f: golden[f"state/{f}"][k] for f in make.STATE})
        mujoco.mj_forward(m, d)
        for f in fields:
            value = np.array(d.solver_niter[:1]) if f == "solver_niter" else np.array(getattr(d, f))
            (out[f].extend if f.startswith("efc_") else out[f].append)(value.astype(np.int32) if value.dtype.kind == "i" else value)
    return {f: np.array(v) for f, v in out.items()}


def stopped():
    """Key, options and fields of each golden."""
    exact = {"tolerance": 0, "noslip_tolerance": 0, "ls_tolerance": 1e-12, "iterations": 1000, "ls_iterations": 200}
    for n in NOSLIP:
        yield f"noslip{n}", exact | {"noslip_iterations": n}, ROWS
    pgs = {"solver": mujoco.mjtSolver.mjSOL_PGS, "noslip_iterations": 0}
    for n in PGS:
        yield f"pgs{n}", pgs | {"tolerance": 0, "iterations": n}, ROWS
    yield "pgs", pgs | {"tolerance": 1e-6, "iterations": 1000}, ["solver_niter"]
    newton = {"solver": mujoco.mjtSolver.mjSOL_NEWTON, "noslip_iterations": 0}
    for n in STEPS:
        for turns in TURNS:
            yield f"newton{n}_{turns}", newton | {"iterations": n, "ls_iterations": turns}, ["qacc"]


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[1])
    for path in map(pathlib.Path, sys.argv[2:]):
        model = mujoco.MjModel.from_xml_path(str(path))
        golden = dict(np.load(target / (path.stem + ".npz")))
        swept = {"out/nefc": golden["out/nefc"]}
        for key, options, fields in stopped():
            swept |= {f"{key}/{f}": v for f, v in solve(model, golden, options, fields).items()}
        np.savez_compressed(target / ("sweeps_" + path.stem + ".npz"), **swept)
