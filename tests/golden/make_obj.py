"""Random OBJ files, with what MuJoCo makes of them.

Usage: make_obj.py [--check] OUT.json      (needs mujoco==4.0.0 and numpy)

Writes a list of [file's text, number of vertices, vertices of all triangles].
With --check the list in OUT.json is compared with MuJoCo's answers of today.
"""

import json
import math
import pathlib
import random
import sys

import mujoco
import numpy as np

COUNT = 240


class Writer:
    """One file: a few polygons on random points, and whatever else stands in such files."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.nvert = 0
        self.end = self.r.choice(["\n", "\n", "\n", "\r\n", "\r"])
        self.lines = []

    def chance(self, p):
        return self.r.random() < p

    def polygon(self):
        """Corners of three to nine: around a circle, indented, on a coarse grid (so that some coincide), or anywhere."""
        r, n = self.r, self.r.choice([3, 4, 4, 5, 5, 6, 7, 8, 9])
        kind = r.choice(["convex", "indented", "grid", "anywhere", "sliver"])
        points = []
        for angle in sorted(r.uniform(0, 2 * math.pi) for _ in range(n)):
            radius = r.uniform(0.2, 1) if kind == "indented" else 1
            flat = [radius * math.cos(angle), radius * math.sin(angle) * (1e-4 if kind == "sliver" else 1), 0]
            points.append([r.randint(0, 3), r.randint(0, 3), 0] if kind == "grid" else [r.uniform(-1, 1) for _ in range(3)] if kind == "anywhere" else flat)
        turn = np.eye(3)[list(r.choice([(0, 1, 2), (1, 2, 0), (2, 0, 1), (1, 0, 2)]))]
        if self.chance(0.5):
            turn, _ = np.linalg.qr(np.array([[r.gauss(0, 1) for _ in range(3)] for _ in range(3)]))
        shift = [r.choice([0, r.uniform(-2, 2)]) for _ in range(3)]
        scale = r.choice([1, 1, 0.01, 100])
        points = [(turn @ np.array(p) + shift) * scale for p in points]
        return points[::-1] if self.chance(0.5) else points

    def corner(self, index):
        """A vertex counted from the first or from the last, and what may follow it."""
        word = str(index - self.nvert if self.chance(0.2) else index + 1)
        return word + self.r.choice(["", "", "", "", "/1", "//1", "/1/1"])

    def put(self, line):
        r = self.r
        gap = r.choice(["  ", "\t", " "]) if self.chance(0.1) else " "
        self.lines.append(r.choice(["", "", "", " ", "\t"]) + line.replace(" ", gap) + r.choice(["", "", "", " ", " \t"]))
        if self.chance(0.1):
            self.lines.append(r.choice(["", "# v 1 2 3", "s 1", "usemtl red", "p 1", "l 1 2", "f 1 2", "#", "s off", "o", "g"]))

    def vertices(self, points):
        for p in points:
            self.put("v " + " ".join(f"{x:.5g}" for x in p) + (" 0.5 0.25 1" if self.chance(0.1) else ""))
        self.nvert += len(points)

    def text(self):
        # a tetrahedron, so that there is always a mesh
        self.vertices([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)])
        tetrahedron = ["f 1 3 2", "f 1 2 4", "f 2 3 4", "f 1 4 3"]
        if self.chance(0.5):
            self.lines += tetrahedron
        for _ in range(self.r.randint(1, 4)):
            if self.chance(0.15):
                self.put(self.r.choice(["o part", "g one two", "g part", "o part 2"]))
            first, points = self.nvert, self.polygon()
            late = self.chance(0.1)
            if not late:
                self.vertices(points)
            corners = list(range(first, first + len(points)))
            if self.chance(0.1):
                corners.insert(self.r.randrange(len(corners)), self.r.choice(corners))
            self.put("f " + " ".join(str(k + 1) if late else self.corner(k) for k in corners))
            if late:
                self.vertices(points)
        if not any(line.startswith("f ") for line in self.lines[4:8]):
            self.lines += tetrahedron
        return self.end.join(self.lines) + self.r.choice([self.end, self.end * 3, "", " "])


def answer(text, name):
    """Number of vertices and the triangles; MuJoCo keeps files by name, so each needs its own."""
    xml = f'<mujoco><asset><mesh name="a" file="{name}" inertia="shell"/></asset><worldbody><geom type="mesh" mesh="a"/></worldbody></mujoco>'
    m = mujoco.MjModel.from_xml_string(xml, {name: text.encode()})
    return [m.nmeshvert, m.mesh_face.ravel().tolist()]


def main(args):
    path = pathlib.Path(args[-1])
    mujoco.set_mju_user_warning(lambda text: None)
    texts = [Writer(seed).text() for seed in range(COUNT)]
    if args[0] == "--check":
        texts = [row[0] for row in json.loads(path.read_text())]
    rows = [[text, *answer(text, f"{i}.obj")] for i, text in enumerate(texts)]
    if args[0] == "--check":
        wrong = [i for i, (new, old) in enumerate(zip(rows, json.loads(path.read_text()))) if new != old]
        print(f"{len(rows)} OBJ files, {len(wrong)} read otherwise than the golden says: {wrong[:10]}")
        return 1 if wrong else 0
    path.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
    print(f"{len(rows)} OBJ files read by MuJoCo {mujoco.__version__}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
