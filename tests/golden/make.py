"""Goldens from MuJoCo: compiled fields, and every stage's output at given states.

Usage: make.py [--check] [--fields] [--states N] [--steps N] OUT_DIR MODEL.xml [MODEL.xml ...]
       (needs mujoco==4.0.0 and numpy)

Writes OUT_DIR/NAME.npz for each model, NAME being the file's stem, with the keys
  model/FIELD      a compiled field by MuJoCo's name (opt and stat members as opt_X and stat_X)
  state/FIELD      inputs of mj_forward, one row a state
  out/FIELD        outputs of mj_forward, one row a state; contact_* and efc_* rows of all states one after the other,
                   split by out/ncon and out/nefc; efc_J and actuator_moment dense; M and qLD in MuJoCo's CSR order
  traj/FIELD       qpos, qvel after each of NTRAJ steps of mj_step from state NSTATE / 2, a random pose, inputs held
With --fields only the compiled fields of physics are written, as text: OUT_DIR/NAME.json.
With --check the goldens in OUT_DIR are compared with MuJoCo's answers at the states that they hold: 1e-9 relative.
The solver is run to convergence (tolerance 0, 1000 iterations), the Jacobian is dense, islands are off.
"""

import json
import pathlib
import re
import sys

import mujoco
import numpy as np

NSTATE = 20
NTRAJ = 500
STATE = ["qpos", "qvel", "act", "ctrl", "qfrc_applied", "xfrc_applied", "mocap_pos", "mocap_quat", "eq_active", "qacc_warmstart"]
OUT = """xpos xquat xmat xipos ximat xanchor xaxis geom_xpos geom_xmat site_xpos site_xmat subtree_com cinert cdof ten_length
actuator_length crb M qLD qLDiagInv cvel cdof_dot ten_velocity actuator_velocity qfrc_spring qfrc_damper
qfrc_gravcomp qfrc_passive qfrc_bias act_dot actuator_force qfrc_actuator qfrc_smooth qacc_smooth qacc qfrc_constraint""".split()
EFC = "efc_pos efc_margin efc_frictionloss efc_diagA efc_KBIP efc_D efc_R efc_vel efc_aref efc_force efc_type efc_id".split()
CONTACT = "dist pos frame includemargin friction solref solreffriction solimp mu dim geom exclude efc_address".split()


def model_fields(m):
    """Every numeric array and size of a model, with opt and stat members flattened in."""
    out = {}
    for name in dir(m):
        if name.startswith("_"):
            continue
        value = getattr(m, name)
        if isinstance(value, (int, np.integer, bool)) and not callable(value):
            out[name] = np.int32(value) if abs(int(value)) < 2**31 else np.int64(0)
        elif isinstance(value, np.ndarray) and not name.startswith(("mesh_", "tex_", "vis", "bvh", "skin", "hfield", "names", "oct_", "light_", "cam_", "mat_", "flex")):
            out[name] = value
    for group in ("opt", "stat"):
        struct = getattr(m, group)
        for name in dir(struct):
            value = getattr(struct, name)
            if not name.startswith("_") and isinstance(value, (int, float, np.ndarray)):
                out[f"{group}_{name}"] = np.asarray(value)
    return out


PHYSICS = re.compile(
    "(body|jnt|dof|geom|site|pair|exclude|eq|tendon|wrap|actuator|key|opt|stat|M)_"
    "|qpos|n(q|v|u|a|C|body|jnt|geom|site|mocap|eq|tendon|wrap|pair|exclude|key|tree)$"
)


# of models that have sensors, cameras, meshes or height fields; faces of hulls and single precision are compared elsewhere
MORE = re.compile("(sensor|cam|hfield)_|n(sensor|sensordata|cam|mesh|meshvert|meshface|hfield|hfielddata)$")
MORE_FIELDS = "mesh_vertadr mesh_vertnum mesh_faceadr mesh_facenum mesh_scale mesh_pos mesh_quat hfield_size hfield_nrow hfield_ncol hfield_adr cam_mode cam_bodyid cam_targetbodyid cam_pos cam_quat".split()


