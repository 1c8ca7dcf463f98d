"""Random models for the differential test of motion, with MuJoCo's motion from random states.

Usage: random_dynamics.py FIRST COUNT OUT_DIR      (needs mujoco==4.0.0 and numpy)

Writes OUT_DIR/SEED.xml and OUT_DIR/SEED.npz for the seeds from FIRST on, until COUNT models are there; a seed whose model
MuJoCo refuses is passed over. Everything that the engine simulates is in the models; what it refuses is not. An npz holds
  state/FIELD      inputs, one row a state; state 0 is the model's keyframe
  out/qacc         acceleration of mj_forward at each state; out/scale: the largest acceleration that takes part in it
  out/active, nefc contacts with rows, and rows, there
  out/STEP/FIELD   qpos, qvel, act after step STEP, inputs held
  out/doubt        a row a state, an entry for the acceleration and for each step: by how much MuJoCo's own answer changes, relative
                   to its size, with another solver, with more iterations, and from a state disturbed by 1e-12
"""

import pathlib
import sys
import xml.etree.ElementTree as ET

import mujoco
import numpy as np
from random_models import Generator

NSTATE = 5
STATE = "qpos qvel act ctrl qfrc_applied xfrc_applied mocap_pos mocap_quat eq_active qacc_warmstart time".split()
KEY = {"qpos": "qpos", "qvel": "qvel", "act": "act", "ctrl": "ctrl", "mpos": "mocap_pos", "mquat": "mocap_quat"}

# elements that may take attributes from a class, and those that are never moved to one
CLASSED = "joint geom site pair connect weld fixed tendon general motor position velocity intvelocity damper cylinder mesh".split()
OWN = set("name class type joint joint1 joint2 jointinparent tendon tendon1 tendon2 geom1 geom2 body1 body2 site1 site2 mesh file vertex face fromto builtin params refpos refquat anchor relpose torquescale polycoef actdim size pos quat euler axisangle xyaxes zaxis".split())
IN_DEFAULT = {"connect": "equality", "weld": "equality", "fixed": "tendon"}

# an octahedron, and a wedge in a file
OCTAHEDRON = ("1 0 0 -1 0 0 0 1 0 0 -1 0 0 0 1 0 0 -1", "0 2 4 2 1 4 1 3 4 3 0 4 2 0 5 1 2 5 3 1 5 0 3 5")
WEDGE = "v 0 0 0\nv .2 0 0\nv 0 .3 0\nv 0 0 .1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"
PART = '<mujoco><worldbody><frame name="frame"><body name="part" pos="0 0 .1"><joint name="j" type="hinge" axis="0 1 0" damping=".1"/><geom name="g" size=".05" pos=".1 0 0"/></body></frame></worldbody></mujoco>'


