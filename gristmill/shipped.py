"""The entry points of Gristmill itself. They are not in its metadata, because a checkout is no installed package."""

from collections.abc import Mapping
from pathlib import Path
from pkgutil import iter_modules

SHIPPED: Mapping[str, Mapping[str, str]] = {
    "asset_kinds": {
        "clusters": "gristmill.stages.dedupe.kinds:ClustersKind",
        "fingerprints": "gristmill.stages.fingerprints.kind:FingerprintsKind",
        "hash runs": "gristmill.stages.dedupe.kinds:HashRunsKind",
        "marks": "gristmill.stages.dedupe.kinds:MarksKind",
        "resolution": "gristmill.stages.dedupe.kinds:ResolutionKind",
        "verdicts": "gristmill.stages.dedupe.kinds:VerdictsKind",
    },
    "commands": {
        module.name: f"gristmill.commands.{module.name}"
        for module in iter_modules([str(Path(__file__).with_name("commands"))])
        if not module.name.startswith("_")
    }
    | {"dolma": "gristmill.dolma.command"},
    "engines": {
        "dask": "gristmill.engines.dask:DASK",
        "inline": "gristmill.engines.local:INLINE",
        "local": "gristmill.engines.local:LOCAL",
        "ray": "gristmill.engines.ray:RAY",
    },
    "exports": {
        "energon-jsonl": "gristmill.stages.export.energon.jsonl:EnergonJsonlCodec",
        "energon-webdataset": "gristmill.stages.export.energon.webdataset:EnergonWebdatasetCodec",
        "oscar": "gristmill.stages.export.oscar:OscarCodec",
    },
    "grinders": {"dolma_mixing": "gristmill.dolma.mixing.grinder", "dolma_tagging": "gristmill.dolma.tagging.grinder"},
    "readers": {
        "code-files": "gristmill.readers.code.code_files:CodeFiles",
        "delimited-rows": "gristmill.readers.delimited:DelimitedRows",
        "dolma-lines": "gristmill.readers.dolma:DolmaLines",
        "energon-lines": "gristmill.readers.energon.json_lines:EnergonLines",
        "epub-books": "gristmill.readers.books.epub:EpubBooks",
        "gutenberg-texts": "gristmill.readers.books.gutenberg:GutenbergTexts",
        "headed-texts": "gristmill.readers.files.headed_texts:HeadedTexts",
        "html-files": "gristmill.readers.files.html_files:HtmlFiles",
        "irc-logs": "gristmill.readers.chats.irc_logs:IrcLogs",
        "jats-articles": "gristmill.readers.papers.jats:JatsArticles",
        "json-array": "gristmill.readers.json_array:JsonArray",
        "json-lines": "gristmill.readers.jsonl:JsonLines",
        "latex-lines": "gristmill.readers.papers.latex:LatexLines",
        "marked-turns": "gristmill.readers.chats.marked_turns:MarkedTurns",
        "mediawiki-pages": "gristmill.readers.wiki.pages:MediaWikiPages",
        "oscar-from-wet": "gristmill.readers.web.oscar_split:OscarFromWet",
        "oscar-lines": "gristmill.readers.oscar.lines:OscarLines",
        "parquet-rows": "gristmill.readers.parquet:ParquetRows",
        "reply-trees": "gristmill.readers.chats.reply_trees:ReplyTrees",
        "stack-exchange-posts": "gristmill.readers.forum.stack_exchange:StackExchangePosts",
        "text-files": "gristmill.readers.texts:TextFiles",
        "warc-pages": "gristmill.readers.web.pages:WarcPages",
        "wat-pages": "gristmill.readers.web.wet:WatPages",
        "webdataset-samples": "gristmill.readers.energon.webdataset:WebdatasetSamples",
        "wet-pages": "gristmill.readers.web.wet:WetPages",
    },
    "taggers": {
        "blocked-urls-1": "gristmill.taggers.lists.urls:BLOCKED_URLS",
        "c4-1": "gristmill.taggers.quality.c4:C4",
        "cld2-1": "gristmill.taggers.languages.cld2:CLD2",
        "code-copyright-1": "gristmill.taggers.code.copyright:COPYRIGHT",
        "code-generated-1": "gristmill.taggers.code.generated:GENERATED",
        "code-redpajama-1": "gristmill.taggers.code.redpajama:REDPAJAMA_CODE",
        "code-secrets-1": "gristmill.taggers.code.secrets:SECRETS",
        "code-starcoder-1": "gristmill.taggers.code.starcoder:STARCODER",
        "compression-1": "gristmill.taggers.measures.compression:COMPRESSION",
        "fineweb-1": "gristmill.taggers.quality.fineweb:FINEWEB",
        "gopher-1": "gristmill.taggers.gopher:GOPHER",
        "language-1": "gristmill.taggers.language:LANGUAGE",
        "language-lines-1": "gristmill.taggers.languages.lines:LINES",
        "language-paragraphs-1": "gristmill.taggers.languages.paragraphs:PARAGRAPHS",
        "ldnoobw-words-1": "gristmill.taggers.lists.words:LDNOOBW",
        "length-1": "gristmill.taggers.length:LENGTH",
        "lengths-1": "gristmill.taggers.measures.lengths:LENGTHS",
        "madlad-1": "gristmill.taggers.quality.madlad:MADLAD",
        "mark-paragraphs-1": "gristmill.taggers.quality.paragraphs:MARK_PARAGRAPHS",
        "oscar-annotations-1": "gristmill.taggers.oscar_annotations:OSCAR_ANNOTATIONS",
        "oscar-sentences-1": "gristmill.taggers.oscar_sentences:OSCAR_SENTENCES",
        "paragraph-lengths-1": "gristmill.taggers.measures.paragraph_lengths:PARAGRAPH_LENGTHS",
        "pii-1": "gristmill.taggers.pii:PII",
        "random-1": "gristmill.taggers.measures.random:RANDOM",
        "redpajama-1": "gristmill.taggers.quality.redpajama:REDPAJAMA",
        "redpajama-lines-1": "gristmill.taggers.quality.redpajama_lines:REDPAJAMA_LINES",
        "redpajama-lists-1": "gristmill.taggers.quality.redpajama_lists:REDPAJAMA_LISTS",
        "refinedweb-1": "gristmill.taggers.quality.refinedweb:REFINEDWEB",
        "repetitions-1": "gristmill.taggers.quality.repetitions:REPETITIONS",
        "simhash-1": "gristmill.taggers.measures.simhash:SIMHASH",
        "tlsh-1": "gristmill.taggers.measures.tlsh:TLSH",
        "tokens-1": "gristmill.taggers.measures.tokens:TOKENS",
        "toxicity-1": "gristmill.taggers.toxicity:TOXICITY",
    },
    "transforms": {
        "boilerplate-lines-1": "gristmill.transforms.boilerplate_lines:BOILERPLATE_LINES",
        "licence-headers-1": "gristmill.transforms.licence_headers:LICENCE_HEADERS",
        "ocr-noise-1": "gristmill.transforms.ocr_noise:OCR_NOISE",
        "unicode-repair-1": "gristmill.transforms.unicode_repair:UNICODE_REPAIR",
        "whitespace-1": "gristmill.transforms.whitespace:WHITESPACE",
    },
}
"""The place of each thing that ships, by its kind and name."""
