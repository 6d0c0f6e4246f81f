"""Parts of a training: steps, hold-out, weights, precision, the CUDA path without a device."""

import importlib.util
import types

import numpy as np
import pytest

from rc_hpc.core.errors import RcError, UsageError
from rc_hpc.parallel.torch_ranks import Place, Ranks
from rc_hpc.training import networks
from rc_hpc.training.examples import (
    Examples,
    epoch_batches,
    prefetched,
    split_holdout,
    steps_per_epoch,
)
from rc_hpc.training.loop import Control, train
from rc_hpc.training.recipe import AUGMENTATIONS, REFUSED, Recipe, check_augmentations

missing = [
    name for name in ("torch", "torchvision", "timm") if importlib.util.find_spec(name) is None
]
needs_torch = pytest.mark.skipif(
    bool(missing), reason=f"{', '.join(missing)} not installed: pip install 'rc_hpc[train]'"
)


def test_an_epoch_sees_every_picture_once_in_equal_batches():
    assert steps_per_epoch(7245, 64) == 114
    batches = epoch_batches(7245, 64, 23, 0)
    assert {len(batch) for batch in batches} == {63, 64} and len(batches) == 114
    assert np.array_equal(np.sort(np.concatenate(batches)), np.arange(7245))
    same, other, later = (
        np.concatenate(epoch_batches(7245, 64, seed, epoch))
        for seed, epoch in ((23, 0), (24, 0), (23, 1))
    )
    assert (
        np.array_equal(same, np.concatenate(batches))
        and not np.array_equal(same, other)
        and not np.array_equal(same, later)
    )


def test_holdout_is_drawn_within_classes_whatever_the_order():
    ids = [f"mp-{k}" for k in range(1610)]
    labels = np.arange(1610) % 7
    held = split_holdout(ids, labels, 0.1, 23)
    assert held.sum() == 161 and set(np.bincount(labels[held])) == {23}
    order = np.random.default_rng(1).permutation(1610)
    again = split_holdout([ids[k] for k in order], labels[order], 0.1, 23)
    assert np.array_equal(again, held[order])
    assert (
        not np.array_equal(split_holdout(ids, labels, 0.1, 24), held)
        and not split_holdout(ids, labels, 0.0, 23).any()
    )


def examples(n=6, views=2, size=32):
    rng = np.random.default_rng(0)
    return Examples(
        rng.integers(0, 256, (n + 3, views, size, size, 3), dtype=np.uint8),
        np.arange(n) + 3,
        np.arange(n) % 7,
    )