class Motion(Generator):
    """One random model, as a tree of elements."""

    def __init__(self, seed):
        super().__init__(seed)
        self.classes = 0
        self.defaults = ET.Element("default")

    def el(self, tag, /, *children, **attributes):
        made = ET.Element(tag, {k: str(v) for k, v in attributes.items() if v is not None})
        made.extend(c for c in children if c is not None)
        return made

    def maybe(self, p, **attributes):
        """Each attribute with probability p; a value may be a function that makes it."""
        return {k: v() if callable(v) else v for k, v in attributes.items() if self.chance(p)}

    def named(self, kind):
        self.count += 1
        self.names[kind].append(f"{kind}{self.count}")
        return f"{kind}{self.count}"

    def fresh(self):
        """A name that nothing refers to."""
        self.count += 1
        return f"other{self.count}"

    def turned(self, p=0.7):
        """One of MJCF's forms of an orientation."""
        if not self.chance(p):
            return {}
        form = self.r.choice(["quat", "axisangle", "euler", "xyaxes", "zaxis"])
        numbers = {"quat": 4, "euler": 3, "xyaxes": 6, "zaxis": 3}
        return {form: f"{self.vector(3)} {self.angles(1)}" if form == "axisangle" else self.angles(3) if form == "euler" else self.vector(numbers[form])}

    # solver parameters

    def solref(self):
        if self.chance(0.3):
            return f"{self.number(-20000, -50)} {self.number(-300, -1)}"
        return self.number(0.004, 0.2) if self.chance(0.2) else f"{self.number(0.004, 0.2)} {self.number(0.2, 2)}"

    def solimp(self):
        low, high = sorted((self.r.uniform(0.05, 0.95), self.r.uniform(0.05, 0.99)))
        values = [f"{low:.3g}", f"{high:.3g}", self.number(1e-4, 0.1), self.number(0.1, 0.9), self.number(1, 4)]
        return " ".join(values[: self.r.randint(2, 5)])

    def friction(self, n):
        slide = [self.number(0.05, 2), self.number(0.001, 0.2), self.number(0.0001, 0.1)]
        return " ".join((slide if n <= 3 else [slide[0], self.number(0.05, 2), slide[1], slide[2], self.number(0.0001, 0.1)])[:n])

    def contact(self, p):
        return self.maybe(
            p,
            condim=lambda: self.r.choice([1, 3, 4, 6]),
            friction=lambda: self.friction(self.r.randint(1, 3)),
            margin=lambda: self.number(0, 0.1),
            gap=lambda: self.number(0, 0.08),
            priority=lambda: self.r.randint(0, 2),
            solmix=lambda: self.r.choice([0, self.number(0.1, 2)]),
            solref=self.solref,
            solimp=self.solimp,
            contype=lambda: self.r.choice([1, 1, 1, 2, 3]),
            conaffinity=lambda: self.r.choice([1, 1, 1, 2, 3]),
        )

    # the tree

    def visible(self):
        """Attributes without effect on motion."""
        return self.maybe(0.04, group=lambda: self.r.randint(0, 3), rgba="1 .5 .2 1", user="1 2")

    def geom(self, still=False):
        """A geom that collides, or rarely one that only has mass."""
        kind = self.r.choice(["sphere", "capsule", "box", "box"] + ["plane"] * still)
        out = {"name": self.named("geom"), "type": kind, "size": self.vector(3, 0.04, 0.25)}
        if kind == "plane":
            out["size"] = "1 1 .1"
        if kind in ("capsule", "box") and self.chance(0.15):
            out["fromto"] = self.vector(6, -0.3, 0.3)
        else:
            out |= {"pos": self.vector(3, -0.15, 0.15)} if self.chance(0.5) else {}
            out |= self.turned(0.4)
        out |= self.r.choice([{}, {}, {"mass": self.number(0.1, 3)}, {"density": self.number(200, 3000)}])
        out |= self.maybe(0.05, shellinertia="true") if kind != "plane" else {}
        out |= self.maybe(0.03, fluidshape="ellipsoid", fluidcoef=".4 .3 1 1 1", castshadow="false")
        return self.el("geom", **out, **self.contact(0.2), **self.visible())

    def weight(self):
        """A geom that does not collide: any shape has mass."""
        kind = self.r.choice(["cylinder", "ellipsoid", "mesh", "box"])
        out = {"name": self.fresh(), "contype": 0, "conaffinity": 0, "pos": self.vector(3, -0.2, 0.2), **self.turned()}
        if kind == "mesh":
            kind = self.r.choice(["mesh", "mesh", "box"])
            out |= {"mesh": self.pick(["mesh"])[0], **self.maybe(0.3, fitscale="1.2")} if self.names["mesh"] else {}
            kind = kind if "mesh" in out else "box"
        if "mesh" not in out:
            out["size"] = self.vector(3, 0.03, 0.2)
        return self.el("geom", type=kind, density=self.number(200, 2000), **out)

    def joint(self, kind, alone):
        out = {"name": self.named(kind), "type": kind}
        unit = self.angles if kind in ANGULAR else lambda n, low, high: self.vector(n, low / 4, high / 4)
        if kind in ("hinge", "slide"):
            out["axis"] = self.r.choice(["1 0 0", "0 1 0", "0 0 1", self.vector(3)])
            out |= self.maybe(0.45, range=lambda: f"{unit(1, -2, 0)} {unit(1, 0.1, 2)}")
            out |= self.maybe(0.2, ref=lambda: unit(1, -1, 1), springref=lambda: unit(1, -1, 1))
        elif kind == "ball":
            out |= self.maybe(0.45, range=lambda: f"0 {unit(1, 0.2, 2)}")
        if "range" in out:
            out |= self.maybe(0.15, limited=lambda: self.r.choice(["true", "false", "auto"]))
        # joints of one body may move it the same way: armature keeps the inertia matrix regular
        out |= self.maybe(0.3 if alone else 1.0, armature=lambda: self.number(0.02, 0.5))
        out |= self.r.choice([{"stiffness": self.number(0, 40)}, {"springdamper": self.vector(2, 0.1, 1)}, {}, {}])
        out |= self.maybe(
            0.22,
            pos=lambda: self.vector(3, -0.2, 0.2),
            damping=lambda: self.number(0, 2),
            frictionloss=lambda: self.number(0, 2),
            margin=lambda: self.number(0, 0.1),
            solreflimit=self.solref,
            solimplimit=self.solimp,
            solreffriction=self.solref,
            solimpfriction=self.solimp,
        )
        if kind in ("hinge", "slide") and self.chance(0.1):
            out |= {"actuatorfrcrange": f"{self.number(-3, 0)} {self.number(0.1, 3)}", **self.maybe(0.3, actuatorfrclimited="true")}
        out |= self.maybe(0.1, actuatorgravcomp="true")
        return self.el("joint", **out, **self.maybe(0.03, group="2", user="1"))

    def inertial(self):
        pose = {"pos": self.vector(3, -0.2, 0.2), "mass": self.number(0.1, 3)}
        if self.chance(0.5):
            return self.el("inertial", **pose, diaginertia=self.vector(3, 0.01, 0.019), **self.turned())
        return self.el("inertial", **pose, fullinertia=f"{self.vector(3, 0.01, 0.015)} {self.vector(3, -0.002, 0.002)}")

    def framed(self, *elements):
        if not self.chance(0.12):
            return elements
        return (self.el("frame", *elements, pos=self.vector(3, -0.1, 0.1), **self.turned(), **self.maybe(0.3, name=self.fresh), **self.childclass()),)

    def childclass(self):
        """A class for what is inside."""
        if not self.chance(0.04):
            return {}
        self.classes += 1
        inner = [self.el("geom", solmix=self.number(0.1, 2), margin=self.number(0, 0.05)), self.el("joint", damping=self.number(0, 1))]
        self.defaults.append(self.el("default", *inner, **{"class": f"c{self.classes}"}))
        return {"childclass": f"c{self.classes}"}

    def site(self):
        place = {"fromto": self.vector(6), "size": ".01", "type": "capsule"} if self.chance(0.2) else {"pos": self.vector(3, -0.2, 0.2), **self.turned()}
        return self.el("site", name=self.named("site"), **place, **self.visible())

    def body(self, depth=0, place=None):
        pos = place or (self.vector(3, -0.35, 0.35) if depth else f"{self.vector(2, -0.5, 0.5)} {self.number(0, 0.5)}")
        out = self.el("body", name=self.named("body"), pos=pos, **self.turned(), **self.maybe(0.12, gravcomp=lambda: self.number(-0.5, 1.5)), **self.maybe(0.03, user="3 4", fuse="false", simple="false"))
        out.attrib |= self.childclass()
        roll = self.r.random()
        if depth == 0 and roll < 0.55:
            align = self.maybe(0.2, align=lambda: self.r.choice(["true", "false", "auto"]))
            joint = self.el("freejoint", name=self.named("free"), **align) if self.chance(0.7) else self.el("joint", name=self.named("free"), type="free", **self.maybe(0.2, damping=lambda: self.number(0, 1), armature="0.01", frictionloss=".2"))
            out.append(joint)
        elif roll < 0.93:
            sets = [["hinge"], ["slide"], ["slide", "hinge"], ["ball"], ["ball"], ["hinge"] * 2, ["slide"] * 3, ["slide", "ball"], ["hinge", "slide"]]
            kinds = self.r.choice(sets)
            out.extend(self.joint(kind, len(kinds) == 1) for kind in kinds)
        if self.chance(0.15):
            out.append(self.inertial())
        for _ in range(self.r.choice([1, 1, 1, 2])):
            out.extend(self.framed(self.geom()))
        if self.chance(0.12):
            out.append(self.weight())
        if self.chance(0.3):
            out.extend(self.framed(self.site()))
        if self.chance(0.04):
            copies = self.el("geom", type="sphere", size=self.number(0.03, 0.1), pos=self.vector(3, -0.2, 0.2))
            out.append(self.el("replicate", copies, count=self.r.randint(2, 3), **self.maybe(0.5, sep="-", offset=self.vector(3, -0.1, 0.1), euler=self.angles(3, -1, 1))))
        if depth < 2:
            for _ in range(self.r.choice([0, 0, 0, 1, 1, 2]) if depth == 0 else self.r.choice([0, 0, 1])):
                out.extend(self.framed(self.body(depth + 1)))
        return out

    # what refers to the tree

    def soft(self):
        return self.maybe(0.4, solref=self.solref, solimp=self.solimp) | self.maybe(0.15, active=lambda: self.r.choice(["false", "true"])) | self.maybe(0.2, name=self.fresh)

    def equality(self):
        forms = []
        if pair := self.pick(["body"], 2):
            both, anchor = {"body1": pair[0], "body2": pair[1]}, self.vector(3, -0.3, 0.3)
            forms += [("connect", {**both, "anchor": anchor}), ("connect", {"body1": pair[0], "anchor": anchor})]
            forms += [("weld", {**both, "anchor": anchor, **self.maybe(0.5, torquescale=lambda: self.number(0.1, 2))}), ("weld", {"body1": pair[0]})]
            forms += [("weld", {**both, "relpose": f"{self.vector(3, -0.4, 0.4)} {self.vector(4)}", "torquescale": self.number(0.1, 2)})]
        if pair := self.pick(["site"], 2):
            forms += [(kind, {"site1": pair[0], "site2": pair[1]}) for kind in ("connect", "weld")]
        if pair := self.pick(["hinge", "slide"], 2):
            forms += [("joint", {"joint1": pair[0], "joint2": pair[1], "polycoef": self.vector(5, -0.5, 0.5)}), ("joint", {"joint1": pair[0], "polycoef": self.number()})]
        if pair := self.pick(["tendon"], 2):
            forms += [("tendon", {"tendon1": pair[0], "tendon2": pair[1], "polycoef": self.vector(5, -0.5, 0.5)})] * 2
        if not forms:
            return None
        tag, own = self.r.choice(forms)
        return self.el(tag, **own, **self.soft())

    def fixed(self):
        joints = self.pick(["hinge", "slide"], self.r.randint(1, 3)) or self.pick(["hinge", "slide"])
        if not joints:
            return None
        out = {"name": self.named("tendon")}
        out |= self.maybe(0.4, range=lambda: f"{self.number(-0.5, 0)} {self.number(0.01, 0.5)}")
        if "range" in out:
            out |= self.maybe(0.2, limited=lambda: self.r.choice(["true", "false", "auto"]))
        out |= self.maybe(
            0.3,
            stiffness=lambda: self.number(0, 20),
            springlength=lambda: self.r.choice([self.number(0, 0.2), f"{self.number(0, 0.1)} {self.number(0.1, 0.4)}"]),
            frictionloss=lambda: self.number(0, 2),
            damping=lambda: self.number(0, 2),
            margin=lambda: self.number(0, 0.1),
            solreflimit=self.solref,
            solimplimit=self.solimp,
            solreffriction=self.solref,
            solimpfriction=self.solimp,
        )
        return self.el("fixed", *(self.el("joint", joint=j, coef=self.number()) for j in joints), **out, **self.maybe(0.05, group="1", user="1"))

    def actuator(self):
        targets = []
        if name := self.pick(["hinge", "slide"]):
            targets += [{"joint": name[0], "gear": self.number(-3, 3)}] * 4
        for kind, n in (("ball", 3), ("free", 6)):
            if name := self.pick([kind]):
                targets += [{how: name[0], "gear": self.vector(n)} for how in ("joint", "jointinparent")]
        if name := self.pick(["tendon"]):
            targets += [{"tendon": name[0], "gear": self.number(-3, 3)}] * 2
        if not targets:
            return None
        target = self.r.choice(targets)
        kp, kv = {"kp": self.number(1, 100)}, {"kv": self.number(0, 10)}
        damped = self.r.choice([kv, {"dampratio": self.number(0.1, 2)}, {}])
        ranged = self.maybe(0.3, ctrlrange=lambda: f"{self.number(-2, 0)} {self.number(0.1, 2)}") | self.maybe(0.3, forcerange=lambda: f"{self.number(-9, 0)} {self.number(0.1, 9)}")
        acting = self.maybe(0.5, actrange=lambda: f"{self.number(-1, 0)} {self.number(0.1, 1)}")
        for range_ in ("ctrl", "force"):
            if f"{range_}range" in ranged:
                ranged |= self.maybe(0.15, **{f"{range_}limited": lambda: self.r.choice(["true", "false", "auto"])})
        if "actrange" in acting:
            acting |= self.maybe(0.2, actlimited=lambda: self.r.choice(["true", "false", "auto"]))
        affine = {"biastype": "affine", "biasprm": self.vector(3, -9, 9)}
        early = self.maybe(0.4, actearly="true")
        tag, own = self.r.choice(
            [
                ("motor", {}),
                ("position", kp | damped | self.maybe(0.3, timeconst=lambda: self.number(0.01, 1))),
                ("velocity", kv),
                ("general", {"dyntype": self.r.choice(["filter", "filterexact"]), "dynprm": self.number(0.01, 1), "gainprm": self.number(-9, 9), **acting, **early}),
                ("general", {"dyntype": "integrator", "gaintype": "affine", "gainprm": self.vector(3, -9, 9), **affine, **acting, **early}),
                ("general", {"gaintype": "affine", "gainprm": self.vector(3, -9, 9), **affine, **self.maybe(0.2, input="pos")}),
                ("intvelocity", kp | damped | acting),
                ("general", {"gainprm": "5", "biastype": "affine", "biasprm": "0 -5 -1"}),
                ("cylinder", {**self.r.choice([{"area": self.number(1, 20)}, {"diameter": self.number(0.1, 2)}]), "bias": self.vector(3, -5, 5), "timeconst": self.number(0.02, 2)}),
                ("damper", {**kv, "ctrlrange": f"0 {self.number(0.5, 2)}"}),
            ]
        )
        limited = self.names.get("limited", [])
        servo = tag in ("position", "intvelocity") or own.get("gainprm") == "5"
        if servo and target.get("joint") in limited and self.chance(0.5):
            own = {k: v for k, v in own.items() if not k.startswith("act")} | {"inheritrange": self.number(0.5, 1.5)}
            ranged = {k: v for k, v in ranged.items() if not k.startswith("ctrl")}
        if tag == "damper":
            ranged = {k: v for k, v in ranged.items() if not k.startswith("ctrl")}
        group = self.maybe(0.3, group=lambda: self.r.randint(0, 3)) | self.maybe(0.03, user="1", lengthrange="0.1 1") | ({"interp": "zoh"} if self.chance(0.02) else {})
        return self.el(tag, name=self.named("actuator"), **target, **own, **ranged, **group)

    def pair(self):
        geoms = self.pick(["geom"], 2)
        if not geoms:
            return None
        own = self.maybe(
            0.5,
            condim=lambda: self.r.choice([1, 3, 4, 6]),
            friction=lambda: self.friction(self.r.randint(1, 5)),
            margin=lambda: self.number(0, 0.1),
            gap=lambda: self.number(0, 0.05),
            solref=self.solref,
            solimp=self.solimp,
            solreffriction=self.solref,
        )
        return self.el("pair", geom1=geoms[0], geom2=geoms[1], **own, **self.maybe(0.2, name=self.fresh))

    def exclude(self):
        bodies = self.pick(["body"], 2)
        return self.el("exclude", body1=bodies[0], body2=bodies[1], **self.maybe(0.2, name=self.fresh)) if bodies else None

    def section(self, tag, make, most, p=1.0):
        n = self.r.randint(0, most) if self.chance(p) else 0
        return self.el(tag, *(make() for _ in range(n)))

    # options

    def option(self):
        solver = self.r.choice(["Newton"] * 6 + ["PGS", "PGS", "CG", "CG"])
        out = {
            "timestep": self.r.choice(["0.002", self.number(0.0005, 0.01)]),
            "integrator": self.r.choice(["Euler", "Euler", "implicitfast", "implicitfast", "RK4"]),
            "cone": self.r.choice(["pyramidal", "elliptic"]),
            "solver": solver,
            # what is compared is the minimum, which every method ends in
            "iterations": {"Newton": 100, "PGS": 1000, "CG": 300}[solver],
            "tolerance": {"Newton": self.r.choice(["1e-12", "1e-13", "1e-14"]), "PGS": "1e-17", "CG": "1e-15"}[solver],
        }
        if solver != "Newton" or self.chance(0.3):
            out |= {"ls_iterations": self.r.randint(50, 90), "ls_tolerance": self.r.choice(["0.01", "0.001", "1e-5"])}
        out |= self.maybe(0.25, jacobian=lambda: self.r.choice(["dense", "sparse", "auto"]), gravity=lambda: self.vector(3, -10, 10))
        out |= self.maybe(0.3, impratio=lambda: self.number(0.2, 10))
        if self.chance(0.12):
            out |= {"noslip_iterations": self.r.randint(150, 300), "noslip_tolerance": "1e-16"}
        out |= self.maybe(0.03, magnetic="0 1 0", ccd_iterations=40, ccd_tolerance="1e-5", sdf_iterations=9, sdf_initpoints=30, sleep_tolerance=".01")
        out |= self.maybe(0.03, density=0, viscosity=0, wind="0 0 0")
        out |= self.maybe(0.15, actuatorgroupdisable=lambda: self.r.choice(["0", "1 2", "2", "0 1 3"]))
        flags = self.maybe(0.04, **dict.fromkeys("constraint equality frictionloss limit contact spring damper gravity clampctrl warmstart filterparent actuation refsafe eulerdamp".split(), "disable"))
        flags |= self.maybe(0.04, **dict.fromkeys("sensor midphase nativeccd island autoreset multiccd".split(), "disable"))
        flags |= self.maybe(0.03, **dict.fromkeys("energy fwdinv invdiscrete".split(), "enable"))
        flags |= self.maybe(0.01, **dict.fromkeys("sleep diagexact ipc speculative".split(), "disable"))
        if self.chance(0.12):
            flags |= {"override": "enable"}
            out |= self.maybe(0.6, o_margin=lambda: self.number(0, 0.1), o_solref=self.solref, o_solimp=self.solimp, o_friction=lambda: self.friction(5))
        return self.el("option", self.el("flag", **flags) if flags else None, **out)

    def compiler(self):
        out = {"angle": "degree" if self.degrees else "radian"}
        out |= self.maybe(0.5, eulerseq=lambda: self.r.choice(["xyz", "XYZ", "zyx", "xZy"]))
        out |= self.maybe(0.05, alignfree="true", inertiafromgeom=lambda: self.r.choice(["true", "auto"]), inertiagrouprange="0 4", fitaabb="true", boundmass=".5", boundinertia=".01", balanceinertia="true", fusestatic="true", discardvisual="true", settotalmass="5", strippath="true", usethread="false", saveinertial="true", coordinate="local")
        return self.el("compiler", **out, **self.maybe(0.03, autolimits="true"), **self.r.choice([{"meshdir": "."}, {"assetdir": "."}, {}, {}]))

    def assets(self):
        """Meshes, which have mass here and do not collide, and what is only seen."""
        out = self.el("asset")
        if self.chance(0.25):
            form = self.r.choice(["cloud", "closed", "file", "builtin"])
            own = {"cloud": {"vertex": self.vector(3 * self.r.randint(5, 9), -0.2, 0.2)}, "closed": dict(zip(("vertex", "face"), OCTAHEDRON)) | {"scale": self.vector(3, 0.05, 0.3)}, "file": {"file": "wedge.obj"}, "builtin": {"builtin": "sphere", "params": "1", "scale": self.vector(3, 0.05, 0.2)}}[form]
            own |= {} if form == "builtin" else self.maybe(0.3, refpos=lambda: self.vector(3, -0.1, 0.1), refquat=lambda: self.vector(4))
            own |= self.maybe(0.4, inertia=lambda: self.r.choice(["convex", "exact", "legacy", "shell"] if form != "cloud" else ["convex"]))
            if form == "file":
                own |= self.maybe(0.5, content_type="model/obj")
            if form in ("cloud", "closed"):
                own |= self.maybe(0.3, maxhullvert=lambda: self.r.randint(4, 8))
            out.append(self.el("mesh", name=self.named("mesh"), **own))
        if self.chance(0.05):
            out.append(self.el("texture", name="t", type="2d", builtin="checker", width=4, height=4, rgb1="1 0 0"))
            out.append(self.el("material", name="m", texture="t", specular=".3"))
        if self.chance(0.06):
            out.append(self.el("model", name="part", file="part.xml", **self.maybe(0.5, content_type="text/xml")))
        return out

    def lifted(self, root):
        """Moves some attributes of some elements to classes of their own."""
        for element in list(root.iter()):
            tag = element.tag
            if tag not in CLASSED or not self.chance(0.12) or element in self.parts:
                continue
            movable = {k: v for k, v in element.attrib.items() if k not in OWN}
            moved = {k: v for k, v in movable.items() if self.chance(0.6)}
            if tag == "damper":
                moved.pop("ctrlrange", None)
            if not moved:
                continue
            self.classes += 1
            inner = self.el("equality" if element in self.equalities else IN_DEFAULT.get(tag, tag), **moved)
            self.defaults.append(self.el("default", inner, **{"class": f"c{self.classes}"}))
            for k in moved:
                del element.attrib[k]
            element.set("class", f"c{self.classes}")

    def model(self):
        compiler, option, assets = self.compiler(), self.option(), self.assets()
        world = self.el("worldbody")
        if self.chance(0.85):
            world.append(self.el("geom", name=self.named("geom"), type="plane", size="2 2 .1", **self.turned(0.15), **self.contact(0.12)))
        for _ in range(self.r.choice([0, 0, 0, 1])):
            world.extend(self.framed(self.geom(still=True)))
        for _ in range(self.r.choice([1, 2, 2, 3])):
            world.extend(self.framed(self.body()))
        if self.chance(0.2):
            world.append(self.el("body", self.geom(), name=self.named("body"), mocap="true", pos=self.vector(3, -0.3, 0.3), **self.turned()))
        if self.chance(0.1):
            world.append(self.el("body", self.geom(), pos=self.vector(3, -0.3, 0.3), name=self.named("body"), **self.turned()))
        if any(a.tag == "model" for a in assets):
            world.append(self.el("attach", model="part", **self.r.choice([{"body": "part"}, {"frame": "frame"}]), prefix="p_"))
        if self.chance(0.05):
            world.append(self.el("camera", name="camera", pos="0 0 2"))
            world.append(self.el("light", pos="0 0 2", dir="0 0 -1"))
        # joints with a range, which an actuator can inherit
        self.names["limited"] = [j.get("name") for j in world.iter("joint") if "range" in j.attrib and j.get("type") in ("hinge", "slide")]
        sections = [
            self.el("contact", *self.section("", self.pair, 2, 0.3), *self.section("", self.exclude, 2, 0.2)),
            self.section("tendon", self.fixed, 3, 0.5),
            self.section("equality", self.equality, 2, 0.5),
            self.section("actuator", self.actuator, 4, 0.7),
        ]
        if self.chance(0.04):
            sections.append(self.el("custom", self.el("numeric", name="n", data="1 2")))
        if self.chance(0.04):
            sections.append(self.el("sensor", self.el("clock", name="clock")))
        self.parts = {joint for fixed in sections[1] for joint in fixed} | set(self.defaults.iter())
        self.equalities = set(sections[2])
        root = self.el("mujoco", compiler, option, self.defaults, assets, world, *sections, model=f"random {self.count}")
        if self.chance(0.05):
            root.append(self.el("visual", self.el("map", znear=".02")))
            root.append(self.el("statistic", **self.maybe(0.5, extent="2", center="0 0 1", meaninertia="3", meanmass="2", meansize=".3")))
        if self.chance(0.05):
            root.append(self.el("size", memory="10M"))
        self.lifted(root)
        return root


