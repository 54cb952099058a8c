"""The starter mix: Python's library and published packages, with code, prose and translations."""

from gristmill.recipes.mix import Mix, Stream
from gristmill.recipes.rules import Rule, field, score

STARTER = Mix(
    name="starter",
    description="Code, documentation and translations that every machine can have",
    owners=("team:corpus",),
    streams=(
        Stream(
            source="stdlib",
            version="v1",
            description="The library, four files of five: packages use what it teaches as well",
            columns=(score("length-1__chars", "chars"),),
            exclude=(Rule("too-long", "chars > 1000000", "a megabyte in one file is generated"),),
            blocklists=("takedowns",),
            rate=0.8,
        ),
        Stream(
            source="packages",
            version="v1",
            description="Packages; prose only where it is English, translations in every language",
            columns=(
                field("metadata.kind"),
                score("length-1__chars", "chars"),
                score("language-1__en", "english"),
                score("gopher-1__symbol_to_word_ratio", "symbols"),
                score("dedupe-documents-1__duplicate", "duplicate", optional=True),
            ),
            exclude=(
                Rule("duplicate", "duplicate = 1", "another file of this edition has the same text"),
                Rule("too-long", "chars > 1000000", "a megabyte in one file is generated"),
                Rule(
                    "prose-not-english",
                    "kind IN ('prose', 'readme') AND coalesce(english, 0) < 0.2",
                    "prose of these packages is English; the rest are command outputs and word lists",
                ),
                Rule("symbols", "symbols > 0.5", "half of the words being # and ... is no text (Gopher, looser)"),
            ),
            blocklists=("takedowns",),
        ),
    ),
    validation=0.01,
    tokenizers=("starter-bpe-1",),
)
