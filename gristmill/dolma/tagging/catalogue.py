"""Dolma's names of taggers: what makes their labels here, and why some are not here."""

from collections.abc import Mapping, Sequence

from gristmill.dolma.tagging.lengths import LENGTH_TAGGERS
from gristmill.dolma.tagging.personal_data import PERSONAL_TAGGERS
from gristmill.dolma.tagging.rules import RULE_TAGGERS
from gristmill.dolma.tagging.source_code import CODE_TAGGERS
from gristmill.dolma.tagging.spans import Look
from gristmill.dolma.tagging.web import WEB_TAGGERS
from gristmill.errors import RecipeError, known_names
from gristmill.lake.identity import digest_of

VERSION = 1
"""Of the labels under Dolma's names. Raised when a label of any changes."""

TAGGERS: Mapping[str, Look] = {
    **LENGTH_TAGGERS,
    **RULE_TAGGERS,
    **WEB_TAGGERS,
    **PERSONAL_TAGGERS,
    **CODE_TAGGERS,
}

_HUB = "its tokenizer or model is fetched from the Hugging Face hub at each start"
_MODEL = "its model is fetched from the network at the first start; give a model by its sha256 to a tagger of a source"
_LID = "its model lid.176.bin is fetched from the network at each start; language-1 has the smaller lid.176.ftz"
_LIST = "its list of addresses is fetched from the network at each start; bring your list to the lake"
_OTHER = "Dolma's own package for it is needed"
_VERSION = "other versions of the package tokenizers give it other counts"
_METADATA = "it reads the metadata of documents: the HTML of a page, or the ending of a file's name"

_REASONS: Mapping[str, Sequence[str]] = {
    _HUB: (
        "tokenizer_repetitions_v1", "tokenizer_repetitions_v2r2", "paragraph_tokenizer_repetitions_v1",
        "dolma_v1_tokenizer", "dolma_v2_tokenizer", "tokenizers_EleutherAI_GPT_NeoX_20B", "tokenizers_AI2_OLMo_v1",
    ),
    _MODEL: (
        "dclm-oh-eli5", "dolma17-quality", "jigsaw_hatespeech_document_v2", "jigsaw_hatespeech_sentence_v2",
        "jigsaw_nsfw_document_v1", "jigsaw_nsfw_sencence_v2",
    ),
    _LID: (
        "ft_lang_id_1e2", "ft_lang_id_doc_v1", "ft_lang_id_en_doc_v2", "ft_lang_id_en_only_v2",
        "ft_lang_id_en_paragraph_v2", "ft_lang_id_en_paragraph_with_doc_score_v2", "ft_lang_id_paragraph_v1",
    ),
    _LIST: (
        "allowlist_wikidata_cleaned_v1", "allowlist_wikidata_v1", "blocklist_firebog_ads_v1",
        "blocklist_firebog_crypto_v1", "blocklist_firebog_malicious_v1", "blocklist_firebog_nsfw_v1",
        "blocklist_firebog_social_v1", "blocklist_firebog_suspicious_v1", "blocklist_firebog_trackers_v1",
        "blocklist_hosts_adware_malware_v1", "blocklist_hosts_fakenews_v1", "blocklist_hosts_gambling_v1",
        "blocklist_hosts_porn_v1", "blocklist_hosts_social_v1", "blocklist_project_ads_v1",
        "blocklist_project_crime_v1", "blocklist_project_nsfw_v1", "blocklist_project_social_v1",
        "blocklist_project_vice_v1", "brave_core_abp_v1", "brave_nsfw_abp_v1", "domain_blocklist_phishing_v1",
        "domain_blocklist_utp_v1", "link_blocklist_phishing_v1", "oisd_big_abp_v1", "oisd_nsfw_abp_v1",
        "oisd_small_abp_v1",
    ),
    _OTHER: (
        "cld2_doc_v2", "cld2_en_doc_v2", "cld2_en_paragraph_v2", "cld2_en_paragraph_with_doc_score_v2",
        "cld2_paragraph_v2", "cld3_en_doc_v2", "cld3_en_paragraph_v2", "cld3_en_paragraph_with_doc_score_v2",
        "langdetect_doc_en_v1", "langdetect_doc_v1", "langdetect_en_paragraph_v1", "langdetect_paragraph_v1",
        "lingua_1e2", "lingua_doc_en_v1", "lingua_doc_v1", "lingua_en_only_v1", "lingua_en_par_v1", "lingua_par_v1",
        "pii_presidio_v1", "code_composition", "code_secrets_v1",
    ),
    _VERSION: ("olmo_pretokenizer_v1", "olmo_pretokenizer_with_paragraphs_v1"),
    _METADATA: ("cc_re", "cc_re_fast", "code_starcoder_taggers_v1", "code_starcoder_taggers_v2"),
}  # fmt: skip

NOT_HERE: Mapping[str, str] = {
    name: reason for reason, names in _REASONS.items() for name in names if name not in TAGGERS
}
"""Taggers of Dolma 1.2.1 that are not here, with the reason."""


def label_makers(names: Sequence[str]) -> Mapping[str, Look]:
    """The function that makes the labels of each tagger.

    Args:
        names: Dolma's.

    Raises:
        RecipeError: a name is not known, or Dolma has it and this command has not.
    """
    absent = [f"{name}: {NOT_HERE[name]}" for name in names if name in NOT_HERE]
    if absent:
        raise RecipeError(
            "taggers of Dolma that `gristmill dolma tag` does not have; --leave-out NAME runs the others:\n"
            + "\n".join(absent)
        )
    for name in names:
        if name not in TAGGERS:
            raise RecipeError(f"unknown tagger {name!r}; {known_names(name, (*TAGGERS, *NOT_HERE))}")
    return {name: TAGGERS[name] for name in names}


def digest_of_tagger(name: str) -> str:
    """The digest that identifies the labels of a tagger in records: its name and the version of this table."""
    return digest_of([name, VERSION])[:16]
