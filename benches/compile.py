"""Time to compile models: MuJoCo in a fresh process, MuJoCo again with its cache of assets, and kiloworld in a fresh process.

Usage: compile.py KILOWORLD_BINARY MODEL.xml [MODEL.xml ...]    (needs mujoco==4.0.0; a release build)

Best of ROUNDS rounds, in turn, in milliseconds (what else the machine does can only add); the ratio is that of kiloworld to MuJoCo's
first compilation.
"""

import json
import subprocess
import sys

ROUNDS = 5
MUJOCO = """
import mujoco, sys, time
for _ in range(2):
    start = time.perf_counter()
    mujoco.MjModel.from_xml_path(sys.argv[1])
    print(time.perf_counter() - start)
"""


def mujoco_times(model):
    out = subprocess.run([sys.executable, "-c", MUJOCO, model], capture_output=True, text=True, check=True).stdout
    return [1e3 * float(line) for line in out.split()[-2:]]


def kiloworld_time(binary, model):
    out = subprocess.run([binary, "inspect", model, "--json"], capture_output=True, check=True).stdout
    return 1e3 * json.loads(out)["seconds"]


def main(binary, *models):
    print(f"{'model':60s} {'MuJoCo':>8s} {'again':>8s} {'kiloworld':>9s} {'ratio':>6s}")
    for model in models:
        rounds = [(*mujoco_times(model), kiloworld_time(binary, model)) for _ in range(ROUNDS)]
        first, again, ours = (min(column) for column in zip(*rounds))
        print(f"{model[-60:]:60s} {first:8.1f} {again:8.1f} {ours:9.1f} {ours / first:6.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
