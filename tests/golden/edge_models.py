"""Small models, each with one attribute at an edge, and whether MuJoCo takes them.

Usage: edge_models.py SCHEMA.txt OUT.txt (needs mujoco==4.0.0)

For every element and attribute of the schema: too few and too many numbers, no numbers, numbers that are not finite, zero,
negative or falling, every word and wrong ones, names of nothing, attributes left out, unknown ones, and random pairs of
attributes. OUT holds, separated by zero bytes, pairs of a model and MuJoCo's error, which is empty where it takes the model.
"""

import os
import pathlib
import random
import signal
import sys

import mujoco

# a model with one thing of everything; {PLACE} are where elements are put
HOST = """<mujoco>
<compiler usethread="false"/>{/}
<default><default class="class">{default}</default></default>
<asset><mesh name="mesh" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/><hfield name="hfield" nrow="2" ncol="2" size="1 1 1 1"/>
<texture name="texture" type="2d" builtin="flat" width="2" height="2"/><material name="material"/>{asset}</asset>
<worldbody>
<body name="body"><joint name="joint" range="0 1" limited="true"/><geom name="geom" size="1"/><site name="site"/><camera name="camera" resolution="2 2"/><light name="light"/>{body}</body>
<body name="body2" pos="3 0 0"><joint name="ball" type="ball"/><geom name="geom2" size="1"/><site name="site2"/></body>
<body name="body3" pos="6 0 0"><freejoint name="free"/><geom name="geom3" size="1"/><site name="site3" pos="1 0 0"/></body>
<body name="body4" pos="0 9 0">{body4}</body>
<body name="body5" pos="0 3 0"><joint name="slide" type="slide"/><geom name="geom5" size="1"/></body>
{worldbody}</worldbody>
<contact><pair name="pair" geom1="geom" geom2="geom2"/>{contact}</contact>
<tendon><fixed name="tendon" range="0 1"><joint joint="joint" coef="1"/></fixed><fixed name="tendon2"><joint joint="slide" coef="1"/></fixed>{tendon}</tendon>
<equality><weld name="weld" body1="body5"/>{equality}</equality>
<actuator><motor name="actuator" joint="joint"/>{actuator}</actuator>
<sensor><clock name="sensor"/>{sensor}</sensor>
<custom><numeric name="numeric" data="1"/>{custom}</custom>
<keyframe><key name="key"/>{keyframe}</keyframe>
</mujoco>"""

# what an element needs to be accepted, by its tag or by its tag and the one around it
NEEDS = {
    "geom": 'size="1 1 1"',
    "frame": "",
    "inertial": 'pos="0 0 0" mass="1" diaginertia="1 1 1"',
    "replicate": 'count="2"',
    "mesh": 'name="new" vertex="0 0 0 1 0 0 0 1 0 0 0 1"',
    "hfield": 'name="new" nrow="2" ncol="2" size="1 1 1 1"',
    "texture": 'name="new" type="2d" builtin="flat" width="2" height="2"',
    "default/texture": "",
    "default/mesh": "",
    "material": 'name="new"',
    "layer": 'texture="texture" role="rgb"',
    "default/material": "",
    "pair": 'geom1="geom2" geom2="geom3"',
    "default/pair": "",
    "exclude": 'body1="body2" body2="body3"',
    "spatial/site": 'site="site"',
    "spatial/geom": 'geom="geom"',
    "fixed/joint": 'joint="slide" coef="1"',
    "connect": 'body1="body" anchor="1 1 1"',
    "weld": 'body1="body"',
    "equality/joint": 'joint1="joint"',
    "equality/tendon": 'tendon1="tendon"',
    "muscle": 'joint="joint" lengthrange="0 1"',
    "orientation": 'joint="ball" kp="1"',
    "adhesion": 'body="body" ctrlrange="0 1"',
    "damper": 'joint="joint" kv="1" ctrlrange="0 1"',
    "dcmotor": 'joint="joint" motorconst="1" resistance="1"',
    "numeric": 'name="new" data="1"',
    "text": 'name="new" data="word"',
    "tuple/element": 'objtype="body" objname="body"',
    "user": 'dim="1" datatype="real" needstage="pos"',
}
for tag in "general motor position velocity intvelocity pid cylinder".split():
    NEEDS[tag] = 'joint="joint"'
    NEEDS["default/" + tag] = ""
for tag in "muscle orientation adhesion damper dcmotor".split():
    NEEDS["default/" + tag] = ""
