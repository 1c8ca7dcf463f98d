"""Random models for the compiler, with MuJoCo's compiled fields or its refusal.

Usage: random_models.py FIRST LAST OUT_DIR      (needs mujoco==4.0.0 and numpy)

Writes OUT_DIR/SEED.xml for each seed, and OUT_DIR/SEED.json with the compiled fields (see make.py --fields) where MuJoCo
takes the model; where it does not there is no SEED.json.
"""

import json
import pathlib
import random
import sys

import make

ANGULAR = ("hinge", "ball")


class Generator:
    """One random model: trees of bodies with joints, geoms, sites and frames, and what refers to them."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.degrees = self.chance(0.7)
        self.names = {kind: [] for kind in ("body", "hinge", "slide", "ball", "free", "geom", "round", "site", "tendon", "mesh", "actuator")}
        self.count = 0

    def chance(self, p):
        return self.r.random() < p

    def number(self, low=-1.0, high=1.0):
        return f"{self.r.uniform(low, high):.4g}"

    def vector(self, n, low=-1.0, high=1.0):
        return " ".join(self.number(low, high) for _ in range(n))

    def angles(self, n, low=-3.0, high=3.0):
        unit = 57.3 if self.degrees else 1.0
        return self.vector(n, low * unit, high * unit)

    def name(self, kind):
        self.count += 1
        self.names[kind].append(f"{kind}{self.count}")
        return f'name="{kind}{self.count}" '

    def pick(self, kinds, n=1):
        """References to n different elements of these kinds, or nothing."""
        known = [name for kind in kinds for name in self.names[kind]]
        return self.r.sample(known, n) if len(known) >= n else None

    def some(self, p, **attributes):
        """Each attribute with probability p; a value may be a function that makes it."""
        made = ((k, v() if callable(v) else v) for k, v in attributes.items() if self.chance(p))
        return "".join(f'{k}="{v}" ' for k, v in made)

    def orientation(self):
        forms = [
            "",
            f'quat="{self.vector(4)}" ',
            f'axisangle="{self.vector(3)} {self.angles(1)}" ',
            f'euler="{self.angles(3)}" ',
            f'xyaxes="{self.vector(6)}" ',
            f'zaxis="{self.vector(3)}" ',
        ]
        return self.r.choice(forms)

    def framed(self, text):
        if self.chance(0.75):
            return text
        return f'<frame pos="{self.vector(3)}" {self.orientation()}>{text}</frame>'

    def mesh(self):
        """A cloud of points, or a closed surface that is dented where a point was pulled in."""
        vertices, faces = self.vector(3 * self.r.randint(5, 12)), ""
        if self.chance(0.4):
            # an octahedron
            points = [[x if i == axis else self.r.uniform(-0.1, 0.1) for i in range(3)] for axis in range(3) for x in (0.8, -0.9)]
            points[0] = [-0.2, 0.1, 0.05] if self.chance(0.3) else points[0]
            vertices = " ".join(f"{x:.4g}" for p in points for x in p)
            faces = 'face="0 2 4 2 1 4 1 3 4 3 0 4 2 0 5 1 2 5 3 1 5 0 3 5" '
        out = f'<mesh {self.name("mesh")}vertex="{vertices}" {faces}inertia="{self.r.choice(["legacy", "convex", "exact", "shell"])}" '
        out += self.some(0.3, scale=lambda: self.vector(3, 0.2, 2), refpos=lambda: self.vector(3), refquat=lambda: self.vector(4))
        return out + "/>"

    def geom(self, kinds=("sphere", "capsule", "box", "cylinder", "ellipsoid")):
        kind = self.r.choice(kinds)
        mesh = self.pick(["mesh"]) if kind != "plane" and self.chance(0.25) else None
        if mesh:
            kind = self.r.choice([kind, "mesh"])
        out = f'<geom {self.name("geom")}type="{kind}" size="{self.vector(3, 0.01, 0.4)}" '
        if kind in ("sphere", "cylinder"):
            self.names["round"].append(self.names["geom"][-1])
        if mesh:
            out += f'mesh="{mesh[0]}" pos="{self.vector(3)}" {self.orientation()}'
        elif kind not in ("sphere", "plane") and self.chance(0.35):
            out += f'fromto="{self.vector(6)}" '
        else:
            out += f'pos="{self.vector(3)}" {self.orientation()}'
        out += self.r.choice(["", "", 'mass="0" ', f'mass="{self.number(0.1, 3)}" ', f'density="{self.number(100, 2000)}" '])
        out += self.some(
            0.2,
            shellinertia="false" if mesh else "true",
            group=lambda: self.r.randint(0, 5),
            condim=lambda: self.r.choice([1, 3, 4, 6]),
            friction=lambda: self.vector(self.r.randint(1, 3), 0, 1),
            margin=lambda: self.number(0, 0.1),
            gap=lambda: self.number(0, 0.1),
            priority=lambda: self.r.randint(0, 3),
            solmix=lambda: self.number(0, 2),
            solref=lambda: self.vector(self.r.randint(1, 2), 0.01, 1),
            solimp=lambda: self.vector(self.r.randint(1, 3), 0.1, 0.9),
            contype=lambda: self.r.randint(0, 7),
            conaffinity=lambda: self.r.randint(0, 7),
        )
        return out + "/>"

    def site(self):
        place = f'fromto="{self.vector(6)}" type="capsule" size=".01"' if self.chance(0.2) else f'pos="{self.vector(3)}" {self.orientation()}'
        return f'<site {self.name("site")}{place}/>'

    def joint(self, kind, alone):
        out = f'<joint {self.name(kind)}type="{kind}" '
        if kind in ("hinge", "slide"):
            out += f'axis="{self.r.choice(["1 0 0", "0 1 0", "0 0 1", self.vector(3)])}" '
            out += self.some(0.4, range=lambda: f"{self.angles(1, -2, 0)} {self.angles(1, 0.1, 2)}")
            out += self.some(0.2, ref=lambda: self.angles(1, -1, 1), springref=lambda: self.angles(1, -1, 1))
        elif kind == "ball":
            out += self.some(0.4, range=lambda: f"0 {self.angles(1, 0.1, 2)}")
        # joints of one body may move it the same way: armature keeps the inertia matrix regular
        out += self.some(0.3 if alone else 1.0, armature=lambda: self.number(0.1, 1))
        out += self.r.choice([f'stiffness="{self.number(0, 9)}" ', f'springdamper="{self.vector(2, 0.1, 1)}" ', "", ""])
        out += self.some(
            0.2,
            pos=lambda: self.vector(3),
            damping=lambda: self.number(0, 1),
            frictionloss=lambda: self.number(0, 1),
            margin=lambda: self.number(0, 0.1),
            solreflimit=lambda: self.vector(2, 0.01, 1),
            solimpfriction=lambda: self.vector(3, 0.1, 0.9),
            actuatorfrcrange="-1 2",
        )
        return out + "/>"

    def inertial(self):
        if self.chance(0.5):
            inertia = f'diaginertia="{self.vector(3, 1, 1.9)}" {self.orientation()}'
        else:
            inertia = f'fullinertia="{self.vector(3, 1, 1.5)} {self.vector(3, -0.1, 0.1)}"'
        return f'<inertial pos="{self.vector(3)}" mass="{self.number(0.1, 3)}" {inertia}/>'

    def body(self, depth=0):
        out = f'<body {self.name("body")}pos="{self.vector(3)}" {self.orientation()}{self.some(0.1, gravcomp=".5")}>'
        roll = self.r.random()
        if depth == 0 and roll < 0.25:
            align = self.r.choice(["", 'align="true"', 'align="false"'])
            out += f'<freejoint {self.name("free")}{align}/>'
        elif roll < 0.85:
            sets = [["hinge"], ["slide"], ["slide", "hinge"], ["ball"], ["hinge"] * 2, ["slide"] * 3, ["slide", "ball"], ["hinge", "slide"]]
            kinds = self.r.choice(sets)
            out += "".join(self.joint(kind, len(kinds) == 1) for kind in kinds)
        out += self.inertial() if self.chance(0.2) else ""
        # a shape at the centre makes simple bodies likely
        centre = [f'<geom size="{self.number(0.01, 0.2)}"/>', f'<geom type="box" size="{self.vector(3, 0.01, 0.3)}"/>']
        out += self.r.choice(centre) if self.chance(0.7) else ""
        out += "".join(self.framed(self.geom()) for _ in range(self.r.choice([0, 1, 1, 2])))
        out += self.site() if self.chance(0.33) else ""
        if depth < 3:
            out += "".join(self.framed(self.body(depth + 1)) for _ in range(self.r.choice([0, 0, 1, 1, 2])))
        return out + "</body>"

    def equality(self):
        solver = self.some(0.2, solref=lambda: self.vector(2, 0.01, 1), active="false")
        forms = []
        if pair := self.pick(["body"], 2):
            a, b = pair
            both, anchor = f'body1="{a}" body2="{b}"', f'anchor="{self.vector(3)}"'
            relative = f'relpose="{self.vector(7)}" torquescale="{self.number(0.1, 2)}"'
            forms += [f"connect {both} {anchor}", f'connect body1="{a}" {anchor}', f"weld {both} {anchor}", f'weld body1="{a}"', f"weld {both} {relative}"]
        if pair := self.pick(["site"], 2):
            forms += [f'{kind} site1="{pair[0]}" site2="{pair[1]}"' for kind in ("connect", "weld")]
        if pair := self.pick(["hinge", "slide"], 2):
            forms.append(f'joint joint1="{pair[0]}" joint2="{pair[1]}" polycoef="{self.vector(5)}"')
        return f"<{self.r.choice(forms)} {solver}/>" if forms else ""

    def spatial(self):
        sites = self.pick(["site"], self.r.randint(2, 4))
        if not sites:
            return ""
        out = f'<spatial {self.name("tendon")}' + self.some(0.3, range=".1 2", stiffness="2 1", springlength=".1 .3", damping=".3") + ">"
        for k, site in enumerate(sites):
            around = self.pick(["round"]) if k and self.chance(0.6) else None
            if around:
                side = self.pick(["site"]) if self.chance(0.5) else None
                out += f'<geom geom="{around[0]}" ' + (f'sidesite="{side[0]}"' if side else "") + "/>"
            out += f'<site site="{site}"/>'
            if 0 < k < len(sites) - 2 and self.chance(0.2):
                out += f'<pulley divisor="{self.number(1, 3)}"/>'
        return out + "</spatial>"

    def tendon(self):
        if self.chance(0.5):
            return self.spatial()
        joints = self.pick(["hinge", "slide"], self.r.randint(1, 3))
        if not joints:
            return ""
        out = f'<fixed {self.name("tendon")}'
        out += self.some(0.3, range="-1 1", stiffness="2", springlength=".1", frictionloss=".2", damping=".3", margin=".01", armature=".4")
        return out + ">" + "".join(f'<joint joint="{j}" coef="{self.number()}"/>' for j in joints) + "</fixed>"

    def actuator(self):
        targets = [f'joint="{name[0]}" gear="{self.number()}"' for name in [self.pick(["hinge", "slide"])] if name]
        for kind, n in (("ball", 3), ("free", 6)):
            if name := self.pick([kind]):
                targets += [f'{how}="{name[0]}" gear="{self.vector(n)}"' for how in ("joint", "jointinparent")]
        if name := self.pick(["tendon"]):
            targets.append(f'tendon="{name[0]}" gear="{self.number()}"')
        forms = [
            'motor ctrlrange="-1 1"',
            'motor armature=".3"',
            f'position kp="{self.number(1, 20)}" dampratio="{self.number(0.1, 2)}"',
            f'position kp="{self.number(1, 20)}" kv="{self.number(0, 2)}" forcerange="-1 1"',
            f'position timeconst="{self.number(0.1, 1)}"',
            f'velocity kv="{self.number(1, 20)}"',
            'general dyntype="filter" dynprm=".1" actrange="0 1"',
            'general dyntype="integrator" gaintype="affine" gainprm="1 2 3" biastype="affine" biasprm="1 2 3"',
            f'muscle lengthrange="0.1 2" force="{self.number(-1, 9)}" range="0.7 {self.number(0.8, 1.2)}" timeconst=".1 .2"',
            f'intvelocity kp="{self.number(1, 20)}" actrange="-1 1"',
            f'cylinder area="{self.number(1, 20)}" bias="{self.vector(3)}" timeconst="2"',
            f'damper kv="{self.number(0, 5)}" ctrlrange="0 1"',
        ]
        if sites := self.pick(["site"], 2):
            forms_of_sites = [f'site="{sites[0]}"', f'site="{sites[0]}" refsite="{sites[1]}"']
            crank = f'cranksite="{sites[0]}" slidersite="{sites[1]}" cranklength="{self.number(0.1, 2)}"'
            if self.chance(0.2):
                return f'<motor {self.name("actuator")}{self.r.choice(forms_of_sites)} gear="{self.vector(6)}"/>'
            if self.chance(0.1):
                return f'<motor {self.name("actuator")}{crank} gear="{self.number()}"/>'
        return f'<{self.r.choice(forms)} {self.name("actuator")}{self.r.choice(targets)}/>' if targets else ""

    def sensor(self):
        forms = ["clock", 'user dim="2"']
        if site := self.pick(["site"]):
            forms += [f'{kind} site="{site[0]}"' for kind in ("touch", "gyro", "accelerometer", "force")]
            forms.append(f'framepos objtype="site" objname="{site[0]}"')
        for kind, tags in (("hinge", ("jointpos", "jointvel")), ("ball", ("ballquat",)), ("tendon", ("tendonpos",)), ("actuator", ("actuatorfrc",))):
            if name := self.pick([kind]):
                forms += [f'{tag} {"joint" if kind in ("hinge", "ball") else kind}="{name[0]}"' for tag in tags]
        if bodies := self.pick(["body"], 2):
            forms += [f'framequat objtype="body" objname="{bodies[0]}" reftype="xbody" refname="{bodies[1]}"', f'subtreecom body="{bodies[0]}"']
        if geoms := self.pick(["geom"], 2):
            forms += [f'contact geom1="{geoms[0]}" geom2="{geoms[1]}" data="force pos" num="2"', f'distance geom1="{geoms[0]}" geom2="{geoms[1]}"']
        return f"<{self.r.choice(forms)}/>"

    def pair(self):
        geoms = self.pick(["geom"], 2)
        if not geoms:
            return ""
        own = self.some(0.5, condim=lambda: self.r.choice([1, 3, 4, 6]), friction=lambda: self.vector(5, 0, 1), margin=".1")
        return f'<pair geom1="{geoms[0]}" geom2="{geoms[1]}" {own}/>'

    def several(self, make_one, most):
        return "".join(make_one() for _ in range(self.r.randint(0, most)))

    def model(self):
        unit = "degree" if self.degrees else "radian"
        compiler = f'<compiler angle="{unit}" eulerseq="{self.r.choice(["xyz", "XYZ", "zyx", "xZy"])}" '
        compiler += self.some(0.2, alignfree="true", inertiafromgeom="true", inertiagrouprange=lambda: f"0 {self.r.randint(2, 5)}")
        compiler += self.some(0.2, fitaabb="true")
        compiler += self.some(0.2, boundmass=".5", boundinertia=".01", balanceinertia="true") + "/>"
        meshes = self.several(self.mesh, 2) if self.chance(0.5) else ""
        world = "".join(self.framed(self.body()) for _ in range(self.r.randint(1, 4)))
        world += self.several(lambda: self.geom(["plane", "box", "capsule"]), 2)
        if self.chance(0.3):
            world += f'<body mocap="true" pos="{self.vector(3)}" {self.orientation()}><geom size=".1"/></body>'
        tendons = self.several(self.tendon, 2)
        return f"""<mujoco>{compiler}
<asset>{meshes}</asset>
<worldbody>{world}</worldbody>
<contact>{self.several(self.pair, 2)}</contact>
<tendon>{tendons}</tendon>
<equality>{self.several(self.equality, 4)}</equality>
<actuator>{self.several(self.actuator, 4)}</actuator>
<sensor>{self.several(self.sensor, 4)}</sensor>
<keyframe>{'<key/>' if self.chance(0.4) else ''}</keyframe></mujoco>
"""


def main(first, last, out):
    out.mkdir(parents=True, exist_ok=True)
    for seed in range(first, last):
        xml = out / f"{seed}.xml"
        xml.write_text(Generator(seed).model())
        try:
            fields = make.fields(xml)
        except ValueError:
            xml.with_suffix(".json").unlink(missing_ok=True)
            continue
        xml.with_suffix(".json").write_text(json.dumps(fields))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), pathlib.Path(sys.argv[3]))
