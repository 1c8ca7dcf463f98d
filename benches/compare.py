"""Throughput of kiloworld's CPU backend against mujoco.batch on the same cores, from the same settled states.

Usage: compare.py [--threads T] [--worlds 1024,4096] [--precision f64,f32] [--rounds 5] MODEL.xml [MODEL.xml ...]
(needs mujoco==4.0.0, numpy, and a release build: cargo build --release)

For each model and batch size, MuJoCo settles the worlds with random controls; both programs then start from those
states and run some steps with new uniform controls every step, prepared beforehand, in turn, ROUNDS times. The table has
the medians of world-steps/s and the median of the ratios round by round (the machine's speed drifts, a ratio does not).
"""

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import tempfile
import time

import mujoco
import numpy as np
from mujoco import batch

SETTLE = 500
STEPS = 50  # of a batch; fewer worlds run more steps, so that a run is never shorter than
RUN = 20_000  # world-steps
ROOT = pathlib.Path(__file__).parent.parent


def controls(m, nworld, nstep, rng):
    lo = np.where(m.actuator_ctrllimited, m.actuator_ctrlrange[:, 0], -1.0)
    hi = np.where(m.actuator_ctrllimited, m.actuator_ctrlrange[:, 1], 1.0)
    return rng.uniform(lo, hi, size=(nworld, nstep, m.nu))


def spec(m):
    return int(mujoco.mjtState.mjSTATE_CTRL)


def settle(b, m, nworld, rng):
    for _ in range(SETTLE // 50):
        b.rollout(50, controls(m, nworld, 50, rng) if m.nu else None, spec(m), record=("qpos",))


def steps(nworld):
    return max(STEPS, RUN // nworld)


def machine():
    """The processor in words."""
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def ours(model, nworld, state, precision, threads):
    command = [ROOT / "target/release/kiloworld", "bench", model, "--json", "--backend", "cpu", "--precision", precision]
    command += ["--worlds", str(nworld), "--steps", str(steps(nworld)), "--repeats", "1", "--state", state]
    env = os.environ | {"RAYON_NUM_THREADS": str(threads)}
    out = subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True, env=env).stdout
    return json.loads(out)["world_steps_per_s"]["median"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--worlds", default="1024")
    parser.add_argument("--precision", default="f64,f32")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("models", nargs="+")
    args = parser.parse_args()

    today = time.strftime("%Y-%m-%d")
    print(f"{machine()}, {today}: MuJoCo {mujoco.__version__}, {args.threads} thread(s), states settled for {SETTLE} steps\n")
    print("| model | worlds | mujoco.batch | precision | kiloworld | ratio |\n|---|--:|--:|---|--:|--:|")
    for path in args.models:
        m = mujoco.MjModel.from_xml_path(path)
        for nworld in map(int, args.worlds.split(",")):
            rng = np.random.default_rng(0)
            b = batch.Batch(m, nworld, nthread=args.threads)
            settle(b, m, nworld, rng)
            saved = np.array(b.state)
            with tempfile.TemporaryDirectory() as folder:
                state = pathlib.Path(folder) / "state.npz"
                names = ["qpos", "qvel", "act", "qacc_warmstart", "mocap_pos", "mocap_quat"]
                arrays = {f: np.array(b.bind(f), dtype=np.float64).reshape(nworld, -1) for f in names}
                np.savez(state, **{f: a for f, a in arrays.items() if a.size})
                control = controls(m, nworld, steps(nworld), rng) if m.nu else None
                rates = {p: [] for p in args.precision.split(",")}
                theirs = []
                for _ in range(args.rounds):
                    b.state[:] = saved
                    start = time.perf_counter()
                    b.rollout(steps(nworld), control, spec(m), record=("qpos",))
                    theirs.append(nworld * steps(nworld) / (time.perf_counter() - start))
                    for p in rates:
                        rates[p].append(ours(path, nworld, state, p, args.threads))
                for p, r in rates.items():
                    ratio = statistics.median(a / b for a, b in zip(r, theirs))
                    name = pathlib.Path(path).stem
                    print(f"| {name} | {nworld} | {statistics.median(theirs):,.0f} | {p} | {statistics.median(r):,.0f} | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main()
