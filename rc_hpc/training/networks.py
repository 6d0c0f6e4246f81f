"""Pixel networks of torchvision and timm, and the weights they start from.

Nothing here falls back: weights that cannot be had are an error, never a random start.
"""

from __future__ import annotations

import hashlib
import urllib.error
import warnings
from pathlib import Path
from typing import Any

from rc_hpc.core.errors import RcError, UsageError, fault_of

#: ImageNet's channel statistics, for values from 0 to 1.
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
#: Short names, as (library, name there).
ALIASES = {"resnet50": ("torchvision", "resnet50"), "vit-s16": ("timm", "vit_small_patch16_224")}
#: Smallest file that can hold a network, bytes.
_SMALLEST = 1024
#: First bytes of what is found in place of weights.
_FOREIGN = (
    (b"version https://git-lfs", "a git-lfs pointer: fetch the file it points to (git lfs pull)"),
    (b"<!DOCTYPE", "a web page: the download went wrong, fetch the file again"),
    (b"<html", "a web page: the download went wrong, fetch the file again"),
)


def resolve(model: str) -> tuple[str, str]:
    """Library and name there: `ALIASES`, ``torchvision:NAME``, ``timm:NAME``; others are timm's."""
    library, colon, name = model.partition(":")
    if not colon:
        return ALIASES.get(model, ("timm", model))
    if library not in ("torchvision", "timm") or not name:
        raise UsageError(f"--model {model!r}: give NAME, torchvision:NAME or timm:NAME")
    return library, name


def check_weights(weights: str) -> tuple[str, str]:
    """(random, hub or file; SHA-256 of the file).

    Raises
    ------
    UsageError
        None of these.
    RcError
        The file is missing, or holds no weights.
    """
    if weights in ("random", "hub"):
        return weights, ""
    kind, _, path = weights.partition(":")
    if kind != "file" or not path:
        raise UsageError(f"--weights {weights!r}: give random, hub or file:PATH")
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise fault_of(path)(f"--weights: {path}: {error.strerror}; check the path") from error
    for start, meaning in _FOREIGN:
        if data[:200].lstrip().lower().startswith(start.lower()):
            raise RcError(f"--weights: {path} is {meaning}")
    if len(data) < _SMALLEST:
        raise RcError(
            f"--weights: {path} has {len(data)} bytes, too few for a network; fetch it again"
        )
    return "file", hashlib.sha256(data).hexdigest()


def libraries():
    """torch, torchvision and timm.

    Raises
    ------
    RcError
        One is missing, or they do not fit together.
    """
    try:
        import timm
        import torch
        import torchvision
    except ImportError as error:
        raise RcError(
            f"training needs torch, torchvision and timm ({error}): pip install 'rc_hpc[train]'"
        ) from error
    except RuntimeError as error:  # "operator torchvision::nms does not exist"
        raise RcError(
            f"torch and torchvision do not fit together ({error}): install a pair that was built "
            "together, such as pip install 'rc_hpc[train]' gives"
        ) from error
    return torch, torchvision, timm


def build(model: str, n_classes: int, size: int, weights: str = "random"):
    """A network for pictures of `size` px with a new head of `n_classes`.

    Parameters
    ----------
    weights
        random, hub, or file:PATH: of all but the head.

    Returns
    -------
    torch.nn.Module
        Its random numbers are those of torch's global generator.

    Raises
    ------
    RcError
        The model or the weights do not exist, or do not fit.
    """
    libraries()
    library, name = resolve(model)
    builder = _torchvision if library == "torchvision" else _timm
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return builder(name, n_classes, size, weights)


