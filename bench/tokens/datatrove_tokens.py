"""Runs in the environment of datatrove: `python datatrove_tokens.py FOLDER FILE OUT TOKENIZER EOS`.

One task reads `FOLDER/FILE` and writes tokens with an EOS id behind each document, in order (`shuffle_documents` costs
more).
"""

import sys
from importlib import import_module


def main() -> None:
    """Tokenizes."""
    folder, file, out, tokenizer, eos = sys.argv[1:]
    reader = import_module("datatrove.pipeline.readers").JsonlReader(folder, glob_pattern=file)
    step = import_module("datatrove.pipeline.tokens.tokenizer").DocumentTokenizer(
        output_folder=f"{out}/tokens", tokenizer_name_or_path=tokenizer, eos_token=eos, shuffle_documents=False
    )
    executor = import_module("datatrove.executor.local").LocalPipelineExecutor
    executor(pipeline=[reader, step], tasks=1, logging_dir=f"{out}/logs").run()


if __name__ == "__main__":
    main()
