import gzip

import xxhash

from gristmill.lake.rows.shard_file import MEMBER
from gristmill.recipes.export_formats.gzip_lines import GzipLines


class Kept:
    def __init__(self) -> None:
        self.data = b""
        self.state = "open"

    def write(self, data: bytes, /) -> None:
        self.data += data

    def close(self) -> None:
        self.state = "closed"


def test_each_member_is_a_file_by_itself_and_is_cut_at_the_end_of_a_line() -> None:
    kept = Kept()
    file = GzipLines(kept)
    lines = [bytes([97 + n % 26]) * (MEMBER // 3) for n in range(8)]
    for line in lines:
        file.write(line)
    facts = file.close()
    assert kept.state == "closed"
    plain = b"".join(line + b"\n" for line in lines)
    assert gzip.decompress(kept.data) == plain
    assert (facts.rows, facts.length, facts.content) == (8, len(plain), xxhash.xxh3_128_hexdigest(plain))
    assert [(cut.row, cut.length) for cut in facts.members] == [(n, n * (MEMBER // 3 + 1)) for n in (0, 3, 6)]
    ends = [*(cut.start for cut in facts.members[1:]), len(kept.data)]
    members = [kept.data[cut.start : end] for cut, end in zip(facts.members, ends, strict=True)]
    assert [gzip.decompress(member).count(b"\n") for member in members] == [3, 3, 2]


def test_a_file_without_lines_is_valid_gzip() -> None:
    kept = Kept()
    facts = GzipLines(kept).close()
    assert kept.data
    assert gzip.decompress(kept.data) == b""
    assert (facts.rows, facts.length) == (0, 0)