ANGULAR = ("hinge", "ball")


def random_state(m, d, rng):
    """A state near the start, or far from it."""
    mujoco.mj_resetData(m, d)
    wide = rng.uniform() < 0.5
    dq = rng.normal(size=m.nv) * (0.3 if wide else 0.05)
    for j in np.flatnonzero(m.jnt_type == mujoco.mjtJoint.mjJNT_FREE):
        # turned anyhow
        dq[m.jnt_dofadr[j] + 3 :][:3] *= 10 if wide else 1
    mujoco.mj_integratePos(m, d.qpos, dq, 1.0)
    d.qvel[:] = rng.normal(size=m.nv) * rng.choice([0, 0.5, 3])
    d.act[:] = rng.normal(size=m.na) * 0.5
    d.ctrl[:] = rng.normal(size=m.nu)
    if rng.uniform() < 0.5:
        d.qfrc_applied[:] = rng.normal(size=m.nv)
        d.xfrc_applied[1:] = rng.normal(size=(m.nbody - 1, 6))
    if rng.uniform() < 0.5:
        d.qacc_warmstart[:] = rng.normal(size=m.nv) * 5
    d.mocap_pos[:] += rng.normal(size=(m.nmocap, 3)) * 0.1
    d.mocap_quat[:] += rng.normal(size=(m.nmocap, 4)) * 0.3
    flipped = rng.uniform(size=m.neq) < 0.1
    d.eq_active[flipped] = ~d.eq_active[flipped].astype(bool)