for tags, needs in {
    "touch accelerometer velocimeter gyro force torque magnetometer rangefinder": 'site="site"',
    "camprojection": 'site="site" camera="camera"',
    "jointpos jointvel jointlimitpos jointlimitvel jointlimitfrc jointactuatorfrc": 'joint="joint"',
    "ballquat ballangvel": 'joint="ball"',
    "tendonpos tendonvel tendonlimitpos tendonlimitvel tendonlimitfrc tendonactuatorfrc": 'tendon="tendon"',
    "actuatorpos actuatorvel actuatorfrc": 'actuator="actuator"',
    "framepos framequat framexaxis frameyaxis framezaxis framelinvel frameangvel framelinacc frameangacc": 'objtype="site" objname="site"',
    "subtreecom subtreelinvel subtreeangmom": 'body="body"',
    "distance normal fromto contact": 'geom1="geom" geom2="geom2"',
    "insidesite": 'objtype="body" objname="body2" site="site"',
    "tactile": 'geom="geom" mesh="mesh"',
}.items():
    NEEDS.update(dict.fromkeys(tags.split(), needs))

# elements that kiloworld refuses by name, or skips, with all that is in them
SKIPPED = "visual extension plugin flexcomp deformable flex flexstrain skin composite attach model include orientation pid dcmotor".split()
# sections that stand below the root
ROOT = "compiler option size statistic".split()
# what a class is tried on
USERS = {
    "joint": ("body4", '<joint class="class"/><geom size="1"/>'),
    "geom": ("body", '<geom class="class" size="1 1 1"/>'),
    "site": ("body", '<site class="class"/>'),
    "camera": ("body", '<camera class="class"/>'),
    "light": ("body", '<light class="class"/>'),
    "mesh": ("asset", '<mesh class="class" name="new" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/>'),
    "texture": ("asset", '<texture class="class" name="new" type="2d" builtin="flat" width="2" height="2"/>'),
    "material": ("asset", '<material class="class" name="new"/>'),
    "pair": ("contact", '<pair class="class" geom1="geom2" geom2="geom3"/>'),
    "equality": ("equality", '<weld class="class" body1="body"/>'),
    "tendon": ("tendon", '<spatial class="class"><site site="site"/><site site="site3"/></spatial>'),
}