def fields(path):
    """The compiled fields of physics, as lists with their shapes."""
    out = {}
    m = mujoco.MjModel.from_xml_path(str(path))
    more = {name: getattr(m, name) for name in MORE_FIELDS}
    for name, value in {**model_fields(m), **more}.items():
        value = np.asarray(value)
        if PHYSICS.match(name) or ((name in more or MORE.match(name)) and value.any()):
            flat = value.ravel().tolist() if value.dtype.kind == "f" else value.ravel().astype(int).tolist()
            out[f"model/{name}"] = {"shape": list(value.shape), "data": flat}
    return out


def states(m, rng):
    """NSTATE input states: half of them along a rollout with random controls, half random poses near the start."""
    d = mujoco.MjData(m)

    def reset():
        mujoco.mj_resetData(m, d)
        if m.nkey:
            mujoco.mj_resetDataKeyframe(m, d, int(rng.integers(m.nkey)))

    def controls():
        lo = np.where(m.actuator_ctrllimited, m.actuator_ctrlrange[:, 0], -1.0)
        hi = np.where(m.actuator_ctrllimited, m.actuator_ctrlrange[:, 1], 1.0)
        d.ctrl[:] = rng.uniform(lo, hi) if m.nu else 0

    reset()
    rows = []
    for k in range(NSTATE):
        if k == 0:
            reset()
        elif k < NSTATE // 2:
            controls()
            mujoco.mj_step(m, d, int(rng.integers(20, 200)))
        else:
            reset()
            dq = rng.normal(size=m.nv) * 0.15
            mujoco.mj_integratePos(m, d.qpos, dq, 1.0)
            d.qvel[:] = rng.normal(size=m.nv) * 0.5
            d.qfrc_applied[:] = rng.normal(size=m.nv) * 0.1
            d.xfrc_applied[1:] = rng.normal(size=(m.nbody - 1, 6)) * 0.1
            d.act[:] = rng.normal(size=m.na) * 0.1
            controls()
        rows.append({f: np.array(getattr(d, f)).ravel() for f in STATE})
    return rows


def put(m, d, row):
    mujoco.mj_resetData(m, d)
    for f in STATE:
        getattr(d, f)[...] = row[f].reshape(getattr(d, f).shape)


