#!/usr/bin/env python3
"""Runs the law files on MuJoCo itself (f64): shows that a law is a law before our own engine is asked.

    pip install mujoco==4.0.0 numpy; python tests/laws/check_with_mujoco.py [FILTER]

The words of a law file are explained in tests/laws/README.md; the grammar of expressions is that of crates/laws/src/expr.rs.
"""
import ast, math, pathlib, re, sys, tomllib
import mujoco, numpy as np

HERE = pathlib.Path(__file__).parent
MODELS = HERE / "../../models"
OPTIONS = {
    "cone": {"pyramidal": 0, "elliptic": 1},
    "integrator": {"Euler": 0, "RK4": 1, "implicit": 2, "implicitfast": 3},
    "solver": {"PGS": 0, "CG": 1, "Newton": 2},
}


def agm(a, b):
    for _ in range(60):
        a, b = (a + b) / 2, math.sqrt(a * b)
    return a


FUNCTIONS = {k: getattr(math, k) for k in "sin cos tan asin acos atan atan2 sqrt exp log hypot pi pow".split()}
FUNCTIONS |= {"abs": abs, "min": min, "max": max, "agm": agm, "deg": math.radians}


BINARY = {ast.Add: lambda a, b: a + b, ast.Sub: lambda a, b: a - b, ast.Mult: lambda a, b: a * b, ast.Div: lambda a, b: a / b}


def evaluate(text, names):
    """The value of an expression: numbers, names, elements, calls, + - * / and signs. Nothing else of Python's is run."""
    if len(text) > 1000:
        raise ValueError("an expression of %d bytes: at most 1000 are read" % len(text))

    def value(e):
        if isinstance(e, ast.Constant) and type(e.value) in (int, float):
            return float(e.value)
        if isinstance(e, ast.Name):
            return names[e.id]
        if isinstance(e, ast.Subscript) and isinstance(e.value, ast.Name):
            index = e.slice.elts if isinstance(e.slice, ast.Tuple) else [e.slice]
            index = [value(i) for i in index]
            if any(i != int(i) for i in index):
                raise ValueError(f"`{text}`: an index is not whole")
            return names[e.value.id][tuple(int(i) for i in index)]
        if isinstance(e, ast.Call) and isinstance(e.func, ast.Name) and not e.keywords:
            args = [value(a) for a in e.args]
            if e.func.id == "normal_force":
                return names[e.func.id](*(int(a) for a in args))
            if not callable(FUNCTIONS.get(e.func.id)):
                raise ValueError(f"`{text}`: no function `{e.func.id}`")
            return FUNCTIONS[e.func.id](*args)
        if isinstance(e, ast.UnaryOp) and isinstance(e.op, (ast.USub, ast.UAdd)):
            return -value(e.operand) if isinstance(e.op, ast.USub) else value(e.operand)
        if isinstance(e, ast.BinOp) and type(e.op) in BINARY:
            return BINARY[type(e.op)](value(e.left), value(e.right))
        raise ValueError(f"`{text}`: {type(e).__name__} is no part of an expression")

    return value(ast.parse(text.strip(), mode="eval").body)


def check_evaluate():
    """The evaluator itself: values, and what it must not run."""
    names = {"a": 2.0, "q": np.array([[1.0, 2.0], [3.0, 4.0]]), "pi": math.pi}
    for text, x in [("1 - 2 - 3", -4), ("-(1 + 2)*-1.5e-1", 0.45), ("q[a - 1, 0]", 3), ("hypot(3, 0, 4)", 5), ("cos(pi)*a", -2)]:
        assert abs(evaluate(text, names) - x) < 1e-15, text
    for text in ["__import__('os').getcwd()", "a.real", "(lambda: 1)()", "[1][0]", "2**9", "pi()", "print(1)", "'a'", "q[0.5, 0]",
                 "a if a else a", "sin(x=1)", "9" * 2000, "True"]:
        try:
            evaluate(text, names)
        except (ValueError, SyntaxError):
            continue
        raise AssertionError(f"{text} was evaluated")


def stiff_rule(m, e):
    """Whether a weld or connect leaves its softness to the defaults."""
    kinds = (int(mujoco.mjtEq.mjEQ_CONNECT), int(mujoco.mjtEq.mjEQ_WELD))
    defaults = np.array_equal(m.eq_solref[e], [0.02, 1]) and np.array_equal(m.eq_solimp[e], [0.9, 0.95, 0.001, 0.5, 2])
    return defaults and m.eq_type[e] in kinds


