from gristmill.recipes.adopted.raw_root import RawRoot, raw_root_below


def test_a_folder_below_a_root_is_reached_like_the_root() -> None:
    assert raw_root_below("s3://theirs/dolma/", "documents") == "s3://theirs/dolma/documents"
    assert raw_root_below(RawRoot("s3://theirs", anonymous=True), "v0") == RawRoot("s3://theirs/v0", anonymous=True)