def read(d):
    return {f: np.array(getattr(d, f), dtype=float).ravel() for f in STATE}


def put(m, d, state):
    mujoco.mj_resetData(m, d)
    for f in STATE:
        if f == "time":
            d.time = state[f][0]
        else:
            getattr(d, f)[...] = state[f].reshape(getattr(d, f).shape)


def largest(*arrays):
    return max([float(np.abs(a).max()) for a in arrays if a.size] or [0.0])


def motion(m, d, state, steps):
    """Acceleration with its scale, counts, and the states after the steps; nothing where MuJoCo complains."""
    put(m, d, state)
    mujoco.mj_forward(m, d)
    # forces that cancel leave an error of their size
    parts = [np.array(d.qacc), np.array(d.qacc_smooth)]
    out = {"qacc": parts[0], "scale": max(1.0, largest(*parts)), "active": int((d.contact.efc_address >= 0).sum()), "nefc": d.nefc, "after": []}
    out["complaints"] = sum(w.number for w in d.warning)
    out["unsure"] = [unsure(m, d)]
    put(m, d, state)
    for _ in range(steps):
        mujoco.mj_step(m, d)
        out["unsure"].append(unsure(m, d))
        out["after"].append({f: np.array(getattr(d, f)) for f in ("qpos", "qvel", "act")})
    out["complaints"] += sum(w.number for w in d.warning)
    # the contacts of later states that are deeper are harder
    out["hardest"] = max(out["scale"], largest(np.array(d.qacc)))
    return out