def weights_digest(network) -> str:
    """SHA-256 over all tensors of a network, by name."""
    digest = hashlib.sha256()
    for name, tensor in sorted(network.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def _timm(name: str, n_classes: int, size: int, weights: str):
    import timm

    if not timm.is_model(name):
        near = ", ".join(timm.list_models(f"*{name.split('.', maxsplit=1)[0][:8]}*")[:5])
        raise UsageError(
            f"--model: timm has no {name!r}{'; near it are ' + near if near else ''}: "
            "timm.list_models() names all"
        )
    more: dict[str, Any] = {}
    if weights == "hub":
        more["pretrained"] = True
    elif weights != "random":
        more.update(pretrained=True, pretrained_cfg_overlay={"file": weights.removeprefix("file:")})

    def create():
        try:
            return timm.create_model(name, num_classes=n_classes, img_size=size, **more)
        except TypeError:  # convolutional networks take any size, and no such word
            return timm.create_model(name, num_classes=n_classes, **more)

    try:
        network = create()
        if weights not in ("random", "hub"):
            _check_loaded(network, create, weights)
        return network
    except RcError:
        raise
    except Exception as error:
        raise _unfit(
            error,
            name,
            weights,
            _hub_cure(
                f"timm.create_model({name!r}, pretrained=True)",
                "HF_HOME",
                "; set HF_HUB_OFFLINE=1 there",
            ),
        ) from error


def _check_loaded(network, create, weights: str) -> None:
    """Refuse weights that lack tensors.

    timm leaves those at random without an error: they differ from one network to the next.
    """
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(torch.initial_seed() + 1)
        other = create().state_dict()
    head = {
        f"{prefix}.{name}"
        for prefix, module in network.named_modules()
        if module is network.get_classifier()
        for name, _ in module.named_parameters()
    }
    lost = [
        name
        for name, tensor in network.state_dict().items()
        if name not in head and not torch.equal(tensor, other[name])
    ]
    if lost:
        raise RcError(
            f"--weights: {weights.removeprefix('file:')} lacks {len(lost)} tensors of the model "
            f"({', '.join(lost[:2])}): is it of another model?"
        )


def _torchvision(name: str, n_classes: int, size: int, weights: str):
    import torch
    import torchvision

    if name not in torchvision.models.list_models(torchvision.models):
        raise UsageError(
            f"--model: torchvision has no classifier {name!r}: torchvision.models.list_models() "
            "names all"
        )
    cure = _hub_cure(f"torchvision.models.get_model({name!r}, weights='DEFAULT')", "TORCH_HOME", "")
    try:
        if weights == "hub":
            published = torchvision.models.get_model_weights(name).DEFAULT
            network = torchvision.models.get_model(name, weights=published)
            _check_cached(
                Path(torch.hub.get_dir()) / "checkpoints" / published.url.rpartition("/")[2]
            )
            return _new_head(network, n_classes)
        network = _new_head(torchvision.models.get_model(name), n_classes)
        if weights != "random":
            _load(network, weights.removeprefix("file:"))
        return network
    except (RcError, UsageError):
        raise
    except Exception as error:
        raise _unfit(error, name, weights, cure) from error


def _head(network) -> str:
    """Name of the classifying layer: the last linear one."""
    import torch

    return [
        name for name, module in network.named_modules() if isinstance(module, torch.nn.Linear)
    ][-1]


def _new_head(network, n_classes: int):
    import torch

    parent, _, last = _head(network).rpartition(".")
    owner = network.get_submodule(parent)
    setattr(owner, last, torch.nn.Linear(getattr(owner, last).in_features, n_classes))
    return network


def _load(network, path: str) -> None:
    """Load all but the head from a state dictionary, plain or under ``model`` or ``state_dict``."""
    import torch

    if path.endswith(".safetensors"):
        from safetensors.torch import load_file

        state = load_file(path)
    else:
        state = torch.load(path, map_location="cpu", weights_only=True)
    for key in ("model", "state_dict"):
        state = state.get(key, state)
    head = _head(network)
    state = {name: value for name, value in state.items() if not name.startswith(f"{head}.")}
    missing, unexpected = network.load_state_dict(state, strict=False)
    lost = [name for name in missing if not name.startswith(f"{head}.")]
    if lost or unexpected:
        raise RcError(
            f"--weights: {path} does not fit: {len(lost)} tensors are missing "
            f"({', '.join(lost[:2])}), {len(unexpected)} are not known: is it of another model?"
        )


def _check_cached(path: Path) -> None:
    """torch does not look at a file that lies there already; its name ends in its hash."""
    wanted = path.stem.rpartition("-")[2]
    if path.is_file() and not hashlib.sha256(path.read_bytes()).hexdigest().startswith(wanted):
        raise RcError(
            f"--weights hub: {path} is damaged: its SHA-256 does not begin with {wanted}; remove "
            "it and fetch it again"
        )


def _hub_cure(call: str, variable: str, more: str) -> str:
    library = call.partition(".")[0]
    return (
        f'where there is a network run python -c "import {library}; {call}" once, with '
        f"{variable} on a disk that the compute nodes see{more}; or take --weights file:PATH, or "
        "--weights random"
    )


def _unfit(error: Exception, name: str, weights: str, cure: str) -> RcError:
    said = str(error).strip().splitlines()
    text = f"{type(error).__name__}: {said[0][:200]}" if said else type(error).__name__
    if weights == "hub":
        network = isinstance(error, (urllib.error.URLError, OSError))
        return RcError(
            f"--weights hub: the weights of {name} cannot be {'fetched' if network else 'had'} "
            f"({text}): {cure}"
        )
    if weights == "random":
        return RcError(f"--model: {name} cannot be made ({text})")
    return RcError(
        f"--weights: {weights.removeprefix('file:')} cannot be loaded into {name} ({text}): it "
        "must hold that model's tensors, and be a plain state dictionary"
    )
