"""The files of the stand-in hub, and how the tests fetch them."""

import os
import random
import subprocess
import sys
from pathlib import Path

from hub_server import HubServer

from localspec.pairs import hub as hub_module
from localspec.pairs.hub import Hub, Progress, plan_download, pull
from localspec.pairs.hub_cache import RemoteFile

REPO = "someone/tiny-GGUF"
BODY = random.Random(1).randbytes(2_000_000)
SMALL = random.Random(2).randbytes(300_000)
FILE, OTHER = RemoteFile(REPO, "tiny-Q4_K_M.gguf"), RemoteFile(REPO, "small-Q4_0.gguf")
TOKEN = "hf_secretsecretsecret"


def quiet(_: Progress) -> None:
    pass


def get(hub: Hub, *files: RemoteFile) -> list[Path]:
    return pull(plan_download(files or (FILE,), hub), hub, quiet)


def nothing_final(hub: Hub) -> bool:
    """No file under a final name that is not whole."""
    return not any(hub.folder.rglob("*.gguf"))


PULL = f"""
import sys
from pathlib import Path
from localspec.pairs.hub import Hub, plan_download, pull
from localspec.pairs.hub_cache import RemoteFile
hub = Hub()
files = [RemoteFile({REPO!r}, {FILE.name!r})]
print(pull(plan_download(files, hub), hub, lambda report: None)[0])
"""


def child(server: HubServer, home: Path, **more: str) -> "subprocess.Popen[str]":
    environment = {
        **os.environ,
        "HF_ENDPOINT": server.endpoint,
        "HF_HOME": str(home),
        "PYTHONPATH": str(Path(hub_module.__file__).parents[2]),
        **more,
    }
    return subprocess.Popen(
        [sys.executable, "-c", PULL],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
