"""Addresses and numbers. Dolma's `doc_frac` and our `share` count different spans: they are left out."""

from bench.taggers.comparison import Comparison, renamed

_LABELS = ("EMAIL_ADDRESS", "PHONE_NUMBER", "IP_ADDRESS", "doc_count")
_PEER = "pii_regex_with_counts_fast_v2"

PII = Comparison(
    name="pii",
    modules=("gristmill.taggers.pii",),
    sets=("pii-1",),
    peer=(_PEER,),
    bar=6.0,
    ours=renamed({f"pii-1__{label}": label for label in _LABELS}),
    theirs=renamed({f"{_PEER}__{label}": label for label in _LABELS}),
)
