"""Other people's models, from the packages that publish them.

Usage: fetch_corpus.py OUT_DIR    (needs pip and a network; 153 MB come, 156 MB stay)

Writes OUT_DIR/NAME/FILES and OUT_DIR/index.json, which names the main file of each model. The packages are pinned by version and by
hash, so the files are the same everywhere. Models of one folder share its files by hard links. Nothing is left behind where something
fails.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

# package, version, hash of the wheel, or of the source where no wheel has the models; model: folder in it, main file there
PACKAGES = {
    ("gymnasium", "1.4.0", "1cb947c59e7c72d8eabb2c2274c00cd20948e69f8452a9ef4092223be24fdf0e"): {
        "ant": ("gymnasium/envs/mujoco/assets/", "ant.xml"),
        "half_cheetah": ("gymnasium/envs/mujoco/assets/", "half_cheetah.xml"),
    },
    ("dm_control", "1.0.50", "5434e1e51ff69016867426da7df6064b18d140e4d0a628f879bbcf0e7d0a586d"): {
        "cartpole": ("dm_control/suite/", "cartpole.xml"),
        "dog": ("dm_control/suite/", "dog.xml"),
        "fruitfly": ("dm_control/locomotion/walkers/assets/fruitfly_v2/", "floor.xml"),
        "jaco": ("dm_control/third_party/kinova/", "jaco_arm.xml"),
        "quadruped": ("dm_control/suite/", "quadruped.xml"),
        "robot_arm": ("dm_control/mjcf/test_assets/", "robot_arm.xml"),
    },
    ("gymnasium_robotics", "1.4.2", "a1743530431cb377e6b3b956d284bc96436fc68bac1648ef205054c178e7dc4b"): {
        "fetch_pick_place": ("gymnasium_robotics/envs/assets/", "fetch/pick_and_place.xml"),
        "shadow_hand_block": ("gymnasium_robotics/envs/assets/", "hand/manipulate_block.xml"),
    },
    ("metaworld", "3.1.1", "99e25d9baf97f2f1a19ca89c0d2ca9c6a2b396d9a9be81729de64eedc683f0d3"): {
        "sawyer_pick_place": ("metaworld/assets/", "sawyer_xyz/sawyer_pick_place_v3.xml"),
    },
    ("safety_gymnasium", "1.0.0", "1efb19de9316bde563df887660e6be0da98e3962058fe60a0f8db5bffb9e0fe0"): {
        "safety_car": ("safety_gymnasium/assets/xmls/", "car.xml"),
    },
    ("openarm_mujoco", "2.3.0", "2e32cfac261d3f4dcbb5ebfa7e2ba2d7205dd5a9655798cff13170a0cf1b5339"): {
        "openarm_balance": ("openarm_mujoco-2.3.0/v2/", "pedestal/balance_scene.xml"),
    },
}
SOURCES = "openarm_mujoco"
# what models are made of
ENDINGS = {".xml", ".stl", ".obj", ".msh", ".png", ".skn", ".mtl", ".bin"}


def main():
    out = pathlib.Path(sys.argv[1]).resolve()
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent) as work:
        work = pathlib.Path(work)
        wanted = work / "requirements.txt"
        wanted.write_text("".join(f"{p}=={v} --hash=sha256:{h}\n" for p, v, h in PACKAGES))
        download = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps"]
        download += ["--only-binary=:all:", f"--no-binary={SOURCES}", "--require-hashes", "-d", str(work / "packages"), "-r", str(wanted)]
        # other systems and Pythons may ask for them: the wheels hold no compiled code
        subprocess.run([*download, "--python-version", "3.11", "--platform", "any"], check=True)
        made, index = work / "corpus", {}
        for (package, version, _), models in PACKAGES.items():
            (archive,) = (work / "packages").glob(f"{package}-{version}[-.]*")
            there = {}
            for name, (folder, file) in models.items():
                if folder in there:
                    share(there[folder], made / name)
                else:
                    take(archive, folder, made / name)
                there[folder] = made / name
                index[name] = file
        (made / "index.json").write_text(json.dumps(index, indent=1) + "\n")
        shutil.rmtree(out, ignore_errors=True)
        made.rename(out)
    print(f"{len(index)} models: {', '.join(sorted(index))}")


def files(archive):
    """Names and contents of the files in a wheel or an archive of sources."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            yield from ((name, lambda name=name: wheel.read(name)) for name in wheel.namelist())
    else:
        with tarfile.open(archive) as sources:
            yield from ((i.name, lambda i=i: sources.extractfile(i).read()) for i in sources if i.isfile())


def take(archive, folder, to):
    """Unpacks the model files under a folder of a package."""
    for name, content in files(archive):
        inside = pathlib.PurePosixPath(name[len(folder) :])
        if not name.startswith(folder) or inside.suffix.lower() not in ENDINGS:
            continue
        target = to / inside
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content())


def share(folder, to):
    """The same files once more, without a copy where the file system can do that."""

    def link(source, target):
        try:
            os.link(source, target)
        except OSError:
            shutil.copyfile(source, target)

    shutil.copytree(folder, to, copy_function=link)


main()
