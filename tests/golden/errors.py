"""What MuJoCo says to the mistakes in tests/mjcf/errors.txt.

Usage: errors.py [--check] ERRORS.txt (needs mujoco==4.0.0)

Writes MuJoCo's message below the name of each case; with --check says where it is another one today.
"""

import pathlib
import sys

import mujoco

WORLD = (
    '<worldbody><body name="b"><joint name="j"/><geom name="g" size="1"/><site name="s"/></body>'
    '<body name="c"><joint name="ball" type="ball"/><geom name="g2" size="1"/><site name="s2"/></body></worldbody>'
)


def model(case):
    text = case.replace("¦", "").replace("{world}", WORLD)
    return text if text.startswith("<?") else f"<mujoco>\n{text}</mujoco>"


def message(case):
    try:
        mujoco.MjModel.from_xml_string(model(case))
    except ValueError as e:
        return str(e).splitlines()[0]
    return "accepted"


def main(args):
    checking, path = args[0] == "--check", pathlib.Path(args[-1])
    mujoco.set_mju_user_warning(lambda text: None)
    head, *cases = path.read_text().split("\n## ")
    out, changed = [head], 0
    for text in cases:
        name, case = text.split("\n", 1)
        old, case = case.split("\n", 1) if case.startswith("> ") else ("", case)
        new = "> " + message(case.rstrip("\n") + "\n")
        if checking and old != new:
            changed += 1
            print(f"{name}: MuJoCo says {new[2:]!r}, the table {old[2:]!r}")
        out.append(f"{name}\n{new}\n{case}")
    if not checking:
        path.write_text("\n## ".join(out))
    print(f"{len(cases)} mistakes given to MuJoCo {mujoco.__version__}")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
