"""Which files an input stands for."""

from pathlib import Path

from lcdvt.catalogs.reading.files import absolute_name, list_files


def made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x")
    return path


def names(paths: list[Path], root: Path, workspace: Path | None = None) -> list[str]:
    return [str(Path(file.name).relative_to(root)) for file in list_files(paths, set(), workspace)]


def test_linked_folders_are_followed_after_the_real_ones(tmp_path):
    made(tmp_path / "elsewhere" / "b.dat")
    made(tmp_path / "survey" / "real" / "a.dat")
    (tmp_path / "survey" / "linked").symlink_to(tmp_path / "elsewhere")
    assert names([tmp_path / "survey"], tmp_path) == ["survey/real/a.dat", "survey/linked/b.dat"]


def test_a_folder_is_listed_once_however_it_is_linked(tmp_path):
    made(tmp_path / "survey" / "real" / "a.dat")
    (tmp_path / "survey" / "real" / "up").symlink_to(tmp_path / "survey")
    (tmp_path / "survey" / "again").symlink_to(tmp_path / "survey" / "real")
    assert names([tmp_path / "survey", tmp_path / "survey" / "real"], tmp_path) == ["survey/real/a.dat"]


def test_the_workspace_is_left_out_even_behind_a_link(tmp_path):
    made(tmp_path / "work" / "part.dat")
    made(tmp_path / "survey" / "a.dat")
    made(tmp_path / "survey" / "inside" / "part.dat")
    (tmp_path / "survey" / "linked").symlink_to(tmp_path / "work")
    assert names([tmp_path / "survey"], tmp_path, tmp_path / "work") == ["survey/a.dat", "survey/inside/part.dat"]
    assert names([tmp_path / "survey"], tmp_path, tmp_path / "survey" / "inside") == [
        "survey/a.dat",
        "survey/linked/part.dat",
    ]


def test_hidden_files_and_repeated_inputs_are_left_out(tmp_path):
    made(tmp_path / ".hidden" / "a.dat")
    made(tmp_path / "b.dat")
    made(tmp_path / ".c.dat")
    assert names([tmp_path, tmp_path / "b.dat"], tmp_path) == ["b.dat"]


def test_absolute_names_of_good_names_take_no_memory(tmp_path, monkeypatch):
    name = str(tmp_path / "a.dat")
    assert absolute_name(name) is name
    monkeypatch.chdir(tmp_path)
    assert absolute_name("a.dat") == absolute_name(f"{tmp_path}/x/../a.dat") == name