def make(path, given=None):
    """The golden of a model as a dict of arrays; at the states of the golden `given`, or at new ones."""
    m = mujoco.MjModel.from_xml_path(str(path))
    out = {f"model/{k}": v for k, v in model_fields(m).items()}
    rng = np.random.default_rng(1)
    rows = states(m, rng) if given is None else [{f: given[f"state/{f}"][k] for f in STATE} for k in range(len(given["state/qpos"]))]
    for f in STATE:
        out[f"state/{f}"] = np.array([r[f] for r in rows])

    m.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    m.opt.tolerance, m.opt.ls_tolerance = 0, 1e-12
    m.opt.iterations, m.opt.ls_iterations = 1000, 200
    m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ISLAND
    d = mujoco.MjData(m)
    acc = {f: [] for f in OUT + EFC + ["contact_" + c for c in CONTACT] + ["efc_J", "actuator_moment", "ten_J", "ncon", "nefc", "ne", "nf", "nl", "next_qpos", "next_qvel", "next_act"]}
    for row in rows:
        put(m, d, row)
        mujoco.mj_forward(m, d)
        for f in OUT:
            acc[f].append(np.array(getattr(d, f)).ravel())
        for f in EFC:
            acc[f].extend(np.array(getattr(d, f)))
        for c in CONTACT:
            acc["contact_" + c].extend(np.array(getattr(d.contact, c)) if d.ncon else [])
        acc["efc_J"].extend(np.array(d.efc_J).reshape(d.nefc, m.nv) if d.nefc else [])
        moment = np.zeros((m.nu, m.nv))
        if m.nu:
            mujoco.mju_sparse2dense(moment, d.actuator_moment, d.moment_rownnz, d.moment_rowadr, d.moment_colind)
        acc["actuator_moment"].append(moment.ravel())
        ten = np.zeros((m.ntendon, m.nv))
        if m.ntendon:
            mujoco.mju_sparse2dense(ten, d.ten_J, m.ten_J_rownnz, m.ten_J_rowadr, m.ten_J_colind)
        acc["ten_J"].append(ten.ravel())
        for f in ("ncon", "nefc", "ne", "nf", "nl"):
            acc[f].append(getattr(d, f))
        mujoco.mj_step(m, d)
        for f in ("qpos", "qvel", "act"):
            acc["next_" + f].append(np.array(getattr(d, f)))
    for f, v in acc.items():
        out[f"out/{f}"] = np.array(v)

    put(m, d, rows[NSTATE // 2])
    traj = {"qpos": [], "qvel": []}
    for _ in range(NTRAJ if given is None else len(given["traj/qpos"])):
        mujoco.mj_step(m, d)
        for f in traj:
            traj[f].append(np.array(getattr(d, f)))
    for f, v in traj.items():
        out[f"traj/{f}"] = np.array(v)

    def plain(v):
        v = np.asarray(v)
        return v.astype(np.float64) if v.dtype.kind == "f" else v.astype(np.int32)

    return {k: plain(v) for k, v in out.items()}


def check(path, golden):
    """Prints what differs between a golden and MuJoCo's answers at its states; returns the number of such keys."""
    given = dict(np.load(golden))
    fresh = make(path, given)
    faults = [k for k in given.keys() ^ fresh.keys()]
    for key in given.keys() & fresh.keys():
        a, b = given[key], fresh[key]
        scale = max(1e-3, np.abs(b).max(initial=0))
        # other processors round a little differently, and 500 steps carry that on
        tolerance = 1e-6 if key.startswith("traj/") else 1e-9
        if a.shape != b.shape or not np.all(np.abs(a - b) <= tolerance * scale):
            faults.append(key)
    for key in sorted(faults):
        print(f"{golden}: {key} differs from MuJoCo's")
    return len(faults)


def same(given, fresh):
    """Two sets of compiled fields agree to 1e-9 relative."""
    return given.keys() == fresh.keys() and all(
        given[k]["shape"] == fresh[k]["shape"] and np.allclose(given[k]["data"], fresh[k]["data"], rtol=1e-9, atol=1e-12)
        for k in fresh
    )


def main(args):
    global NSTATE, NTRAJ
    checking, only_fields = False, False
    while args[0].startswith("--"):
        option, *args = args
        if option == "--check":
            checking = True
        elif option == "--fields":
            only_fields = True
        elif option == "--states":
            NSTATE, *args = int(args[0]), *args[1:]
        elif option == "--steps":
            NTRAJ, *args = int(args[0]), *args[1:]
        else:
            sys.exit(f"unknown option {option}")
    target, *names = args
    target = pathlib.Path(target)
    target.mkdir(parents=True, exist_ok=True)
    faults = 0
    for name in names if only_fields else []:
        golden, fresh = target / (pathlib.Path(name).stem + ".json"), fields(name)
        if not checking:
            rows = (f"{json.dumps(k)}: {json.dumps(v)}" for k, v in sorted(fresh.items()))
            golden.write_text("{\n" + ",\n".join(rows) + "\n}\n")
        elif not same(json.loads(golden.read_text()), fresh):
            faults += 1
            print(f"{golden} differs from MuJoCo's")
    for name in names if not only_fields else []:
        golden = target / (pathlib.Path(name).stem + ".npz")
        if checking:
            faults += check(pathlib.Path(name), golden)
        else:
            np.savez_compressed(golden, **make(pathlib.Path(name)))
    if checking:
        print(f"{len(names)} goldens compared with MuJoCo {mujoco.__version__}: {faults} keys differ")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