def test_batches_are_prepared_ahead_in_order():
    data = examples()
    batches = epoch_batches(len(data), 4, 5, 0)
    for batch, (pictures, labels) in zip(batches, prefetched(data, batches), strict=True):
        for number, picture, label in zip(batch, pictures, labels, strict=True):
            assert (
                np.array_equal(picture, data.pixels[3 + number // 2, number % 2])
                and label == number // 2
            )
    with pytest.raises(IndexError):
        list(prefetched(data, [np.array([99])]))


def test_every_refused_augmentation_says_why():
    for name in REFUSED:
        with pytest.raises(UsageError, match=r"is refused: .*(geometry|atoms|elements)"):
            check_augmentations((name,))
    with pytest.raises(UsageError, match="geometry"):
        check_augmentations(("noise", "Random_Crop"))
    assert check_augmentations(("noise", "brightness", "noise")) == ("brightness", "noise")


def control(**more):
    import torch

    return Control(
        Ranks(Place(), torch.device("cpu")),
        torch.device("cpu"),
        lambda state: None,
        0,
        lambda: False,
        lambda step, line: None,
        **more,
    )


@pytest.mark.torch
@needs_torch
@pytest.mark.parametrize(("precision", "augment"), [("bfloat16", ()), ("float32", AUGMENTATIONS)])
def test_precision_and_augmentation_change_the_numbers_a_little(precision, augment):
    import torch

    data, found = examples(), []
    for recipe in (
        Recipe("test_vit", "random", epochs=1, batch_size=4),
        Recipe("test_vit", "random", epochs=1, batch_size=4, precision=precision, augment=augment),
    ):
        torch.manual_seed(1)
        found.append(
            train(
                networks.build("test_vit", 7, 32), data, examples(0), recipe, 23, control(), None
            ).loss
        )
    assert found[0].shape == (3,) and not np.array_equal(*found)
    np.testing.assert_allclose(*found, atol=0.3)


@pytest.mark.torch
@needs_torch
def test_the_forward_pass_for_a_gpu_runs_on_tensors_without_data():
    """Devices, types and shapes of the CUDA path under mixed precision.

    torch's backward pass would want a real device.
    """
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.nn import functional

    from rc_hpc.training.loop import _augmented, _autocast, _input, _statistics

    if torch.version.cuda is None:
        pytest.skip("this torch is built without CUDA")
    recipe = Recipe("test_vit", "random", precision="float16", augment=AUGMENTATIONS)
    device = torch.device("cuda", 0)
    network = networks.build("test_vit", 7, 32)
    _statistics.cache_clear()
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        parameters = {
            name: mode.from_tensor(value).detach().to(device)
            for name, value in network.named_parameters()
        }
        pictures = torch.empty((4, 32, 32, 3), dtype=torch.uint8)
        pictures.pin_memory = types.MethodType(
            lambda self: self, pictures
        )  # pinning needs a driver
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(torch, "from_numpy", lambda _: pictures)
            block = _augmented(_input(np.empty(0), device), recipe.augment)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(torch.cuda.amp.common, "amp_definitely_not_available", lambda: False)
            autocast = _autocast(recipe, device)
        with autocast:
            logits = torch.func.functional_call(network, parameters, block)
            loss = functional.cross_entropy(
                logits.float(), torch.zeros(4, dtype=torch.int64, device=device), reduction="sum"
            )
    _statistics.cache_clear()  # tensors without data must not stay
    assert block.shape == (4, 3, 32, 32) and block.dtype == torch.float32
    assert (
        logits.device == loss.device == device
        and logits.dtype == torch.float16
        and loss.dtype == torch.float32
    )


@pytest.mark.torch
@needs_torch
@pytest.mark.parametrize(
    ("model", "ending"),
    [("test_resnet", "pt"), ("test_vit", "safetensors"), ("torchvision:resnet18", "pt")],
)
def test_weights_from_a_file_are_all_but_the_head(tmp_path, model, ending):
    import torch

    torch.manual_seed(0)
    teacher, path = networks.build(model, 5, 32), tmp_path / f"weights.{ending}"
    if ending == "pt":
        torch.save(teacher.state_dict(), path)
    else:
        from safetensors.torch import save_file

        save_file(teacher.state_dict(), path)
    assert (
        networks.check_weights(f"file:{path}")[0] == "file"
        and len(networks.check_weights(f"file:{path}")[1]) == 64
    )
    torch.manual_seed(1)
    found = networks.build(model, 7, 32, f"file:{path}").state_dict()
    given = teacher.state_dict()
    differing = [
        name
        for name in found
        if found[name].shape != given[name].shape or not torch.equal(found[name], given[name])
    ]
    assert differing and all(
        name.rpartition(".")[0] in ("fc", "head", "head.fc") for name in differing
    ), differing
    assert found[differing[0]].shape[0] == 7


@pytest.mark.torch
@needs_torch
def test_weights_of_another_model_are_refused(tmp_path):
    import torch

    path = tmp_path / "weights.pt"
    torch.save(networks.build("test_vit", 7, 32).state_dict(), path)
    for model in ("test_resnet", "torchvision:resnet18"):
        with pytest.raises(RcError, match=r"weights\.pt"):
            networks.build(model, 7, 32, f"file:{path}")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git-lfs"),
        (b"\n<!doctype html><html>" + bytes(2000), "web page"),
        (b"\x80\x02", "too few"),
    ],
)
def test_what_is_no_weights_is_named(tmp_path, content, said):
    (tmp_path / "weights.pt").write_bytes(content)
    with pytest.raises(RcError, match=said):
        networks.check_weights(f"file:{tmp_path / 'weights.pt'}")


@pytest.mark.torch
@needs_torch
def test_a_hub_out_of_reach_is_an_error_with_the_cure(monkeypatch, tmp_path):
    import urllib.request
    from urllib.error import URLError

    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    monkeypatch.setattr(
        urllib.request, "urlopen", lambda *_, **__: (_ for _ in ()).throw(URLError("no network"))
    )
    with pytest.raises(RcError, match=r"TORCH_HOME .*file:PATH"):
        networks.build("resnet50", 7, 64, "hub")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    import timm

    monkeypatch.setattr(
        timm, "create_model", lambda *_, **__: (_ for _ in ()).throw(OSError("offline"))
    )
    with pytest.raises(RcError, match=r"HF_HOME .*HF_HUB_OFFLINE=1"):
        networks.build("vit-s16", 7, 64, "hub")


@pytest.mark.torch
@needs_torch
def test_a_damaged_file_of_the_hub_is_not_trusted(tmp_path):
    path = tmp_path / "resnet50-11ad3fa6.pth"
    path.write_bytes(b"damaged")
    with pytest.raises(RcError, match="damaged"):
        networks._check_cached(path)


@pytest.mark.torch
@needs_torch
def test_models_by_name():
    assert networks.resolve("resnet50") == ("torchvision", "resnet50") and networks.resolve(
        "timm:resnet50"
    ) == ("timm", "resnet50")
    assert networks.resolve("vit-s16") == ("timm", "vit_small_patch16_224")
    vit = networks.build("vit-s16", 7, 224)
    assert vit.patch_embed.patch_size == (16, 16) and vit.head.out_features == 7
    resnet = networks.build("resnet50", 7, 224)
    assert (
        resnet.fc.out_features == 7
        and sum(parameter.numel() for parameter in resnet.parameters()) == 23_522_375
    )


@pytest.mark.torch
@needs_torch
def test_the_digest_of_weights_tells_networks_apart():
    import torch

    found = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        found.append(networks.weights_digest(networks.build("test_vit", 7, 32)))
    assert found[0] == found[1] != found[2]