def unsure(m, d):
    """Whether boxes are farther apart than their margin, but not along any axis: MuJoCo has a contact there, unless its broad phase,
    whose axes depend on all bodies, leaves the pair out."""
    if not np.isfinite(d.geom_xmat).all() or not d.geom_xmat.any(axis=1).all():
        return True
    boxes = [g for g in range(m.ngeom) if m.geom_type[g] == mujoco.mjtGeom.mjGEOM_BOX and m.geom_contype[g]]
    override = m.opt.enableflags & mujoco.mjtEnableBit.mjENBL_OVERRIDE
    for i, a in enumerate(boxes):
        for b in boxes[i + 1 :]:
            margin = (m.opt.o_margin if override else m.geom_margin[a] + m.geom_margin[b]) + m.geom_gap[a] + m.geom_gap[b]
            if margin > 0 and gap(m, d, a, b) < margin < mujoco.mj_geomDistance(m, d, a, b, 2 * margin, np.zeros(6)):
                return True
    return False


def gap(m, d, a, b):
    """The largest distance of two boxes along one of the axes that can separate them."""
    ra, rb = (d.geom_xmat[g].reshape(3, 3) for g in (a, b))
    axes = np.vstack([ra.T, rb.T] + [np.cross(x, y) for x in ra.T for y in rb.T])
    axes = axes[np.linalg.norm(axes, axis=1) > 1e-9]
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    return (np.abs(axes @ (d.geom_xpos[b] - d.geom_xpos[a])) - np.abs(axes @ ra) @ m.geom_size[a] - np.abs(axes @ rb) @ m.geom_size[b]).max()


