from gristmill.recipes.adopted.raw_root import RawRoot, root_below


def test_a_folder_below_a_root_is_reached_like_the_root() -> None:
    assert root_below("s3://theirs/dolma/", "documents") == "s3://theirs/dolma/documents"
    assert root_below(RawRoot("s3://theirs", anonymous=True), "v0") == RawRoot("s3://theirs/v0", anonymous=True)
