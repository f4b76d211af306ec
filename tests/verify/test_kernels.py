"""The stand-ins for DeepSpeed's kernels take the same steps as torch's own optimizers."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("decoupled", [True, False])
def test_adam_is_torchs(decoupled: bool) -> None:
    from dslint.verify.engines import kernels

    torch.manual_seed(0)
    ours, theirs = torch.randn(50), torch.nn.Parameter(torch.empty(50))
    theirs.data.copy_(ours)
    options = {"lr": 1e-2, "betas": (0.8, 0.95), "eps": 1e-6, "weight_decay": 0.1}
    optimizer = (torch.optim.AdamW if decoupled else torch.optim.Adam)([theirs], **options)
    mean, square = torch.zeros(50), torch.zeros(50)
    for step in range(1, 6):
        gradient = torch.randn(50)
        theirs.grad = gradient.clone()
        optimizer.step()
        kernels.adam(ours, gradient, mean, square, step, 1e-2, 0.8, 0.95, 1e-6, 0.1, correct=True, decoupled=decoupled)
    assert torch.allclose(ours, theirs.data, atol=2e-5)


def test_adagrad_is_torchs() -> None:
    from dslint.verify.engines import kernels

    torch.manual_seed(0)
    ours, theirs = torch.randn(50), torch.nn.Parameter(torch.empty(50))
    theirs.data.copy_(ours)
    optimizer = torch.optim.Adagrad([theirs], lr=1e-2, eps=1e-10, weight_decay=0.1)
    square = torch.zeros(50)
    for _ in range(5):
        gradient = torch.randn(50)
        theirs.grad = gradient.clone()
        optimizer.step()
        kernels.adagrad(ours, gradient, square, 1e-2, 1e-10, 0.1)
    assert torch.allclose(ours, theirs.data, atol=1e-6)


def test_lion_moves_each_weight_by_the_learning_rate() -> None:
    from dslint.verify.engines import kernels

    weights, mean = torch.tensor([1.0, -1.0]), torch.zeros(2)
    kernels.lion(weights, torch.tensor([0.5, -0.5]), mean, 0.1, 0.9, 0.99, 0.0)
    assert weights.tolist() == pytest.approx([0.9, -0.9])
    assert mean.tolist() == pytest.approx([0.005, -0.005])


def test_model_has_the_size_that_is_told() -> None:
    from dslint.verify import model_size
    from dslint.verify.engines.model import SmallLlamaModel

    assert sum(parameter.numel() for parameter in SmallLlamaModel(0).parameters()) == model_size.PARAMETERS
