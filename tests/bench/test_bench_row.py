from bench.harness.cost import Cost
from bench.harness.row import Row, disagreements, table


def row(name: str = "tagging", *, agree: bool | None = True, peer: Cost | None = None, met: bool = True) -> Row:
    return Row(name=name, ours=Cost(2.0, 4.0), peer=peer, agree=agree, bar=">= 4x CPU", met=met)


def test_ratios_are_the_peers_cost_over_ours() -> None:
    found = row(peer=Cost(20.0, 6.0))
    assert (found.cpu_ratio, found.wall_ratio) == (10.0, 1.5)


def test_a_row_without_a_peer_has_no_ratios() -> None:
    assert (row().cpu_ratio, row().wall_ratio) == (None, None)


def test_only_rows_that_were_compared_and_differ_disagree() -> None:
    assert disagreements([row("a"), row("b", agree=None), row("c", agree=False)]) == ["c"]


def test_the_table_marks_outputs_that_differ_and_bars_that_are_missed() -> None:
    head, line = table([row(agree=False, met=False, peer=Cost(20.0, 6.0))]).splitlines()
    assert head.split()[0] == "name"
    assert "2.00, 4.00" in line
    assert "20.00, 6.00" in line
    assert " NO " in line
    assert line.endswith(">= 4x CPU: MISSED")


def test_a_row_as_json_says_everything() -> None:
    assert row(peer=Cost(20.0, 6.0)).plain() == {
        "name": "tagging",
        "ours": {"cpu_s": 2.0, "wall_s": 4.0},
        "peer": {"name": "", "cpu_s": 20.0, "wall_s": 6.0},
        "cpu_ratio": 10.0,
        "wall_ratio": 1.5,
        "agree": True,
        "bar": ">= 4x CPU",
        "met": True,
        "note": "",
        "detail": {},
    }