class World:
    """One world: a model of its own, its state, and the variables of its case."""

    def __init__(self, law, case, change):
        self.m = mujoco.MjModel.from_xml_path(str(MODELS / law["model"]))
        self.d = mujoco.MjData(self.m)
        self.vars = {}
        for part in (law, case, change):
            self.vars |= part.get("vars", {})
        for part in (law, case, change):
            for k, v in part.get("option", {}).items():
                setattr(self.m.opt, k, OPTIONS[k][v] if isinstance(v, str) else v)
        if "key" in law:
            mujoco.mj_resetDataKeyframe(self.m, self.d, law["key"])
        # the time step first: rows under the stiff rule follow it
        stiff = [e for e in range(self.m.neq) if stiff_rule(self.m, e)]
        for part in (law, case, change):
            self.apply({k: v for k, v in part.get("set", {}).items() if k.startswith("opt_timestep")})
        self.stiff(stiff)
        for part in (law, case, change):
            self.apply({k: v for k, v in part.get("set", {}).items() if not k.startswith("opt_timestep")})
        if any(k.startswith("body_mass") for part in (law, case, change) for k in part.get("set", {})):
            mujoco.mj_setConst(self.m, self.d)  # dof_M0: MuJoCo takes the inertia of simple bodies from there
            for part in (law, case, change):
                self.apply(part.get("set", {}))
        for part in (law, case, change):
            self.apply(part.get("start", {}))

    def stiff(self, rows):
        """The stiff rule at the present time step, for rows that leave their softness open."""
        tau = 5 * self.m.opt.timestep / 3
        for e in rows:
            self.m.eq_solref[e], self.m.eq_solimp[e] = (-1 / tau**2, -2 / tau), (0.999, 0.999, 0.001, 0.5, 2)

    def field(self, name):
        if name.startswith("opt_"):
            v = getattr(self.m.opt, name[4:])
            return v if isinstance(v, np.ndarray) else None
        if name.startswith("stat_"):
            return None
        return getattr(self.d if hasattr(self.d, name) else self.m, name)

    def apply(self, fields):
        for key, value in fields.items():
            name, row, col = re.fullmatch(r"(\w+)(?:\[([\d*]+)(?:,([\d*]+))?\])?", key).groups()
            a = self.field(name)
            if a is None:  # a scalar option or statistic
                part, name = name.split("_", 1)
                part = getattr(self.m, part)
                setattr(part, name, self.eval(value, x=getattr(part, name)))
                continue
            if name == "opt_gravity":
                a = a.reshape(1, 3)
            rows = range(a.shape[0]) if row in (None, "*") else [int(row)]
            if row is None:
                values = [self.eval(v) for v in value]
                a.reshape(-1)[:] = values
                continue
            for r in rows:
                if a.ndim == 1:
                    a[r] = self.eval(value, x=a[r])
                elif isinstance(value, list):
                    a[r] = [self.eval(v) for v in value]
                else:
                    for c in range(a.shape[1]) if col in (None, "*") else [int(col)]:
                        a[r, c] = self.eval(value, x=a[r, c])

    def eval(self, text, **more):
        return float(text) if isinstance(text, (int, float)) else float(evaluate(text, Names(self, more)))

    def total(self):
        """Energy and momenta of the whole tree, at the present state."""
        m, d = self.m, self.d
        mujoco.mj_forward(m, d)
        mujoco.mj_energyPos(m, d), mujoco.mj_energyVel(m, d), mujoco.mj_subtreeVel(m, d)
        p = m.body_subtreemass[0] * d.subtree_linvel[0]
        spin = d.subtree_angmom[0]
        return {"energy": d.energy[0] + d.energy[1], "momentum": p, "spin": spin}

    def normal_force(self, g1, g2):
        out = np.zeros(6)
        total = 0.0
        for i, c in enumerate(self.d.contact):
            if sorted(c.geom) == sorted((g1, g2)):
                mujoco.mj_contactForce(self.m, self.d, i, out)
                total += out[0]
        return total


class Names(dict):
    def __init__(self, world, more):
        self.w, self.more = world, more

    def __missing__(self, name):
        w = self.w
        if name == "pi":
            return math.pi
        if name in self.more:
            return self.more[name]
        if name in w.vars:
            return w.eval(w.vars[name])
        if name in ("energy", "momentum", "spin"):
            return w.total()[name]
        if name == "normal_force":
            return w.normal_force
        if name == "solver_niter":
            return w.d.solver_niter[0]
        if name == "contact_dist":
            return w.d.contact.dist
        if name == "ncon":
            return w.d.ncon
        if hasattr(w.d, name) or hasattr(w.m, name):
            return w.field(name)
        raise KeyError(name)


