from assets.support.next_steps import OF_AUDIT, OF_CHECK, OF_CHECKSUMS, OF_KIND, beside_result, next_of_check
from assets.support.step_ops import CLAIMS


def test_every_check_says_what_to_run_next_if_it_has_failed() -> None:
    assert OF_CHECK.keys() == {*CLAIMS, "ids_unique_across"}
    assert beside_result("ids_unique", passed=True) == {}
    assert beside_result("ids_unique", passed=False) == {"run next": OF_CHECK["ids_unique"]}
    assert next_of_check("row_alignment_audit") == OF_AUDIT
    assert next_of_check("checksums_match_audit") == OF_CHECKSUMS


def test_what_to_do_next_also_fits_code_and_the_configuration_of_a_run() -> None:
    assert "the code of a reader or tagger" in OF_KIND["DataError"]
    assert "the configuration of the run" in OF_KIND["RecipeError"]
    assert "force" not in OF_AUDIT  # the findings name the shard to remove, and only that is made again