def schema(path):
    """(tags from the root, {attribute: kind}) for every element."""
    stack, rows = [], []
    for line in path.read_text().splitlines():
        tag, _, *words = line.split()
        del stack[(len(line) - len(line.lstrip())) // 2 :]
        stack.append(tag)
        rows.append((list(stack), dict((w.split(":", 1) if ":" in w else (w, "")) for w in words)))
    return rows


def model(places):
    text = HOST
    for place in "/ default asset body body4 worldbody contact tendon equality actuator sensor custom keyframe".split():
        text = text.replace("{" + place + "}", places.get(place, ""))
    return text


def put(tags, own):
    """A model with one more element."""
    tag, around, text = tags[-1], tags[-2], f"<{tags[-1]} {own}/>"
    if tag in ("frame", "replicate"):
        return model({"body": f'<{tag} {own}><geom size="1" pos="1 0 0"/></{tag}>'})
    if tag == "body":
        return model({"worldbody": f'<body {own}><geom size="1"/></body>'})
    if around == "mujoco":
        return model({"/": text})
    if around in ROOT:
        return model({"/": f"<{around}>{text}</{around}>"})
    if around == "default":
        place, user = USERS.get(tag, ("actuator", f'<{tag} class="class" {NEEDS.get(tag, "")}/>'))
        return model({"default": text, place: user})
    if around == "material":
        return model({"asset": f'<material name="new">{text}</material>'})
    if tag == "joint" and around == "body":
        return model({"body4": text + '<geom size="1"/>'})
    if tag == "freejoint":
        return model({"body4": text + '<geom size="1"/>'})
    if tag == "inertial":
        return model({"body4": text + "<joint/>"})
    if around == "spatial":
        return model({"tendon": f'<spatial><site site="site2"/>{text}<site site="site3"/></spatial>'})
    if around == "fixed":
        return model({"tendon": f"<fixed>{text}</fixed>"})
    if tag == "spatial":
        return model({"tendon": f'<spatial {own}><site site="site"/><site site="site3"/></spatial>'})
    if tag == "fixed":
        return model({"tendon": f'<fixed {own}><joint joint="joint" coef="1"/></fixed>'})
    if tag == "tuple":
        return model({"custom": f'<tuple {own}><element objtype="body" objname="body"/></tuple>'})
    if around == "tuple":
        return model({"custom": f'<tuple name="new">{text}</tuple>'})
    return model({around: text})


def spread(kind):
    """Fewest and most numbers of an attribute; four stand for any number."""
    low, _, high = kind[1:].partition("-")
    return int(low), 4 if high == "*" else int(high or low)


def numbers(kind):
    """Values of an attribute of numbers that are written as such."""
    low, high = spread(kind)
    single = ["-1", "0", "7" if kind[0] == "i" else "0.5", "1", "3"]
    several = ["1 0 0 0 0 0 0 0 0 0", "0 1 2 3 4 5 6 7 8 9", "9 8 7 6 5 4 3 2 1 0", "-1 1 -1 1 -1 1 -1 1 -1 1", "1 -1 1 -1 1 -1 1 -1 1 -1"]
    several += ["-inf Infinity", "0 INF", "-inf 0"] if kind[0] == "x" else []
    return [" ".join(v.split()[:n]) for n in (low, high) for v in [" ".join([x] * n) for x in single] + several]


def not_numbers(kind):
    """Values that are no numbers, or too many or few, or written in another way."""
    low, high = spread(kind)
    out = [" ".join(["1"] * n) for n in (low - 1, high + 1)]
    for word in ["", "wrong", "1x", "1,", "1e400", "1e-400", "99999999999999999999", "1e15", "1.0", "+1", ".5", "5.", "1e1", "0x1", "1e", "--1", "1d0"]:
        out.append(" ".join([word] * low))
    return out + [" "]


NAMES = "body geom site joint ball free slide tendon actuator sensor camera light mesh hfield texture material class pair weld numeric key".split()


def is_numeric(kind):
    return kind[:1] in ("r", "x", "i") and kind[1:2].isdigit()


def values(kind):
    if is_numeric(kind):
        return numbers(kind)
    return kind.split("|") if kind else ["wrong", "world", "1"] + NAMES


def bad_values(kind):
    """Values that are wrong wherever the attribute stands."""
    if is_numeric(kind):
        return not_numbers(kind)
    if not kind:
        return ["", " ", "é", "a b", "pos", "pos vel", "vel pos", "force", "-1", "xyz", "xYz", "xyy", "xy", "xyw", "none"]
    words = kind.split("|")
    return ["", " ", "wrong", "1", words[0].upper(), words[0] + " ", " " + words[0], words[0] + " " + words[-1]]


def typical(r, kind):
    """A value that may well be accepted."""
    if is_numeric(kind):
        n = r.randint(*spread(kind))
        return " ".join(r.choice([["0", "1"], ["1", "2"], ["1", "-1"], ["1", "1"], ["0.3", "0.4"]])[k % 2] for k in range(n))
    return r.choice(kind.split("|") if kind else ["wrong", "new"] + NAMES)


def cases(path):
    seen = set()
    for tags, attributes in schema(path):
        tag, around = tags[-1], tags[-2] if len(tags) > 1 else ""
        if len(tags) == 1 or set(tags) & set(SKIPPED) or tag in ("asset", "contact", "tendon", "equality", "actuator", "sensor", "custom", "keyframe", "default") and len(tags) == 2:
            continue
        needs = NEEDS.get(f"{around}/{tag}", NEEDS.get(tag, ""))
        base = dict(w.rstrip('"').split('="') for w in needs.replace('" ', '"\n').splitlines())

        def text(own):
            return " ".join(f'{k}="{v}"' for k, v in own.items())

        yield put(tags, text(base))
        yield put(tags, text({**base, "wrong": "1"}))
        for left in base:
            yield put(tags, text({k: v for k, v in base.items() if k != left}))
        for attribute, kind in attributes.items():
            more = bad_values(kind) if (attribute, kind) not in seen else []
            seen.add((attribute, kind))
            for value in dict.fromkeys(values(kind) + more):
                yield put(tags, text({**base, attribute: value}))
        r = random.Random(tag + around)
        names = [a for a in attributes if a not in ("name", "class")]
        for _ in range(min(len(names) * 5, 200)):
            chosen = r.sample(names, min(len(names), r.randint(2, 3)))
            yield put(tags, text({**({} if r.random() < 0.2 else base), **{a: typical(r, attributes[a]) for a in chosen}}))


def verdict(xml):
    try:
        mujoco.MjModel.from_xml_string(xml)
    except (ValueError, RuntimeError) as e:
        return str(e) or "no reason"
    return ""


def verdicts(models, out):
    """Appends models and verdicts to a file, from where it ends. MuJoCo now and then loops for ever over a model that
    it compiles at once in a fresh process: each child process goes on as far as it gets."""
    done, stuck = 0, 0
    while done < len(models):
        if child := os.fork():
            os.waitpid(child, 0)
            reached = len(out.read_text().split("\0")) // 2
            stuck = stuck + 1 if reached == done else 0
            done = reached
            if stuck == 3:
                raise TimeoutError(models[done])
            continue
        mujoco.set_mju_user_warning(lambda text: None)
        with out.open("a") as file:
            for xml in models[done:]:
                # the default action of the signal ends the process
                signal.setitimer(signal.ITIMER_VIRTUAL, 4)
                file.write(f"{xml}\0{verdict(xml)}\0")
                file.flush()
        os._exit(0)


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[2])
    target.write_text("")
    verdicts(list(dict.fromkeys(cases(pathlib.Path(sys.argv[1])))), target)