def doubt(m, a, b):
    """By how much two motions differ, relative to their size: acceleration, then each step."""
    h = m.opt.timestep
    out = [largest(a["qacc"] - b["qacc"]) / a["scale"]]
    for x, y in zip(a["after"], b["after"]):
        size = max(1.0, largest(x["qvel"]), h * a["hardest"])
        out.append(max(largest(x[f] - y[f]) for f in x) / size)
    return np.array(out)


def golden(path, seed):
    m = mujoco.MjModel.from_xml_path(str(path))
    d = mujoco.MjData(m)
    rng = np.random.default_rng(seed)
    steps = int(rng.integers(1, 4))
    solver, iterations, noslip, tolerance = m.opt.solver, m.opt.iterations, m.opt.noslip_iterations, m.opt.tolerance
    states, motions, doubts = [], [], []
    for k in range(4 * NSTATE):
        if len(states) == NSTATE:
            break
        if k == 0:
            mujoco.mj_resetDataKeyframe(m, d, 0)
        else:
            random_state(m, d, rng)
        state = read(d)
        own = motion(m, d, state, steps)
        if own["complaints"] and k:
            continue
        m.opt.solver, m.opt.iterations, m.opt.noslip_iterations = mujoco.mjtSolver.mjSOL_NEWTON, 200, 3 * noslip
        m.opt.tolerance = 0
        doubted = doubt(m, own, motion(m, d, state, steps))
        m.opt.solver, m.opt.iterations = solver, 2 * iterations
        doubted = np.maximum(doubted, doubt(m, own, motion(m, d, state, steps)))
        m.opt.iterations, m.opt.noslip_iterations, m.opt.tolerance = iterations, noslip, tolerance
        disturbed = dict(state)
        for f in ("qpos", "qvel"):
            disturbed[f] = state[f] * (1 + 1e-12 * rng.uniform(-1, 1, size=state[f].shape)) + 1e-13 * rng.uniform(-1, 1, size=state[f].shape)
        doubted = np.maximum(doubted, doubt(m, own, motion(m, d, disturbed, steps)))
        doubted[~np.isfinite(doubted)] = np.inf
        if own["complaints"]:
            doubted[:] = np.inf
        for i in np.flatnonzero(own["unsure"])[:1]:
            doubted[i:] = np.inf
        states.append(state)
        motions.append(own)
        doubts.append(doubted)
    out = {f"state/{f}": np.array([s[f] for s in states]) for f in STATE}
    for f in ("qacc", "scale"):
        out[f"out/{f}"] = np.array([x[f] for x in motions])
    out["out/hardest"] = np.array([x["hardest"] for x in motions])
    for f in ("active", "nefc"):
        out[f"out/{f}"] = np.array([x[f] for x in motions], dtype=np.int32)
    for i in range(steps):
        for f in ("qpos", "qvel", "act"):
            out[f"out/{i}/{f}"] = np.array([x["after"][i][f] for x in motions])
    out["out/doubt"] = np.array(doubts)
    return out


