"""Runs in the environment of the real Levanter: builds a cache as its own users do.

    python levanter_build.py FORMAT CACHE TOKENIZER_FOLDER FILE...

FORMAT is Levanter's own, as JSON (`{"type": "text"}`); the shards of the build are the files. Without arguments nothing
is built: what is left are the imports.
"""

import json
import sys
from importlib import import_module


def main() -> None:
    """Builds and loads the cache."""
    cache = import_module("levanter.data.text.cache")
    formats = import_module("levanter.data.text.formats")
    sources = import_module("levanter.data.sharded_datasource")
    tokenizers = import_module("levanter.tokenizers")
    if len(sys.argv) < 2:
        return
    declared, folder, tokenizer, *files = sys.argv[1:]
    options = json.loads(declared)
    kind = formats.LmDatasetFormatBase.get_choice_class(options.pop("type"))
    loaded = tokenizers.load_tokenizer(tokenizer)
    made = cache.build_lm_dataset_cache(folder, sources.UrlDataSource(files), kind(**options), loaded)
    print(json.dumps({"rows": len(made)}))


if __name__ == "__main__":
    main()