def run(law, world, case):
    """Measured value of every check."""
    measure, checks = law["measure"], law["check"]
    kind = measure["kind"]

    def sample():
        mujoco.mj_forward(world.m, world.d)
        return np.array([world.eval(c["signal"]) for c in checks])

    def step(n):
        for _ in range(n):
            mujoco.mj_step(world.m, world.d)

    if kind == "sweep":
        x, by, until = world.eval(measure["from"]), measure["by"], measure["until"]
        world.vars[measure["var"]] = x
        world.apply(measure["place"])
        for _ in range(measure["most"]):
            x += by
            world.vars[measure["var"]] = x
            world.apply(measure["move"])
            step(measure["hold"])
            if world.eval(until["signal"]) > world.eval(until["above"]):
                return np.array([x])
        return np.array([math.nan])
    if kind == "drift":
        step(measure["settle"])
        first, worst = places(world, measure), 0.0
        for _ in range(measure["samples"]):
            step(measure["every"])
            worst = max(worst, np.linalg.norm(places(world, measure) - first, axis=1).max())
        world.vars["drift"] = worst
        return sample()
    if kind == "ramp":
        n, target, a = int(world.eval(measure["period"])), world.eval(measure["target"]), measure["actuator"]
        periods, worst = max(1, math.ceil(round(measure["seconds"] / world.m.opt.timestep) / n)), 0
        start = world.d.ctrl[a]
        for k in range(n * periods):
            world.d.ctrl[a] = start + (target - start) * min(k // n + 1, periods) / periods
            step(1)
            worst = np.maximum(worst, abs(sample()))
        return worst
    step(measure.get("settle", 0))
    if kind in ("final", "same"):
        step(measure["steps"])
        return sample()
    if kind in ("change", "rate"):
        a, t = sample(), world.d.time
        step(measure["steps"])
        b = sample()
        change = (b - a) / (world.d.time - t if kind == "rate" else 1)
        return np.array([y if c.get("kind") == "final" else x for c, x, y in zip(checks, change, b)])
    if kind == "conserved":
        a, worst = sample(), 0
        for _ in range(measure["samples"]):
            step(measure["every"])
            worst = np.maximum(worst, abs(sample() - a))
        return worst
    if kind == "period":
        # the signal crosses zero upwards after `first` periods and after `count` more: look a little before and after
        h, window, done, times = world.m.opt.timestep, measure["window"], 0, [math.nan, math.nan]
        for k, periods in enumerate((measure["first"], measure["first"] + measure["count"])):
            n = round(periods * world.eval(checks[0]["expected"]) / h) - window
            step(n - done)
            for i in range(2 * window):
                a = world.eval(checks[0]["signal"])
                step(1)
                b = world.eval(checks[0]["signal"])
                if a < 0 <= b:
                    times[k] = (n + i + a / (a - b)) * h
            done = n + 2 * window
        return np.array([(times[1] - times[0]) / measure["count"]])
    raise ValueError(kind)


def places(world, measure):
    """Where the items of a drift are."""
    mujoco.mj_kinematics(world.m, world.d)
    first, last = measure["items"]
    return np.array([[world.eval(p, i=i) for p in measure["parts"]] for i in range(first, last + 1)])


def order(law, case, change):
    """log2 of the ratio of the differences between the signal's ends at steps h, h/2 and h/4."""
    end = []
    for part in (1, 2, 4):
        w = World(law, case, change)
        w.m.opt.timestep /= part
        for _ in range(law["measure"]["steps"] * part):
            mujoco.mj_step(w.m, w.d)
        mujoco.mj_forward(w.m, w.d)
        end.append(np.array([w.eval(c["signal"]) for c in law["check"]]))
    print("   differences", end[0] - end[1], end[1] - end[2])
    return np.log2(abs((end[0] - end[1]) / (end[1] - end[2]))), w


def passes(check, value, expected):
    above = check.get("abs_tol", 0) + check.get("rel_tol", 0) * abs(expected)
    low, high = expected - check.get("below", above), expected + check.get("above", above)
    return low <= value <= high


def main():
    check_evaluate()
    bad = 0
    for path in sorted(HERE.glob("*.toml")):
        if len(sys.argv) > 1 and sys.argv[1] not in path.stem:
            continue
        law = tomllib.loads(path.read_text())
        if law["measure"]["kind"] == "bits":
            continue  # batches of ours
        print(f"{path.stem}: {law['title']}")
        first, covered = None, set()
        for change in [{}] + law["control"]:
            for case in law.get("case", [{"name": ""}]):
                if case["name"] not in change.get("cases", [case["name"]]):
                    continue
                if law["measure"]["kind"] == "order":
                    got, world = order(law, case, change)
                else:
                    world = World(law, case, change)
                    got = run(law, world, case)
                if law["measure"]["kind"] == "same":
                    first = got if first is None else first
                    got = got - first
                base = World(law, case, {})
                base.d = world.d
                for c, v in zip(law["check"], got):
                    if change and c["name"] not in change.get("fails", [c["name"]]):
                        continue
                    if "cases" in c and case["name"] not in c["cases"]:
                        continue
                    if change:
                        covered.add((case["name"], c["name"]))
                    e = base.eval(case.get("expected", {}).get(c["name"], c["expected"]))
                    ok = passes(c, v, e)
                    good = ok != bool(change)
                    bad += not good
                    print(f"  {'' if good else 'BAD '}{'control: ' + change['why'] + ' | ' if change else ''}{case['name']} {c['name']}: {v:.8g} expected {e:.8g}  {'pass' if ok else 'fail'}")
        for case in law.get("case", [{"name": ""}]):
            for c in law["check"]:
                if case["name"] in c.get("cases", [case["name"]]) and (case["name"], c["name"]) not in covered:
                    bad += 1
                    print(f"  BAD no control covers {case['name']} {c['name']}")
    return bad


if __name__ == "__main__":
    sys.exit(main() != 0)
