"""Lists of structures as files."""

import pytest

from rc_hpc.core.errors import UsageError
from rc_hpc.core.ids import read_entries, read_ids


def test_one_a_line_or_json_lines_without_the_mark_of_the_encoding(tmp_path):
    path = tmp_path / "ids"
    line = '{"material_id": "b", "formula": "NaCl"}'
    path.write_text(f"\ufeffa 1\r\n\n# two\n  {line}\n #\nc\u2028d\n", encoding="utf-8")
    assert read_ids(path, "--ids") == ("a 1", "b", "c\u2028d")
    assert read_entries(path, "--ids")[1]["formula"] == "NaCl"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "holds no ids"),
        (b"\xef\xbb\xbf\n \n", "holds no ids"),
        (b"# none\n", "holds no ids"),
        (b"a\n{b", "line 2: not JSON"),
        (b'{"id": "a"}', "line 1: has no material_id"),
        (b'{"material_id": 3}', "line 1: has no material_id"),
        (b"\xff\xfe", "cannot be read"),
        (None, "cannot be read"),
    ],
)
def test_other_files_are_refused_by_name(tmp_path, data, message):
    path = tmp_path / "ids"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(UsageError, match=rf"^--ids {path}.*{message}"):
        read_ids(path, "--ids")
