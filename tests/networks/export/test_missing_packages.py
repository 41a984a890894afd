"""Without the exporter's packages everything but export works, and what is missing is told with its cure."""

import subprocess
import sys

import pytest

from sparring.errors import ExportError
from sparring.networks.export import export_policy, exporter_available
from sparring.specs import ObservationSpec
from tests.networks.builders import actor, behavior

SPEC = behavior(ObservationSpec.vector(3))


def block(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)


def test_with_everything_installed_nothing_is_found():
    assert exporter_available() is None


@pytest.mark.parametrize("package", ["onnx", "onnxruntime"])
def test_a_missing_package_is_found_with_its_cure(package, monkeypatch):
    block(monkeypatch, package)
    finding = exporter_available()
    assert finding is not None
    assert finding.what == f"the package {package!r} is not installed"
    assert 'pip install "onnx>=1.17,<2" "onnxruntime>=1.20,<2"' in finding.cure


@pytest.mark.parametrize("package", ["onnx", "onnxruntime"])
def test_exporting_without_a_package_is_an_error_for_the_person_and_writes_nothing(package, monkeypatch, tmp_path):
    block(monkeypatch, package)
    with pytest.raises(ExportError, match="pip install"):
        export_policy(actor(SPEC), tmp_path / "policy.onnx")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "error", [TypeError("Descriptors cannot be created directly."), ImportError("DLL load failed")]
)
def test_a_package_that_does_not_fit_the_others_is_found_too(error, monkeypatch):
    class Unfit:
        @staticmethod
        def find_spec(name, *_):
            if name.partition(".")[0] == "onnx":
                raise error

    block(monkeypatch, "onnx")
    monkeypatch.delitem(sys.modules, "onnx")
    monkeypatch.setattr(sys, "meta_path", [Unfit, *sys.meta_path])
    finding = exporter_available()
    assert finding is not None
    assert "cannot be imported" in finding.what
    assert str(error) in finding.found
    assert "pip install" in finding.cure


def test_what_nobody_foresaw_is_a_finding_and_no_exception(monkeypatch):
    def fall(*_, **__):
        raise RuntimeError("the sky")

    monkeypatch.setattr("sparring.networks.export._export.policy_bytes", fall)
    finding = exporter_available()
    assert finding is not None
    assert "the sky" in finding.found


def test_networks_and_the_export_package_import_without_onnx():
    program = (
        "import sys; sys.modules['onnx'] = sys.modules['onnxruntime'] = None\n"
        "import sparring.networks, sparring.networks.export\n"
        "print(sparring.networks.export.exporter_available().what)"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    assert found.stdout.strip() == "the package 'onnx' is not installed"
