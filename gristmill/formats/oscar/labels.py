"""Language labels of OSCAR: their form, the published ones, and their BCP 47 tags.

Sources, at the commits named:

- 22.01: the enumeration `Lang` of oscar-project/oscar-io, `src/lang.rs` (03f751117fb99c3d06e5fb764db3de11ddaff631).
- 23.01: the language table of oscar-project/documentation, `docs/versions/oscar-2301.md`
  (076844bf43695d4dac1bf09ebc225df37565ede6). It renames two labels: `als` to `gsw`, `eml` to `x-eml`.

The schema of 22.01 lists the labels as `Af`, `Als`, ..., which is how the enumeration spells them in Rust. The data
have `af`, `als`, ...; so labels are compared without regard to case, and their spelling is kept.
"""

import re
from typing import Final, Literal

Schema = Literal["22.01", "23.01"]
"""The published schemas of OSCAR v2."""

MULTILINGUAL: Final = "multi"
"""The label of documents in several languages."""
UNDETERMINED: Final = "und"
"""BCP 47's tag for an undetermined language: the label of a document that names no language."""

_FORM = re.compile(r"[A-Za-z0-9]{1,8}(-[A-Za-z0-9]{1,8})*")

_BOTH = """
af am an ar arz as ast av az azb ba bar bcl be bg bh bn bo bpy br bs bxr ca cbk ce ceb ckb co cs cv cy da de diq dsb dty
dv el en eo es et eu fa fi fr frr fy ga gd gl gn gom gu gv he hi hif hr hsb ht hu hy ia id ie ilo io is it ja jbo jv ka
kk km kn ko krc ku kv kw ky la lb lez li lmo lo lrc lt lv mai mg mhr min mk ml mn mr mrj ms mt mwl my myv mzn nah nap
nds ne new nl nn no oc or os pa pam pfl pl pms pnb ps pt qu rm ro ru rue sa sah sc scn sco sd sh si sk sl so sq sr su sv
sw ta te tg th tk tl tr tt tyv ug uk ur uz vec vep vi vls vo wa war wuu xal xmf yi yo yue zh multi
"""

PUBLISHED: Final[dict[str, frozenset[str]]] = {
    "22.01": frozenset(_BOTH.split()) | {"als", "eml"},
    "23.01": frozenset(_BOTH.split()) | {"gsw", "x-eml"},
}
"""The published labels of each schema, in lower case."""

_TAGS: Final[dict[str, dict[str, str]]] = {
    "22.01": {"als": "gsw", "eml": "x-eml", MULTILINGUAL: "mul"},
    "23.01": {MULTILINGUAL: "mul"},
}


def has_tag_form(label: str) -> bool:
    """Whether a label has the form of a language tag: groups of one to eight ASCII letters and digits, joined by `-`.

    >>> [has_tag_form(label) for label in ("en", "ar-Arab", "x-eml", "Multi", "en_US", "")]
    [True, True, True, True, False, False]
    """
    return _FORM.fullmatch(label) is not None


def bcp47_tag(label: str, schema: Schema) -> str:
    """The BCP 47 tag of a label: `als` of 22.01 is Alemannic (`gsw`), and `multi` is `mul`. Others are tags already.

    Args:
        label: label as a line spells it.
        schema: schema of the line.

    >>> bcp47_tag("als", "22.01"), bcp47_tag("als", "23.01"), bcp47_tag("EN", "22.01")
    ('gsw', 'als', 'EN')
    """
    return _TAGS[schema].get(label.lower(), label)


def label_of_tag(tag: object) -> str:
    """The label for a document's language, as a BCP 47 tag. Without one, or with a malformed one, it is `und`.

    >>> label_of_tag("de-AT"), label_of_tag("mul"), label_of_tag(None), label_of_tag("../en")
    ('de-AT', 'multi', 'und', 'und')
    """
    if not isinstance(tag, str) or not has_tag_form(tag):
        return UNDETERMINED
    return MULTILINGUAL if tag.lower() == "mul" else tag
