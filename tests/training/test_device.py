"""Which device is taken and why, and how many threads the arithmetic has."""

from __future__ import annotations

import os

import pytest
import torch

from sparring.errors import SettingsError
from sparring.training.device import arithmetic_threads, choose_device, one_network_threads


def test_auto_takes_the_cpu_where_there_is_no_cuda_device_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    chosen, why = choose_device("auto")
    assert chosen == torch.device("cpu")
    assert "no CUDA device" in why


def test_auto_takes_a_cuda_device_where_there_is_one_and_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "H200")
    chosen, why = choose_device("auto")
    assert chosen == torch.device("cuda")
    assert "H200" in why


def test_a_device_that_is_asked_for_is_taken() -> None:
    assert choose_device("cpu") == (torch.device("cpu"), "the settings ask for it")


@pytest.mark.parametrize("name", ["gpu", "cuda:99", "", "meta", "cpu:x"])
def test_a_device_that_cannot_be_used_is_refused_with_what_there_is(name: str) -> None:
    with pytest.raises(SettingsError, match=r"torch_settings\.device") as caught:
        choose_device(name)
    message = str(caught.value)
    assert repr(name) in message
    assert "expected auto, cpu, cuda, cuda:N, mps or xpu" in message
    assert len(message.splitlines()) == 2


def test_threads_that_are_set_are_taken() -> None:
    assert arithmetic_threads(3) == 3
    assert arithmetic_threads(64) == 64


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="the system does not tell which cores may be used")
@pytest.mark.parametrize(("cores", "threads"), [(1, 1), (5, 5), (8, 8), (64, 8)])
def test_without_a_setting_it_is_the_cores_this_process_may_use_at_most_8(
    cores: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(cores)))
    monkeypatch.setattr(os, "cpu_count", lambda: 128)
    assert arithmetic_threads(0) == threads


@pytest.mark.parametrize(("threads", "each"), [(1, 1), (2, 1), (3, 1), (4, 2), (8, 4)])
def test_two_networks_share_the_threads_for_the_time_of_a_run(threads: int, each: int) -> None:
    before = torch.get_num_threads()
    with one_network_threads(threads):
        assert torch.get_num_threads() == each
    assert torch.get_num_threads() == before


def test_the_number_of_threads_is_put_back_after_an_error() -> None:
    before = torch.get_num_threads()
    with pytest.raises(ZeroDivisionError), one_network_threads(2 * before + 4):
        raise ZeroDivisionError
    assert torch.get_num_threads() == before