def with_key(root, xml, seed):
    """Adds a keyframe of a random state."""
    m = mujoco.MjModel.from_xml_path(str(xml))
    if not m.nv:
        raise ValueError("nothing moves")
    d = mujoco.MjData(m)
    random_state(m, d, np.random.default_rng(seed + 1_000_000_000))
    values = {k: " ".join(f"{x:.6g}" for x in np.array(getattr(d, f)).ravel()) for k, f in KEY.items()}
    key = ET.SubElement(ET.SubElement(root, "keyframe"), "key", {k: v for k, v in values.items() if v})
    key.set("time", "0.5")
    if seed % 3 == 0:
        key.set("name", "start")


def main(first, count, out):
    out.mkdir(parents=True, exist_ok=True)
    (out / "wedge.obj").write_text(WEDGE)
    (out / "part.xml").write_text(PART)
    seed = first
    passed = {}
    while count > 0:
        xml = out / f"{seed}.xml"
        root = Motion(seed).model()
        xml.write_text(ET.tostring(root, encoding="unicode"))
        try:
            with_key(root, xml, seed)
        except ValueError as error:
            reason = str(error).splitlines()[0]
            passed[reason] = passed.get(reason, 0) + 1
            xml.unlink()
            seed += 1
            continue
        ET.indent(root)
        xml.write_text(ET.tostring(root, encoding="unicode") + "\n")
        np.savez_compressed(xml.with_suffix(".npz"), **golden(xml, seed))
        count -= 1
        seed += 1
    for reason, n in sorted(passed.items(), key=lambda x: -x[1]):
        print(f"random_dynamics: {n} refused by MuJoCo: {reason}")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), pathlib.Path(sys.argv[3]))
