from releasekit import card_of_whole
from testkit import Mill

from gristmill.releases.croissant import croissant_metadata

SHARDS = {"mixes/even/documents/pages/2024/a.jsonl.gz": ("ab" * 32, 700)}


def test_each_shard_is_a_file_with_its_sha256_and_fields_come_from_the_shards(whole: Mill) -> None:
    found = croissant_metadata(card_of_whole(whole), SHARDS)
    [file, files] = found["distribution"]
    assert (file["@type"], file["sha256"], file["contentSize"]) == ("cr:FileObject", "ab" * 32, "700 B")
    assert file["contentUrl"] == "../../mixes/even/documents/pages/2024/a.jsonl.gz"
    assert files["containedIn"] == [{"@id": file["@id"]}]
    [records] = found["recordSet"]
    assert [field["@id"] for field in records["field"]] == ["documents/id", "documents/source", "documents/text"]
    assert found["conformsTo"] == "http://mlcommons.org/croissant/1.0"
